"""What a loop elsewhere sends and gets, field by field."""

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, StrictInt

from threadkeep.conversation.blocks import AnyBlock
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.ids import Id
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult, Usage
from threadkeep.conversation.parts import split_text
from threadkeep.conversation.turn import Failure, TurnState
from threadkeep.conversation.value import JsonObject
from threadkeep.server.requests import Body, Content, ModelName, Reason, SendBody, SentText, Seq
from threadkeep.server.responses import Shown

MOST_ENTRIES = 1000


class BeginBody(SendBody):
    """The message that a turn answers; without content it answers what `parent`, or the head, says. `id` is that of the
    message, `turn_id` one of your own for the turn."""

    content: Content | None = None  # type: ignore[assignment]
    turn_id: Id | None = Field(default=None, examples=["run-1"])


class DraftBody(Body):
    """More of the message that is being written, behind the first `offset` characters of it."""

    offset: Annotated[StrictInt, Field(ge=0, le=2**53)]
    text: SentText = Field(min_length=1)
    reasoning: bool = False
    message: Id | None = Field(default=None, description="The id that the message gets; taken with its first text.")


class TextLine(Body):
    """More of the answer; only in a stream."""

    type: Literal["text", "reasoning"]
    text: SentText


class MessageEntry(Body):
    """A whole message of any role."""

    type: Literal["message"]
    role: Role
    content: Content | Literal[""] = ""
    id: Id | None = None
    blocks: list[AnyBlock] = Field(default=[], max_length=64)
    tool_calls: list[ToolCall] = Field(default=[], max_length=64)
    tool_result: ToolResult | None = None
    usage: Usage | None = None
    model: ModelName | None = None

    def message(self) -> Message:
        """Return it as it is to be stored."""
        given: str | list[Any] = self.content
        text, parts = (given, ()) if isinstance(given, str) else split_text(given)
        said: dict[str, Any] = {name: tuple(getattr(self, name)) for name in ("blocks", "tool_calls")}
        about: dict[str, Any] = {name: getattr(self, name) for name in ("tool_result", "usage", "model")}
        named: dict[str, Any] = {} if self.id is None else {"id": self.id}
        return Message(role=self.role, content=text, parts=parts, **named, **said, **about)


class CallEntry(Body):
    """A tool is called: stored before it may run. Calls that follow each other are made at once."""

    type: Literal["call"]
    id: SentText | None = Field(default=None, min_length=1, max_length=255)
    name: SentText = Field(min_length=1, max_length=64)
    args: JsonObject = Field(default_factory=dict)


class ResultEntry(Body):
    """What a tool returned."""

    type: Literal["result"]
    call: SentText = Field(min_length=1, max_length=255)
    content: SentText = ""
    error: SentText | None = None
    duration_ms: int | None = Field(default=None, ge=0)
    blocks: list[AnyBlock] = Field(default=[], max_length=64)


class BlockEntry(Body):
    """A block at the end of the answer so far."""

    type: Literal["block"]
    block: AnyBlock


class StateEntry(Body):
    """A change of the conversation's state."""

    type: Literal["state"]
    set: JsonObject = Field(default_factory=dict)
    unset: list[SentText] = Field(default=[], max_length=1000)


class UsageEntry(Body):
    """What a call of a model cost; kept with the message that comes next in this request."""

    type: Literal["usage"]
    usage: Usage
    model: ModelName | None = None


Item = Annotated[
    MessageEntry | CallEntry | ResultEntry | BlockEntry | StateEntry | UsageEntry, Field(discriminator="type")
]


class EntriesBody(Body):
    """What a turn adds, in order; nothing, to keep it while a tool takes long."""

    entries: list[Item] = Field(max_length=MOST_ENTRIES)


class HistoryBody(Body):
    """Messages from elsewhere that nobody answers, in order."""

    entries: list[MessageEntry] = Field(min_length=1, max_length=MOST_ENTRIES)
    parent: Seq | None = None


class SettleBody(Body):
    """How a turn ends, or that it waits for a person to decide about `calls`."""

    state: Literal["completed", "failed", "cancelled", "interrupted", "waiting"]
    detail: Reason | None = None
    failure: Failure | None = None
    usage: Usage | None = Field(default=None, description="What the model call for the last message cost.")
    model: ModelName | None = None
    calls: list[SentText] = Field(default=[], max_length=64)


class SettleLine(SettleBody):
    """The end of a turn; only in a stream."""

    type: Literal["settle"]


Line = Annotated[
    TextLine | MessageEntry | CallEntry | ResultEntry | BlockEntry | StateEntry | UsageEntry | SettleLine,
    Field(discriminator="type"),
]


class ShownDraft(Shown):
    """The message that is being written: `offset` is where to go on."""

    message: str
    offset: int
    text: str
    reasoning: str
    started_at: datetime


class ShownDecision(Shown):
    """What a person decided about a call."""

    tool_call_id: str
    approved: bool
    reason: str | None


class ShownLoop(Shown):
    """A turn of a loop elsewhere: its number, the id that was chosen for it, and how it is. Whoever began it or took it
    up gets the `token` that the other requests show, and keeps the turn by any of them for `lease_seconds`."""

    turn: int
    id: str | None = None
    state: TurnState
    token: str | None = None
    lease_seconds: int | None = None
    draft: ShownDraft | None = None
    decisions: list[ShownDecision] = Field(default_factory=list)


class Written(Shown):
    """How much is stored of the message that is being written."""

    offset: int


class AddedEntry(Shown):
    """An entry that was added."""

    seq: int
    kind: str
    id: str | None

    @classmethod
    def of(cls, entry: Entry) -> "AddedEntry":
        body: Any = entry.body
        return cls(seq=entry.seq, kind=body.kind, id=body.id if isinstance(body, Message) else None)


class Added(Shown):
    """The entries of the turn that stand behind those that were there, or, without a turn, those that were added."""

    entries: list[AddedEntry]
