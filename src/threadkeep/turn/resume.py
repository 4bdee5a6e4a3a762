"""Going on with a turn that was taken up: what was left half-written is kept and marked, then the loop runs."""

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.turn.engine import run_turn
from threadkeep.turn.running import Running


async def resume_turn(running: Running) -> None:
    """Go on where the log ends."""
    await finish_draft(running)
    await run_turn(running)


async def finish_draft(running: Running) -> None:
    """Turn the text of a message that nobody writes any more into an interrupted message."""
    lease = running.lease
    last = (await running.parts.store.get(lease.scope, lease.conversation)).entries
    draft = (await running.parts.store.log(lease.scope, lease.conversation, Cursor(seq=last))).draft
    if draft is None or draft.turn != lease.turn:
        return
    message = Message(
        id=draft.message,
        role=Role.ASSISTANT,
        content=draft.text,
        status=MessageStatus.INTERRUPTED,
        model=running.model.name,
        started_at=draft.started_at,
    )
    await running.append(message)
