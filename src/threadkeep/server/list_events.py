"""The stream of a user's list of conversations: created, updated, running, waiting, deleted.

The list is read anew when something in it may have changed, here or in another process, and compared with what was told
last; so nothing is missed and nothing is told twice. A reader that comes back starts with the list itself, and is told
first in which conversations a turn runs or waits.
"""

from collections.abc import AsyncIterator
from typing import NamedTuple

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import TurnState
from threadkeep.errors import ConversationNotFound, ThreadkeepError
from threadkeep.server.shown import ShownConversation
from threadkeep.server.sse import encode
from threadkeep.store.base import Store
from threadkeep.turn.bus import Bus, list_topic

LOOK_EVERY = 2.0
SHOWN = 100
"""How many conversations, the last active, are watched."""


class _Seen(NamedTuple):
    version: int
    entries: int
    state: TurnState | None


async def watch_list(store: Store, bus: Bus, scope: Scope, heartbeat: float) -> AsyncIterator[bytes]:
    """Yield changes of the list from now on, for ever."""
    with bus.subscribed(scope.tenant, list_topic(scope.user)) as subscription:
        now = await _look(store, scope, {})
        seen = {id: look for id, (look, _) in now.items()}
        quiet = 0.0
        yield b"retry: 1000\n\n"
        for name, data in _open_turns(now):
            yield encode(name, data)
        while True:
            await subscription.get(LOOK_EVERY)
            try:
                now = await _look(store, scope, seen)
                told = [encode(name, data) for name, data in await _changes(store, scope, seen, now)]
            except ThreadkeepError as error:
                yield encode("error", {"code": error.code, "detail": str(error)})
                return
            seen = {id: look for id, (look, _) in now.items()}
            quiet = 0.0 if told else quiet + LOOK_EVERY
            for chunk in told or ([b": still here\n\n"] if quiet >= heartbeat else []):
                quiet = 0.0
                yield chunk


async def _look(store: Store, scope: Scope, seen: dict[str, _Seen]) -> dict[str, tuple[_Seen, Conversation]]:
    """Return the list as it is now. What turns do is in the log, so only logs that have grown are looked into."""
    found = {}
    for conversation in (await store.list(scope, limit=SHOWN)).items:
        look = seen.get(conversation.id)
        if look is None or look.entries != conversation.entries:
            try:
                turns = await store.turns(scope, conversation.id)
            except ConversationNotFound:
                continue
            state = next((turn.state for turn in turns if turn.state is not TurnState.QUEUED), None)
            look = _Seen(conversation.version, conversation.entries, state)
        found[conversation.id] = (look._replace(version=conversation.version), conversation)
    return found


def _open_turns(now: dict[str, tuple[_Seen, Conversation]]) -> list[tuple[str, dict[str, object]]]:
    return [(f"conversation.{look.state}", {"id": id}) for id, (look, _) in now.items() if look.state is not None]


async def _changes(
    store: Store, scope: Scope, seen: dict[str, _Seen], now: dict[str, tuple[_Seen, Conversation]]
) -> list[tuple[str, dict[str, object]]]:
    """Return names and data of what is different, oldest first."""
    told: list[tuple[str, dict[str, object]]] = []
    for id in seen.keys() - now.keys():
        if await _is_gone(store, scope, id):
            told.append(("conversation.deleted", {"id": id}))
    for id, (look, conversation) in reversed(now.items()):
        before = seen.get(id)
        shown = ShownConversation.of(conversation).model_dump(mode="json") | {"turn": look.state}
        if before is None:
            told.append(("conversation.created", shown))
        elif before != look:
            told.append(("conversation.updated", shown))
        if look.state is not (before.state if before else None) and look.state is not None:
            told.append((f"conversation.{look.state}", {"id": id}))
    return told


async def _is_gone(store: Store, scope: Scope, id: str) -> bool:
    """Whether a conversation was deleted, and has not only moved down the list."""
    try:
        await store.get(scope, id)
    except ConversationNotFound:
        return True
    return False
