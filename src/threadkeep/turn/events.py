"""Events out of the log: every entry becomes a few, and the text of a message being written becomes events of its own,
which the message's entry does not repeat. Each carries the cursor behind it, so that a reader can come back."""

from collections.abc import Iterator
from functools import lru_cache
from typing import assert_never

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Approval, Entry, HeadChoice, Summary, Update
from threadkeep.conversation.events import (
    BlockAdded,
    CallDecided,
    ConversationUpdated,
    Event,
    Happening,
    HeadChosen,
    MessageCompleted,
    MessageStarted,
    StateChanged,
    TextDelta,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnQueued,
    TurnStarted,
    TurnWaiting,
)
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.store.base import Draft, LogPage

FEW_WORDS = 256
"""Characters of text that is worth remembering for the next reader: it is what models send at a time."""


def events(page: LogPage, cursor: Cursor) -> Iterator[Event]:
    """Yield what a reader who has seen everything up to the cursor has missed, according to a page of the log.

    An entry that the cursor lies inside of must be the first of the page.
    """
    for entry in page.entries:
        seen = cursor.index if entry.seq == cursor.seq else 0
        for event in _of_entry(entry, cursor, seen):
            cursor = event.cursor
            yield event
        if cursor.seq != entry.seq or cursor.index:
            cursor = cursor.model_copy(update={"seq": entry.seq, "index": 0})
    if page.draft is not None:
        yield from _of_draft(page.draft, cursor)


def text_event(message: str, text: str, cursor: Cursor) -> Event:
    """Return the event of some more text behind the cursor; readers at the same place share that of a few words."""
    make = _text_event if len(text) <= FEW_WORDS else _text_event.__wrapped__
    return make(message, text, cursor.seq, cursor.index, cursor.offset)


@lru_cache(maxsize=256)
def _text_event(message: str, text: str, seq: int, index: int, offset: int) -> Event:
    behind = Cursor.trusted(seq=seq, index=index, message=message, offset=offset + len(text))
    return Event(TextDelta(message, text), behind)


def _of_draft(draft: Draft, cursor: Cursor) -> Iterator[Event]:
    if draft.message != cursor.message:
        cursor = cursor.model_copy(update={"message": draft.message, "offset": 0})
        yield Event(MessageStarted(draft.message, draft.turn, draft.started_at), cursor)
    if draft.text:
        yield text_event(draft.message, draft.text, cursor)


def _of_entry(entry: Entry, cursor: Cursor, seen: int) -> Iterator[Event]:
    """Yield the events of one entry behind the first `seen` of them; a last one leaves the cursor at the entry."""
    body = entry.body
    writing = cursor.message
    if isinstance(body, Message) and body.id == writing:
        rest = body.content[cursor.offset :]
        if rest:
            event = text_event(body.id, rest, cursor)
            cursor = event.cursor
            yield event
        writing = None
    happened = _happened(entry)[seen:]
    for place, what in enumerate(happened, start=seen + 1):
        last = place == seen + len(happened)
        offset = cursor.offset if writing else 0
        yield Event(what, Cursor(seq=entry.seq, index=0 if last else place, message=writing, offset=offset))


def _happened(entry: Entry) -> list[Happening]:
    """Return what an entry tells, in order."""
    body = entry.body
    match body:
        case Message():
            return _of_message(entry, body)
        case TurnChange():
            return [_of_turn(entry, body)]
        case StateChange():
            return [StateChanged(body, entry.seq, entry.parent)]
        case Update():
            return [ConversationUpdated(body, entry.seq)]
        case HeadChoice():
            return [HeadChosen(entry.parent, entry.seq)]
        case Approval():
            return [CallDecided(body, entry.seq)]
        case Summary():
            return []
        case _:
            assert_never(body)


def _of_message(entry: Entry, message: Message) -> list[Happening]:
    place = (entry.seq, entry.parent, entry.turn, entry.created_at)
    if message.role is Role.TOOL and message.tool_result is not None:
        returned = ToolReturned(message.tool_result, message.content, *place)
        return [returned, *(BlockAdded(message.id, block) for block in message.blocks)]
    return [MessageCompleted(message, *place), *(ToolCalled(message.id, call) for call in message.tool_calls)]


def _of_turn(entry: Entry, change: TurnChange) -> Happening:
    turn, seq = entry.turn or 0, entry.seq
    match change.state:
        case TurnState.QUEUED:
            return TurnQueued(turn, seq, change.message)
        case TurnState.RUNNING:
            return TurnStarted(turn, seq, change.detail)
        case TurnState.WAITING:
            return TurnWaiting(turn, seq, change.calls, change.detail)
        case TurnState.COMPLETED | TurnState.FAILED | TurnState.CANCELLED | TurnState.INTERRUPTED:
            return TurnEnded(turn, seq, change.state, change.usage, change.failure, change.detail)
        case _:
            assert_never(change.state)
