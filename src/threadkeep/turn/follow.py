"""Following a conversation: stored entries first, then live ones, from any cursor, without gap or repeat.

Every entry becomes a few events. The text of a message being written becomes events of its own, which the message's
entry does not repeat. Each event carries the cursor behind it, so that a reader can come back.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from functools import lru_cache
from typing import assert_never

from threadkeep.conversation import events
from threadkeep.conversation.cursor import Cursor, mark_of
from threadkeep.conversation.draft_text import ends_thinking, pieces, stream_of
from threadkeep.conversation.entry import Approval, Entry, Feedback, HeadChoice, Kept, Summary, Update
from threadkeep.conversation.events import Event, Happening
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.errors import InvalidCursor
from threadkeep.store.base import WALKED, Store
from threadkeep.store.paging import held
from threadkeep.store.values import Draft, LogPage
from threadkeep.turn.local_bus import LOOK, UNLOGGED, LocalBus, Nudge, topic_of

LOOK_EVERY = 1.0
"""Seconds after which a reader reads the log without a nudge: another process may have written, or one was lost."""
LOOK_EVERY_BRIDGED = 5.0
"""The same where other processes send nudges: then it only makes up for a lost one."""
PAGE = WALKED
MOVED = "Others went on with this conversation during an outage: read it again."


async def follow(
    store: Store, bus: LocalBus, scope: Scope, conversation: str, after: Cursor | None = None, *, presence: bool = False
) -> AsyncGenerator[Event, None]:
    """Yield every event behind the cursor (none: from now on), for ever.

    Whoever asks for `presence` counts as a reader, and is also told what is in no log: how many readers there are, and
    when a model that failed is asked again. Everybody is told when the conversation goes to the spool and when it is in
    the database; if its entries got other numbers there, `InvalidCursor` says that it must be read again.
    """
    topic = topic_of(scope.tenant, conversation)
    with bus.subscribed(scope.tenant, conversation, presence=presence) as subscription:
        cursor = await _present(store, scope, conversation) if after is None else after
        nudges = [LOOK]
        readers, attempt = 0, None
        is_spooled, moves = False, store.operations.spool_state(scope, conversation).moves
        while True:
            spool = store.operations.spool_state(scope, conversation)
            if spool.moves != moves:
                raise InvalidCursor(MOVED)
            if spool.is_spooled != is_spooled:
                is_spooled = spool.is_spooled
                yield Event(events.SpoolChanged(is_spooled), cursor)
            for item in nudges:
                if item is UNLOGGED:
                    continue
                if item.message is not None and item.message == cursor.message and item.offset == cursor.offset:
                    for event in text_events(item.message, item.text, cursor):
                        told = _marked(event, cursor) if cursor.mark else event
                        cursor = told.cursor
                        yield told
                elif not _is_old(item, cursor):
                    async for event in _catch_up(store, scope, conversation, cursor):
                        cursor = event.cursor
                        yield event
            if presence and bus.presence.count(topic) != readers:
                readers = bus.presence.count(topic)
                yield Event(events.ReadersCounted(readers), cursor)
            retry = bus.retry(topic) if presence else None
            told_attempt, attempt = attempt, retry and (retry.turn, retry.attempt)
            if retry and attempt != told_attempt:
                yield Event(retry, cursor)
            nudges = await subscription.get(LOOK_EVERY_BRIDGED if bus.is_bridged else LOOK_EVERY) or [LOOK]


def _is_old(item: Nudge, cursor: Cursor) -> bool:
    """Whether the text of a nudge was read from the log before the nudge arrived."""
    return item.message is not None and item.message == cursor.message and item.end <= cursor.offset


async def _present(store: Store, scope: Scope, conversation: str) -> Cursor:
    """Return the cursor behind everything that is stored by now, including the text being written."""
    found = await store.snapshot(scope, conversation)
    last, draft = found.conversation.entries, found.draft
    if draft is None:
        return Cursor(seq=last)
    return Cursor(seq=last, message=draft.message, offset=len(draft.text), is_thought=ends_thinking(draft.text))


async def cursor_at(store: Store, scope: Scope, conversation: str, position: int) -> Cursor:
    """Return the cursor of a position. A message that was being written there is found in the log behind it, or is
    still being written."""
    cursor, offset = Cursor.at(position)
    if offset is None:
        return cursor
    seq = cursor.seq - 1 if cursor.index else cursor.seq
    while True:
        page = await store.log(scope, conversation, Cursor(seq=seq), limit=PAGE)
        said = (entry.body for entry in page.entries if entry.turn is not None and isinstance(entry.body, Message))
        answer = next((message for message in said if message.role is Role.ASSISTANT), None)
        if answer is not None or len(page.entries) < PAGE:
            break
        seq = page.entries[-1].seq
    if answer is not None:
        message, stream = answer.id, stream_of(answer)
    else:
        message, stream = (page.draft.message, page.draft.text) if page.draft else ("", "")
    if not message or offset > len(stream):
        raise InvalidCursor
    return cursor.but(message=message, offset=offset, is_thought=ends_thinking(stream[:offset]))


async def _catch_up(store: Store, scope: Scope, conversation: str, cursor: Cursor) -> AsyncIterator[Event]:
    """Yield what the log holds behind the cursor by now."""
    limit = PAGE
    while True:
        # A cursor inside an entry: the entry itself is read once more.
        back = 1 if cursor.index else 0
        page = await store.log(scope, conversation, cursor.but(seq=cursor.seq - back), limit=limit)
        entries, fitting = held(page.entries, limit)
        is_last = len(entries) == len(page.entries) < limit
        page = page if is_last else LogPage(entries=tuple(entries))
        limit = min(PAGE, fitting)
        is_spooled = store.operations.spool_state(scope, conversation).is_spooled
        marks = {entry.seq: mark_of(entry.created_at) for entry in page.entries} if is_spooled else {}
        for event in events_of(page, cursor):
            told = _marked(event, cursor, marks) if marks or cursor.mark else event
            cursor = told.cursor
            yield told
        if is_last:
            return
        cursor = cursor.but(seq=page.entries[-1].seq, index=0)


def _marked(event: Event, before: Cursor, marks: Mapping[int, int] = {}) -> Event:
    """Return an event of the spool with a cursor that marks the entry that its number means."""
    seq = event.cursor.seq
    mark = marks.get(seq) or (before.mark if before.seq == seq else 0)
    return Event(event.what, event.cursor.but(mark=mark))


def events_of(page: LogPage, cursor: Cursor) -> Iterator[Event]:
    """Yield what a reader who has seen everything up to the cursor has missed, according to a page of the log.

    If the cursor lies inside an entry, the page must begin with that entry.
    """
    for entry in page.entries:
        seen = cursor.index if entry.seq == cursor.seq else 0
        for event in _of_entry(entry, cursor, seen):
            cursor = event.cursor
            yield event
        if cursor.seq != entry.seq or cursor.index:
            cursor = cursor.but(seq=entry.seq, index=0)
    if page.draft is not None:
        yield from _of_draft(page.draft, cursor)


def text_events(message: str, text: str, cursor: Cursor) -> tuple[Event, ...]:
    """Return the events of text behind the cursor; for short texts, readers at the same place share them."""
    make = _text_events if len(text) <= events.FEW_WORDS else _text_events.__wrapped__
    return make(message, text, cursor.seq, cursor.index, cursor.offset, cursor.is_thought)


@lru_cache(maxsize=256)
def _text_events(message: str, text: str, seq: int, index: int, offset: int, is_thought: bool) -> tuple[Event, ...]:
    told = []
    for thought, some, length in pieces(text, is_thought):
        offset += length
        behind = Cursor.trusted(seq=seq, index=index, message=message, offset=offset, is_thought=thought, mark=0)
        told.append(Event((events.ReasoningDelta if thought else events.TextDelta)(message, some), behind))
    return tuple(told)


def _of_draft(draft: Draft, cursor: Cursor) -> Iterator[Event]:
    if draft.message != cursor.message:
        cursor = cursor.but(message=draft.message, offset=0, is_thought=False)
        yield Event(events.MessageStarted(draft.message, draft.turn, draft.started_at), cursor)
    yield from text_events(draft.message, draft.text, cursor)


def _of_entry(entry: Entry, cursor: Cursor, seen: int) -> Iterator[Event]:
    """Yield the events of one entry without the first `seen`; the last one's cursor is behind the whole entry."""
    body = entry.body
    writing = cursor.message
    if isinstance(body, Message) and body.id == writing:
        for event in text_events(body.id, stream_of(body)[cursor.offset :], cursor):
            cursor = event.cursor
            yield event
        writing = None
    happened = _happened(entry)
    seen = min(seen, len(happened) - 1)  # a number may lie behind the places of all its events, before the last one
    for place, what in enumerate(happened[seen:], start=seen + 1):
        last = place == len(happened)
        behind = Cursor(seq=entry.seq, index=0 if last else place)
        if writing:
            behind = cursor.but(seq=behind.seq, index=behind.index)
        yield Event(what, behind)


def _happened(entry: Entry) -> list[Happening]:
    """Return what an entry tells, in order."""
    body = entry.body
    match body:
        case Message():
            return _of_message(entry, body)
        case TurnChange():
            return [_of_turn(entry, body)]
        case StateChange():
            return [events.StateChanged(body, entry.seq, entry.parent)]
        case Update():
            return [events.ConversationUpdated(body, entry.seq)]
        case HeadChoice():
            return [events.HeadChosen(entry.parent, entry.seq)]
        case Approval():
            return [events.CallDecided(body, entry.seq)]
        case Feedback():
            return [events.FeedbackGiven(body, entry.parent, entry.seq)]
        case Summary() | Kept():
            return []
        case _:
            assert_never(body)


def _of_message(entry: Entry, message: Message) -> list[Happening]:
    place = (entry.seq, entry.parent, entry.turn, entry.created_at)
    if message.role is Role.TOOL and message.tool_result is not None:
        returned = events.ToolReturned(message.tool_result, message.content, *place, message.parts)
        return [returned, *(events.BlockAdded(message.id, block) for block in message.blocks)]
    return [
        events.MessageCompleted(message, *place),
        *(events.ToolCalled(message.id, call) for call in message.tool_calls),
    ]


def _of_turn(entry: Entry, change: TurnChange) -> Happening:
    turn, seq = entry.turn or 0, entry.seq
    match change.state:
        case TurnState.QUEUED:
            return events.TurnQueued(turn, seq, change.message)
        case TurnState.RUNNING:
            return events.TurnStarted(turn, seq, change.detail)
        case TurnState.WAITING:
            return events.TurnWaiting(turn, seq, change.calls, change.detail, change.client_calls)
        case TurnState.COMPLETED | TurnState.FAILED | TurnState.CANCELLED | TurnState.INTERRUPTED:
            return events.TurnEnded(turn, seq, change.state, change.usage, change.failure, change.detail)
        case _:
            assert_never(change.state)
