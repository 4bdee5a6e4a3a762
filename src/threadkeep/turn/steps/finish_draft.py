"""Finishing what nobody writes any more: text that is left of a message becomes a message, marked as cut off."""

from datetime import datetime

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.errors import ContentTooLarge
from threadkeep.store.base import Draft
from threadkeep.turn.active_turn import ActiveTurn


async def finish_draft(active: ActiveTurn) -> None:
    """Turn the text that this turn left being written into an interrupted message; do nothing if there is none."""
    lease, store = active.lease, active.deps.store
    last = (await store.get(lease.scope, lease.conversation)).entries
    draft = (await store.log(lease.scope, lease.conversation, Cursor(seq=last))).draft
    if draft is None or draft.turn != lease.turn:
        return
    try:
        await active.append(_cut_off(draft, draft.started_at))
    except ContentTooLarge:
        # The text alone always fits: it was measured when it was written.
        await active.append(_cut_off(draft, None))


def _cut_off(draft: Draft, started_at: datetime | None) -> Message:
    return Message(
        id=draft.message,
        role=Role.ASSISTANT,
        content=draft.text,
        status=MessageStatus.INTERRUPTED,
        started_at=started_at,
    )
