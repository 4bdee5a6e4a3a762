"""Events: what a reader of a conversation is told. A closed union of values; their names and JSON for clients are in
`event_json`, how they are derived from the log is in `turn/follow.py`."""

from dataclasses import dataclass, field
from datetime import datetime

from threadkeep.conversation.blocks import Block
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Approval, Feedback, Update
from threadkeep.conversation.message import Message, ToolCall, ToolResult, Usage
from threadkeep.conversation.parts import Part
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import Failure, TurnState


@dataclass(frozen=True, slots=True)
class TextDelta:
    """Some more text of the message being written."""

    message: str
    text: str


@dataclass(frozen=True, slots=True)
class ReasoningDelta:
    """Some more of the model's reasoning."""

    message: str
    text: str


@dataclass(frozen=True, slots=True)
class MessageStarted:
    """A message begins to be written."""

    message: str
    turn: int
    started_at: datetime


@dataclass(frozen=True, slots=True)
class MessageCompleted:
    """A message is whole, or cut off for good."""

    message: Message
    seq: int
    parent: int | None
    turn: int | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class ToolCalled:
    """The assistant's message calls a tool."""

    message: str
    call: ToolCall


@dataclass(frozen=True, slots=True)
class ToolReturned:
    """A tool call has a result."""

    result: ToolResult
    content: str
    seq: int
    parent: int | None
    turn: int | None
    created_at: datetime
    parts: tuple[Part, ...] = ()


@dataclass(frozen=True, slots=True)
class BlockAdded:
    """A tool's result shows a block."""

    message: str
    block: Block


@dataclass(frozen=True, slots=True)
class StateChanged:
    """The state of the conversation changed."""

    change: StateChange
    seq: int
    parent: int | None


@dataclass(frozen=True, slots=True)
class TurnQueued:
    """A turn waits for others to end; its message is in no branch yet."""

    turn: int
    seq: int
    message: Message | None


@dataclass(frozen=True, slots=True)
class TurnStarted:
    """A turn runs, or was taken up."""

    turn: int
    seq: int
    detail: str | None


@dataclass(frozen=True, slots=True)
class TurnWaiting:
    """A turn waits for a person to decide about tool calls, or for the results of those that a client runs."""

    turn: int
    seq: int
    calls: tuple[str, ...]
    detail: str | None
    client_calls: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnEnded:
    """A turn is over; `state` says how, `failure` why if it failed."""

    turn: int
    seq: int
    state: TurnState
    usage: Usage | None
    failure: Failure | None
    detail: str | None


@dataclass(frozen=True, slots=True)
class ConversationUpdated:
    """Title, metadata, status or the like changed."""

    update: Update
    seq: int


@dataclass(frozen=True, slots=True)
class HeadChosen:
    """Another entry is the head now."""

    head: int | None
    seq: int


@dataclass(frozen=True, slots=True)
class CallDecided:
    """A person decided about a tool call, or a client gave its result."""

    approval: Approval
    seq: int


@dataclass(frozen=True, slots=True)
class FeedbackGiven:
    """Somebody said what they think of the message that is this entry, or took it back."""

    feedback: Feedback
    entry: int | None
    seq: int


@dataclass(frozen=True, slots=True)
class ReadersCounted:
    """So many readers follow the conversation now. It is in no log."""

    readers: int


@dataclass(frozen=True, slots=True)
class TurnRetrying:
    """The model failed (`code`); in so many seconds it is asked for the `attempt`th time of at most `attempts`. It is
    in no log."""

    turn: int
    attempt: int
    attempts: int
    seconds: float
    code: str


@dataclass(frozen=True, slots=True)
class SpoolChanged:
    """What was sent is in an instance's spool and not yet in the database, or has got there. It is in no log."""

    spooled: bool


Happening = (
    TextDelta
    | ReasoningDelta
    | MessageStarted
    | MessageCompleted
    | ToolCalled
    | ToolReturned
    | BlockAdded
    | StateChanged
    | TurnQueued
    | TurnStarted
    | TurnWaiting
    | TurnEnded
    | ConversationUpdated
    | HeadChosen
    | CallDecided
    | FeedbackGiven
    | ReadersCounted
    | TurnRetrying
    | SpoolChanged
)

_ENDS = (TurnEnded, TurnWaiting)
FEW_WORDS = 256
"""Up to so many characters, about what models send at a time, text events are cached for other readers."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened, with the cursor behind it."""

    what: Happening
    cursor: Cursor = field(default_factory=Cursor)

    @property
    def turn(self) -> int | None:
        """The turn that the event itself names."""
        return getattr(self.what, "turn", None)

    def ends(self, turn: int) -> bool:
        """Whether this is the last event of a turn: it is over, or waits for a person."""
        return isinstance(self.what, _ENDS) and self.what.turn == turn
