"""A run as its stream of events: a new answer as it is written, or all that the client has missed and what comes.

A client that may lack something first gets a snapshot of the messages, the one that is being written included as far
as it has come, and then what comes behind it, to the character. So its messages are those of the log in the end.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.turn import Turn, TurnChange, TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.errors import ThreadkeepError
from threadkeep.store.values import Snapshot
from threadkeep.turn_handle import TurnHandle
from threadkeep_protocols.ag_ui.events import EventWriter
from threadkeep_protocols.ag_ui.showing import Json, said_message, shown
from threadkeep_protocols.ag_ui.snapshots import snapshots
from threadkeep_protocols.ag_ui.taking import RunInput
from threadkeep_protocols.answers import changes_of, transcript
from threadkeep_protocols.chats import MOST_SHOWN
from threadkeep_protocols.parts import AnswerReader
from threadkeep_protocols.wire import Told


@dataclass(frozen=True)
class AgentRun:
    """What a run tells: the answer of a turn, or of all turns that are open (none). Before a `fresh` one the client
    has all that there is. `refused` is why there is nothing to tell."""

    turn: TurnHandle | None = None
    fresh: bool = False
    refused: ThreadkeepError | None = None


def failed(error: ThreadkeepError) -> list[Told]:
    """Return the events of an error on the way."""
    return [{"type": "RUN_ERROR", "message": str(error), "code": error.code}]


async def events_of(chat: ConversationHandle | None, body: RunInput, run: AgentRun) -> AsyncIterator[Told]:
    """Yield the events of a run. Without a conversation there is nothing to tell yet."""
    writer = EventWriter(body.threadId, body.runId, is_old=body.is_old)
    yield writer.start()
    if run.refused is not None:
        raise run.refused
    reader = None
    if chat is not None and run.turn is not None and run.fresh:
        for event in writer.state(await chat.reading.state()):
            yield event
        reader = AnswerReader(run.turn.number)
        async for event in _answer(run.turn, None, reader, writer):
            yield event
    elif chat is not None:
        catching_up = _CatchingUp(chat, [message.id for message in body.messages], run.turn)
        async with aclosing(catching_up.events(writer)) as events:  # type: ignore[type-var]
            async for event in events:
                yield event
        reader = catching_up.reader
    for event in writer.finish(reader):
        yield event


async def _answer(
    turn: TurnHandle, after: int | None, reader: AnswerReader, writer: EventWriter
) -> AsyncIterator[Json]:
    async with aclosing(changes_of(turn, after, reader)) as changes:
        async for change in changes:
            for event in writer.tell(change):
                yield event


class _CatchingUp:
    """Tells a client that has some messages all there are, and follows the open turns up to one (none: all). In
    `reader` is the answer that was followed last."""

    def __init__(self, chat: ConversationHandle, has: Sequence[str], turn: TurnHandle | None) -> None:
        self._chat = chat
        self._has = list(has)
        self._turn = turn
        self.reader: AnswerReader | None = None

    async def events(self, writer: EventWriter) -> AsyncIterator[Json]:
        """Yield them."""
        while True:
            snapshot = await self._chat.snapshot(messages=MOST_SHOWN)
            turn = self._next(snapshot)
            after = None if self._chat.reading.is_spooled else _position(snapshot)
            is_begun = turn is not None and turn.state is not TurnState.QUEUED
            without = turn.number if turn is not None and is_begun and after is None else None
            for event in await self._snapshots(snapshot, without):
                yield event
            for event in writer.state(snapshot.state):
                yield event
            handle = self._turn if turn is None else self._chat.turn(turn.number)
            if handle is None:
                return
            self.reader = AnswerReader(handle.number)
            async for event in _answer(handle, after if is_begun else None, self.reader, writer):
                if turn is not None:  # of one that has ended, the snapshot has everything
                    yield event
            is_last = self._turn is not None and handle.number >= self._turn.number
            if is_last or self._waits() or not await self._chat.turns():
                return
            for event in writer.close():
                yield event

    def _waits(self) -> bool:
        end = self.reader.end if self.reader is not None else None
        return end is not None and end.state is TurnState.WAITING

    def _next(self, snapshot: Snapshot) -> Turn | None:
        """Return the open turn that is to be followed next."""
        last = None if self._turn is None else self._turn.number
        return next((turn for turn in snapshot.turns if last is None or turn.number <= last), None)

    async def _snapshots(self, snapshot: Snapshot, without: int | None) -> list[Json]:
        """Return what makes the client's messages those of the log, without the answer of a turn, and the queued ones
        behind them."""
        items = transcript(snapshot)
        if without is not None and items and isinstance(items[-1], AnswerReader) and items[-1].turn == without:
            del items[-1]
        messages = shown(items)
        for turn in snapshot.turns:
            if turn.state is TurnState.QUEUED:
                body = (await self._chat.reading.entry(turn.number)).body
                if isinstance(body, TurnChange) and body.message is not None:
                    messages.append(said_message(body.message))
        told = snapshots(self._has, messages)
        self._has = [message["id"] for message in messages if message["role"] != "activity"]
        return told


def _position(snapshot: Snapshot) -> int | None:
    """Return the place behind all that a snapshot has; none in the rare cases in which it is no number."""
    draft = snapshot.draft
    cursor = Cursor(seq=snapshot.conversation.entries)
    if draft is not None:
        cursor = cursor.model_copy(update={"message": draft.message, "offset": len(draft.text)})
    return cursor.position
