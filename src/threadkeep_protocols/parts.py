"""An answer as an ordered list of parts, which every protocol translates into words of its own.

An answer is all that one turn says: reasoning, text, tool calls with their decisions and results, blocks, sources,
files, data, and how it ended. `AnswerReader` makes it, from the events of a turn or from stored entries:

    reader = AnswerReader(turn)                   # the number of the turn; none takes whatever comes
    changes = reader.take(event)                  # live or replayed: what to tell a client now
    reader.take_entry(entry)                      # stored: the same, from the log
    reader.parts, reader.end, reader.id           # the answer so far

Each change is one of `Change`: a step (one call of the model) or a part began, a text grew, a part changed, the step or
the turn ended. A text begins empty and grows. Ids of parts are the same for every reader: those of calls are the
calls' own, all others begin with the id of their message. What a message has beside its text (files, sources, data)
comes when it is whole, behind its text, and then its calls.

`position` is the integer place in the log behind a change; changes of one event stand together and only the last has
it, so that a client that comes back with it has seen all of them. Streams of them: `answers.changes_of`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from threadkeep.conversation.blocks import Block
from threadkeep.conversation.draft_text import ends_thinking, pieces, stream_of
from threadkeep.conversation.entry import Approval, Entry
from threadkeep.conversation.events import (
    BlockAdded,
    CallDecided,
    Event,
    MessageCompleted,
    MessageStarted,
    ReasoningDelta,
    StateChanged,
    TextDelta,
    ToolReturned,
    TurnEnded,
    TurnStarted,
    TurnWaiting,
)
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult, Usage
from threadkeep.conversation.parts import Part, Raw, Reasoning
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import Failure, TurnChange, TurnState

CallState = Literal["called", "asked", "approved", "refused", "returned", "failed"]
"""How a tool call is: made, waiting for a person, decided by one, or with a result."""
REFUSED = "refused"
"""What the result of a call that a person refused has as its error."""


@dataclass(frozen=True, slots=True)
class AnswerText:
    """A piece of text or reasoning; `is_whole` when no more of it comes. Its `text` is there when it is whole, and in
    `AnswerReader.parts`."""

    id: str
    message: str
    is_reasoning: bool = False
    text: str = ""
    is_whole: bool = False


@dataclass(frozen=True, slots=True)
class AnswerCall:
    """A tool call; `id` is its own. `reason` is a person's for the decision, until there is a result: its `content`,
    `error` and `files`."""

    id: str
    message: str
    call: ToolCall
    state: CallState = "called"
    reason: str | None = None
    content: str = ""
    error: str | None = None
    files: tuple[Part, ...] = ()
    has_result: bool = False


@dataclass(frozen=True, slots=True)
class AnswerBlock:
    """A block that a tool shows, or that a message has."""

    id: str
    message: str
    block: Block


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """What else a message has: an `Attachment`, a `CitationPart`, `Data`, or a part of a type of its own."""

    id: str
    message: str
    part: Part


AnyAnswerPart = AnswerText | AnswerCall | AnswerBlock | AnswerPart


@dataclass(frozen=True, slots=True)
class StepBegan:
    """The model was asked, and begins to write a message."""

    message: str
    position: int | None = None


@dataclass(frozen=True, slots=True)
class PartBegan:
    """A part stands at the end of the answer."""

    part: AnyAnswerPart
    position: int | None = None


@dataclass(frozen=True, slots=True)
class TextGrew:
    """More of a text. `offset` is where the message is behind it, in characters of its stream."""

    part: AnswerText
    text: str
    offset: int
    position: int | None = None


@dataclass(frozen=True, slots=True)
class PartChanged:
    """A text is whole, or a call was decided or has a result: the part as it is now."""

    part: AnyAnswerPart
    position: int | None = None


@dataclass(frozen=True, slots=True)
class StepEnded:
    """A message is whole, or was cut off for good."""

    message: Message
    position: int | None = None


@dataclass(frozen=True, slots=True)
class StateTold:
    """The state of the conversation changed in this turn."""

    change: StateChange
    position: int | None = None


@dataclass(frozen=True, slots=True)
class AnswerEnded:
    """How the turn ended, or that it waits for `calls`: `client_calls` for their results, others for a decision."""

    state: TurnState
    usage: Usage | None = None
    failure: Failure | None = None
    detail: str | None = None
    calls: tuple[str, ...] = ()
    client_calls: tuple[str, ...] = ()
    position: int | None = None


Change = StepBegan | PartBegan | TextGrew | PartChanged | StepEnded | StateTold | AnswerEnded


class AnswerReader:
    """Makes an answer of what happens in a turn. What it has taken before is not told again.

    `messages` are the whole messages of the assistant; `end` is how the turn ended or why
    it waits, none while it goes on; `place` the newest entry of the answer that the next message could continue.
    `begins` is the number of its first entry, and of the one that this continues; `results` are its calls with results,
    in the order of these.
    """

    def __init__(self, turn: int | None = None) -> None:
        self.turn = turn
        self.messages: list[Message] = []
        self.end: AnswerEnded | None = None
        self.place: int | None = None
        self.begins: tuple[int, int | None] | None = None
        self.results: list[AnswerCall] = []
        self._parts: list[AnyAnswerPart] = []
        self._open: list[str] = []
        self._begun: dict[str, int] = {}
        self._whole: set[str] = set()
        self._changes: list[Change] = []
        self._runs = self._shows = False

    @property
    def parts(self) -> list[AnyAnswerPart]:
        """The parts so far, in order."""
        *before, last = self._parts or (None,)
        if isinstance(last, AnswerText) and not last.is_whole:
            return [*before, replace(last, text="".join(self._open))]
        return list(self._parts)

    @property
    def id(self) -> str:
        """The id of the answer: of its turn, or, if it was answered in none, of its first message."""
        return f"answer-{self.turn}" if self.turn is not None or not self.messages else self.messages[0].id

    @property
    def steps(self) -> list[str]:
        """The messages of the assistant, whole or not, by their ids."""
        return list(self._begun)

    @property
    def usage(self) -> Usage | None:
        """What the model calls took, together."""
        used = [message.usage for message in self.messages if message.usage is not None]
        return (self.end and self.end.usage) or (Usage.total(used) if used else None)

    @property
    def model(self) -> str | None:
        """The model that answered last."""
        return next((message.model for message in reversed(self.messages) if message.model), None)

    # What happens

    def take(self, event: Event) -> list[Change]:
        """Return what an event changes in the answer: nothing if it is about something else."""
        what = event.what
        self._runs = self._runs or (event.turn is not None and event.turn == self.turn)
        match what:
            case MessageStarted() if what.turn == self.turn:
                self._begin(what.message)
            case TextDelta() | ReasoningDelta() if what.message in self._begun:
                self._grow(what.message, isinstance(what, ReasoningDelta), what.text, event.cursor.offset)
            case MessageCompleted() if what.turn == self.turn and what.message.role is Role.ASSISTANT:
                self._complete(what.message, what.seq, what.parent)
            case ToolReturned():
                self._shows = what.turn == self.turn and self._return(what.result, what.content, what.parts, what.seq)
            case BlockAdded() if self._shows:
                self._show(what.message, [what.block])
            case CallDecided() if self._runs:
                self._decide(what.approval)
            case StateChanged() if self._runs and self.end is None:
                self._tell(StateTold(what.change))
                self.place = what.seq
            case TurnStarted() if what.turn == self.turn:
                self.end = None
            case TurnWaiting() if what.turn == self.turn:
                self._wait(AnswerEnded(TurnState.WAITING, None, None, what.detail, what.calls, what.client_calls))
            case TurnEnded() if what.turn == self.turn:
                self._end(AnswerEnded(what.state, what.usage, what.failure, what.detail))
        return self._told(event.cursor.position)

    def take_entry(self, entry: Entry) -> list[Change]:
        """Return what a stored entry of this turn changes in the answer."""
        body = entry.body
        match body:
            case Message(role=Role.ASSISTANT):
                self._complete(body, entry.seq, entry.parent)
            case Message(tool_result=ToolResult() as result):
                if self._return(result, body.content, body.parts, entry.seq):
                    self._show(body.id, body.blocks)
            case StateChange():
                self._tell(StateTold(body))
                self.place = entry.seq
            case Approval():
                self._decide(body)
            case TurnChange(state=TurnState.RUNNING):
                self.end = None
            case TurnChange(state=TurnState.WAITING):
                self._wait(AnswerEnded(body.state, None, None, body.detail, body.calls, body.client_calls))
            case TurnChange() if not body.state.is_open:
                self._end(AnswerEnded(body.state, body.usage, body.failure, body.detail))
        return self._told(None)

    def take_draft(self, message: str, text: str) -> list[Change]:
        """Return what the message that is being written adds to the answer."""
        self._begin(message)
        self._catch_up(message, text)
        return self._told(None)

    def _told(self, position: int | None) -> list[Change]:
        told, self._changes = self._changes, []
        if told and position is not None:
            told[-1] = replace(told[-1], position=position)
        return told

    def _tell(self, change: Change) -> None:
        self._changes.append(change)

    # Text

    def _begin(self, message: str) -> None:
        if message not in self._begun:
            self._begun[message] = 0
            self._tell(StepBegan(message))

    def _grow(self, message: str, is_reasoning: bool, text: str, offset: int) -> None:
        """Add text that ends at this offset of its message, without what was told before."""
        new = offset - self._begun[message]
        if new <= 0 or message in self._whole:
            return
        self._begun[message], text = offset, text[-new:]
        part = self._open_text(message)
        if part is None or part.is_reasoning != is_reasoning:
            self._close(message)
            count = sum(isinstance(each, AnswerText) for each in self._of(message))
            part = AnswerText(f"{message}-{count}", message, is_reasoning)
            self._add(part)
            self._open = []
        self._open.append(text)
        self._tell(TextGrew(part, text, offset))

    def _catch_up(self, message: str, stream: str) -> None:
        told = self._begun[message]
        for is_reasoning, text, length in pieces(stream[told:], ends_thinking(stream[:told])):
            told += length
            self._grow(message, is_reasoning, text, told)

    def _open_text(self, message: str) -> AnswerText | None:
        last = self._parts[-1] if self._parts else None
        return last if isinstance(last, AnswerText) and last.message == message and not last.is_whole else None

    def _close(self, message: str) -> None:
        if (part := self._open_text(message)) is not None:
            self._put(part, replace(part, text="".join(self._open), is_whole=True))

    def _complete(self, message: Message, seq: int, parent: int | None) -> None:
        self.place, self.begins = seq, self.begins or (seq, parent)
        if message.id in self._whole:
            return
        self._begin(message.id)
        self._catch_up(message.id, stream_of(message))
        self._close(message.id)
        self._whole.add(message.id)
        self.messages.append(message)
        for number, part in enumerate(message.parts):
            if not isinstance(part, Reasoning | Raw):
                self._add(AnswerPart(f"{message.id}-part-{number}", message.id, part))
        self._show(message.id, self._new_blocks(message))
        for call in message.tool_calls:
            self._add(AnswerCall(call.id, message.id, call))
        self._tell(StepEnded(message))

    # Tools

    def _return(self, result: ToolResult, content: str, files: tuple[Part, ...], seq: int) -> bool:
        """Add a result to its call; whether it is news."""
        self.place = seq
        call = self._call(result.tool_call_id)
        if call is None or call.has_result:
            return False
        state: CallState = "returned" if result.error is None else "failed"
        state = "refused" if call.state == "refused" or result.error == REFUSED else state
        changed = AnswerCall(call.id, call.message, call.call, state, None, content, result.error, files, True)
        self.results.append(changed)
        self._put(call, changed)
        return True

    def _decide(self, approval: Approval) -> None:
        call = self._call(approval.tool_call_id)
        if call is not None and call.state in ("called", "asked") and not approval.is_result:
            state: CallState = "approved" if approval.approved else "refused"
            self._put(call, replace(call, state=state, reason=approval.reason))

    def _wait(self, waiting: AnswerEnded) -> None:
        for id in (id for id in waiting.calls if id not in waiting.client_calls):
            call = self._call(id)
            if call is not None and call.state == "called":
                self._put(call, replace(call, state="asked"))
        self.end = waiting

    def _end(self, end: AnswerEnded) -> None:
        if self.end != end:
            self.end = end
            self._tell(end)

    def _show(self, message: str, blocks: Sequence[Block]) -> None:
        shown = sum(isinstance(each, AnswerBlock) for each in self._of(message))
        for number, block in enumerate(blocks, start=shown):
            self._add(AnswerBlock(f"{message}-block-{number}", message, block))

    def _new_blocks(self, message: Message) -> list[Block]:
        """Return the blocks of an answer without those of its tools, which it has as well."""
        told = [part.block for part in self._parts if isinstance(part, AnswerBlock)]
        return [block for block in message.blocks if block not in told]

    # Parts

    def _of(self, message: str) -> Iterator[AnyAnswerPart]:
        return (part for part in self._parts if part.message == message)

    def _call(self, id: str) -> AnswerCall | None:
        calls = (part for part in reversed(self._parts) if isinstance(part, AnswerCall))
        return next((call for call in calls if call.id == id), None)

    def _add(self, part: AnyAnswerPart) -> None:
        self._parts.append(part)
        self._tell(PartBegan(part))

    def _put(self, old: AnyAnswerPart, new: AnyAnswerPart) -> None:
        self._parts[next(place for place, part in enumerate(self._parts) if part is old)] = new
        self._tell(PartChanged(new))
