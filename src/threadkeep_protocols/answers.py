"""Answers of turns as streams of changes (`changes_of`), and all of a branch at once (`transcript`)."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import replace

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Approval, Entry
from threadkeep.conversation.events import Event, MessageCompleted
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.turn import TurnState
from threadkeep.store.values import Snapshot
from threadkeep.turn_handle import TurnHandle
from threadkeep_protocols.parts import AnswerReader, AnswerText, Change, PartBegan, PartChanged, StepBegan, TextGrew


async def changes_of(
    turn: TurnHandle, after: int | None = None, reader: AnswerReader | None = None
) -> AsyncGenerator[Change, None]:
    """Yield the changes of a turn's answer from its beginning, or behind a position, until the turn ends or waits. The
    last one is an `AnswerEnded`.

    The same for a turn that runs and for one that ended long ago. A `reader` of yours has the answer so far.
    """
    reader, seen = reader or AnswerReader(turn.number), Seen(after)
    position = None
    async with aclosing(turn.events()) as events:
        async for event in events:
            reader.turn, position = turn.number, event.cursor.position
            for change in reader.take(event):
                if (news := seen.without(change, event)) is not None:
                    yield news
    if reader.end is not None and reader.end.state is TurnState.WAITING:
        yield replace(reader.end, position=position)


class Seen:
    """What a client has seen that comes back with a position: it is left out, to the character."""

    def __init__(self, after: int | None) -> None:
        self._after = after
        cursor, self._offset = (Cursor(), None) if after is None else Cursor.at(after)
        self._before = cursor.seq - 1 if cursor.index else cursor.seq
        self._message: str | None = None
        self._told = 0

    def without(self, change: Change, event: Event) -> Change | None:
        """Return what of a change is news, none if nothing is."""
        if self._after is None:
            return change
        if isinstance(change, StepBegan) and self._is_first_behind(event):
            self._message = change.message
        if self._offset is not None and self._message is not None and _written(change) == self._message:
            return self._rest(change, self._offset)
        position = event.cursor.position
        return None if position is not None and position <= self._after else change

    def _is_first_behind(self, event: Event) -> bool:
        """Whether the message that begins is the one that was being written then."""
        is_older = isinstance(event.what, MessageCompleted) and event.what.seq <= self._before
        return self._message is None and not is_older

    def _rest(self, change: Change, offset: int) -> Change | None:
        """Return what is behind an offset of the message that was being written."""
        if isinstance(change, TextGrew):
            self._told = change.offset
            new = change.offset - offset
            return replace(change, text=change.text[-new:]) if new > 0 else None
        return None if isinstance(change, StepBegan) or offset > self._told else change


def _written(change: Change) -> str | None:
    """Return the message whose text a change is about."""
    match change:
        case StepBegan(message=message):
            return message
        case PartBegan(part=AnswerText() as part) | PartChanged(part=AnswerText() as part) | TextGrew(part=part):
            return part.message
        case _:
            return None


def transcript(snapshot: Snapshot) -> list[Entry | AnswerReader]:
    """Return what a snapshot with messages shows, oldest first: the entries of what people said, and answers, the one
    that is being written included. An answer whose beginning is not in the snapshot is left out."""
    items: list[Entry | AnswerReader] = []
    for entry in snapshot.entries:
        _add_entry(items, entry)
    if snapshot.entries and snapshot.entries[0].parent is not None and isinstance(items[0], AnswerReader):
        del items[0]
    if snapshot.branch == snapshot.conversation.head:
        _add_present(items, snapshot)
    return items


def _add_entry(items: list[Entry | AnswerReader], entry: Entry) -> None:
    last = items[-1] if items else None
    if isinstance(entry.body, Message) and entry.body.role in (Role.USER, Role.SYSTEM):
        items.append(entry)
        return
    if not isinstance(last, AnswerReader) or last.turn != entry.turn:
        if not isinstance(entry.body, Message):
            return
        last = AnswerReader(entry.turn)
        items.append(last)
    last.take_entry(entry)


def _add_present(items: list[Entry | AnswerReader], snapshot: Snapshot) -> None:
    """Add what the newest turn is doing, or how it ended."""
    turns = [turn.number for turn in snapshot.turns if turn.state is not TurnState.QUEUED]
    turn = turns[0] if turns else snapshot.ended and snapshot.ended[0]
    if turn is None:
        return
    last = items[-1] if items else None
    reader = last if isinstance(last, AnswerReader) and last.turn == turn else AnswerReader(turn)
    for remark in snapshot.remarks:
        if remark.turn == turn or isinstance(remark.body, Approval):
            reader.take_entry(remark)
    if snapshot.draft is not None and snapshot.draft.turn == turn:
        reader.take_draft(snapshot.draft.message, snapshot.draft.text)
    if reader is not last and (reader.parts or reader.end):
        items.append(reader)
