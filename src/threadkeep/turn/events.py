"""Events: what a reader of a conversation is told, derived from the log. The names are permanent.

Every entry becomes a few events; the text of a message being written becomes events of its own, which the message's
entry does not repeat. Each event carries the cursor behind it, so that a reader can come back there.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, assert_never

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Approval, Entry, HeadChoice, Summary, Update
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.store.base import Draft, LogPage

FEW_WORDS = 256
"""Characters of text that is worth remembering for the next reader: it is what models send at a time."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, with the place in the log behind it."""

    name: str
    data: dict[str, Any]
    cursor: Cursor = field(default_factory=Cursor)


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
    return Event("text.delta", {"message": message, "text": text}, behind)


def _of_draft(draft: Draft, cursor: Cursor) -> Iterator[Event]:
    if draft.message != cursor.message:
        cursor = cursor.model_copy(update={"message": draft.message, "offset": 0})
        started = {"message": draft.message, "turn": draft.turn, "started_at": draft.started_at.isoformat()}
        yield Event("message.started", started, cursor)
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
    named = _named(entry)[seen:]
    for place, (name, data) in enumerate(named, start=seen + 1):
        last = place == seen + len(named)
        offset = cursor.offset if writing else 0
        yield Event(name, data, Cursor(seq=entry.seq, index=0 if last else place, message=writing, offset=offset))


def _named(entry: Entry) -> list[tuple[str, dict[str, Any]]]:
    """Return names and data of an entry's events in order."""
    body = entry.body
    match body:
        case Message():
            return _of_message(entry, body)
        case TurnChange():
            return [_of_turn(entry, body)]
        case StateChange():
            changed = {"set": body.set, "unset": list(body.unset), "whole": body.whole}
            return [("state.changed", {**changed, "seq": entry.seq, "parent": entry.parent})]
        case Update():
            said = body.model_dump(mode="json", exclude={"kind"}, exclude_none=True)
            return [("conversation.updated", {**said, "seq": entry.seq})]
        case HeadChoice():
            return [("conversation.updated", {"head": entry.parent, "seq": entry.seq})]
        case Approval():
            said = body.model_dump(mode="json", exclude={"kind"})
            return [("conversation.updated", {"approval": said, "seq": entry.seq})]
        case Summary():
            return []
        case _:
            assert_never(body)


def _of_message(entry: Entry, message: Message) -> list[tuple[str, dict[str, Any]]]:
    if message.role is Role.TOOL and message.tool_result is not None:
        result = message.tool_result.model_dump(mode="json")
        blocks = [("block.added", {"message": message.id, "block": block.model_dump()}) for block in message.blocks]
        return [("tool.result", {**result, "content": message.content, **_place(entry)}), *blocks]
    called = [
        ("tool.called", {"message": message.id, "id": call.id, "name": call.name, "args": call.args})
        for call in message.tool_calls
    ]
    return [("message.completed", {"message": show(message), **_place(entry)}), *called]


def _place(entry: Entry) -> dict[str, Any]:
    return {"seq": entry.seq, "parent": entry.parent, "turn": entry.turn, "created_at": entry.created_at.isoformat()}


def show(message: Message) -> dict[str, Any]:
    """Return a message as clients see it."""
    return message.model_dump(mode="json", exclude={"kind"})


def _of_turn(entry: Entry, change: TurnChange) -> tuple[str, dict[str, Any]]:
    data: dict[str, Any] = {"turn": entry.turn, "seq": entry.seq}
    if change.detail is not None:
        data["detail"] = change.detail
    match change.state:
        case TurnState.QUEUED:
            queued = show(change.message) if change.message else None
            return "conversation.updated", {**data, "queued": queued}
        case TurnState.RUNNING:
            return "turn.started", data
        case TurnState.COMPLETED:
            return "turn.completed", {**data, "usage": change.usage.model_dump() if change.usage else None}
        case TurnState.FAILED:
            return "turn.failed", {**data, "error": change.error}
        case TurnState.WAITING:
            return "turn.waiting", {**data, "calls": list(change.calls)}
        case TurnState.CANCELLED | TurnState.INTERRUPTED:
            return f"turn.{change.state}", data
        case _:
            assert_never(change.state)
