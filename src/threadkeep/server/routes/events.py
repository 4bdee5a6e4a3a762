"""Events as endless streams: what happens in a conversation, and in a user's list of conversations.

The list is sorted by activity, so usually only its first rows are read, and all of it if these have changed. It is also
read as a whole after a nudge, which may mean a deletion, and now and then, because a deletion by another process may
come without a nudge. What is found is compared with what was sent last, so nothing is sent twice. A reader that comes
back reads the list itself, and is first told in which conversations a turn runs or waits.
"""

from collections.abc import AsyncIterator, Sequence
from itertools import islice
from typing import Annotated, Any, NamedTuple

from fastapi import APIRouter, Depends, Header
from pydantic import AfterValidator, BaseModel
from starlette.responses import StreamingResponse

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import TurnState
from threadkeep.conversations import Conversations
from threadkeep.errors import ConversationNotFound, ThreadkeepError
from threadkeep.server.event_schema import ConversationEvent, ListEvent, stream_of
from threadkeep.server.identity.guards import Who
from threadkeep.server.limits import room_for_stream
from threadkeep.server.requests import ConversationId
from threadkeep.server.responses import ListedConversation
from threadkeep.server.sse import EventStream, encode, sse_response

LOOK_EVERY = 2.0
SHOWN = 100
"""How many conversations, the last active, are watched."""
TOP = 3
"""How many of them are read to learn whether anything has changed."""
WHOLE_EVERY = 5
"""After so many readings without a nudge the whole list is read."""
LastEventId = Annotated[
    str | None,
    Header(description="The cursor of the last event that was seen; wins over `after`."),
    AfterValidator(lambda cursor: cursor or None),
]


def _streamed(events: type[BaseModel], description: str) -> dict[int | str, dict[str, Any]]:
    """Return the description of an endless answer."""
    return {200: {"content": stream_of(events), "description": description}}


def event_routes(conversations: Conversations) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["reading"], dependencies=[Depends(room_for_stream)])

    @router.get(
        "/conversations/{id}/events",
        response_class=StreamingResponse,
        responses=_streamed(ConversationEvent, "What happens in the conversation, as server-sent events, for ever."),
        summary="Follow a conversation",
    )
    async def events(
        who: Who, id: ConversationId, after: str | None = None, last_event_id: LastEventId = None
    ) -> StreamingResponse:
        conversation = await conversations.named(who.scope, id)
        cursor = await conversation.cursor(after if last_event_id is None else last_event_id)
        return sse_response(conversation.follow(cursor, presence=True), conversation.id)

    @router.get(
        "/events",
        response_class=StreamingResponse,
        responses=_streamed(ListEvent, "What happens in the list, as server-sent events, for ever."),
        summary="Follow the list of conversations",
    )
    async def list_events(who: Who) -> StreamingResponse:
        return EventStream(watch_list(conversations, who.scope))

    return router


class _Seen(NamedTuple):
    version: int
    entries: int
    state: TurnState | None


_List = dict[str, _Seen]
"""The list as a reader knows it, the last active first."""


async def watch_list(conversations: Conversations, scope: Scope) -> AsyncIterator[bytes]:
    """Yield changes of the list from now on, for ever."""
    with conversations.list_changes(scope) as change_within:
        seen, _ = await _look(conversations, scope, {}, SHOWN)
        yield b"retry: 1000\n\n"
        for name, data in _open_turns(seen):
            yield encode(name, data)
        looks = 0
        while True:
            is_told = await change_within(LOOK_EVERY)
            looks += 1
            try:
                limit = SHOWN if is_told or looks % WHOLE_EVERY == 0 else TOP
                now, changed = await _look(conversations, scope, seen, limit)
                told = [encode(name, data) for name, data in await _changes(conversations, scope, seen, now, changed)]
            except ThreadkeepError as error:
                yield encode("error", {"code": error.code, "detail": str(error)})
                return
            seen = now
            for chunk in told:
                yield chunk


async def _look(
    conversations: Conversations, scope: Scope, seen: _List, limit: int
) -> tuple[_List, list[Conversation]]:
    """Return the list as it is now, and what in it has changed. Only logs that have grown are read."""
    listed = (await conversations.list(scope=scope, limit=limit, by_activity=True)).items
    changed = [conversation for conversation in listed if _is_changed(conversation, seen)]
    if limit < SHOWN and len(changed) == len(listed) == limit:
        return await _look(conversations, scope, seen, SHOWN)
    now = {conversation.id: seen.get(conversation.id) for conversation in listed}
    for conversation in changed:
        now[conversation.id] = await _seen(conversations, conversation)
    below = {} if limit == SHOWN else {id: look for id, look in seen.items() if id not in now}
    known = {id: look for id, look in (now | below).items() if look is not None}
    return dict(islice(known.items(), SHOWN)), [each for each in changed if each.id in known]


def _is_changed(conversation: Conversation, seen: _List) -> bool:
    before = seen.get(conversation.id)
    return before is None or (before.version, before.entries) != (conversation.version, conversation.entries)


async def _seen(conversations: Conversations, conversation: Conversation) -> _Seen | None:
    """Return what the list shows of a conversation, with the state of its turns. None if it was deleted."""
    try:
        turns = await conversations.at(conversation.scope, conversation.id).turns()
    except ConversationNotFound:
        return None
    state = next((turn.state for turn in turns if turn.state is not TurnState.QUEUED), None)
    return _Seen(conversation.version, conversation.entries, state)


def _open_turns(now: _List) -> list[tuple[str, dict[str, object]]]:
    return [(f"conversation.{look.state}", {"id": id}) for id, look in now.items() if look.state is not None]


async def _changes(
    conversations: Conversations, scope: Scope, seen: _List, now: _List, changed: Sequence[Conversation]
) -> list[tuple[str, dict[str, object]]]:
    """Return names and data of what is different, oldest first."""
    told: list[tuple[str, dict[str, object]]] = []
    for id in seen.keys() - now.keys():
        if await _is_gone(conversations, scope, id):
            told.append(("conversation.deleted", {"id": id}))
    for conversation in reversed(changed):
        before, look = seen.get(conversation.id), now[conversation.id]
        shown = ListedConversation.model_validate(conversation).model_dump(mode="json") | {"turn": look.state}
        told.append(("conversation.created" if before is None else "conversation.updated", shown))
        if look.state is not (before.state if before else None) and look.state is not None:
            told.append((f"conversation.{look.state}", {"id": conversation.id}))
    return told


async def _is_gone(conversations: Conversations, scope: Scope, id: str) -> bool:
    """Whether a conversation was deleted, and has not only moved down the list."""
    try:
        await conversations.at(scope, id).read()
    except ConversationNotFound:
        return True
    return False
