"""A turn: one user message and everything done to answer it. Its number is the `seq` of the entry that opened it."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import Field
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from threadkeep.conversation.ids import Id
from threadkeep.conversation.message import Message, Usage
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.value import JsonObject, Moment, Text, Value
from threadkeep.errors import ThreadkeepError

MOST_LEFT_OUT = 100
"""How many entries one message may keep from being recalled."""


class Failure(Value):
    """Why a turn failed: a stable code of `errors.py`, and a sentence for a person."""

    code: Text
    detail: Text

    @classmethod
    def of(cls, error: ThreadkeepError) -> Self:
        """Return an error as a value that can be stored; characters that no store keeps are escaped."""
        return cls(code=error.code, detail=str(error).encode(errors="backslashreplace").decode())

    def __str__(self) -> str:
        return f"{self.code}: {self.detail}"


class TurnState(StrEnum):
    """Where a turn stands. The first three are open, the others are final."""

    QUEUED = "queued"
    RUNNING = "running"
    WAITING = "waiting"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"
    INTERRUPTED = "interrupted"

    @property
    def is_open(self) -> bool:
        """Whether the turn can still change."""
        return self in (TurnState.QUEUED, TurnState.RUNNING, TurnState.WAITING)


class BusyPolicy(StrEnum):
    """What happens to a message that arrives while a turn is open."""

    QUEUE = "queue"
    REJECT = "reject"
    INTERRUPT = "interrupt"
    ROLLBACK = "rollback"


class ClientTool(Value):
    """A tool that the client runs which sent the message of a turn. `parameters` is the JSON schema of an object."""

    name: Annotated[Text, Field(pattern="^[a-zA-Z0-9_-]{1,64}$")]
    description: Annotated[Text, Field(max_length=8192)] = ""
    parameters: JsonObject = Field(default_factory=lambda: {"type": "object", "properties": {}})


class LeftOut(Value):
    """An entry that is not to be recalled in a turn: of its own conversation, or of another of the same user."""

    entry: Annotated[int, Field(strict=True, ge=1, le=2**53)]
    conversation: Id | None = Field(default=None, exclude_if=lambda id: id is None)


class AnswerOptions(TypedDict, total=False):
    """What can be said of a question that is to be answered: tools that its sender runs, and what not to recall."""

    tools: Sequence[ClientTool | dict[str, Any]]
    without_recall: Sequence[LeftOut | dict[str, Any]]


class SendOptions(AnswerOptions, total=False):
    """What else can be said of a message that is sent: the head that its sender has seen, and an id of its own."""

    expected_head: int | None
    id: str | None


class TurnChange(Value):
    """An entry that records a new state of a turn. While a turn is queued, `message` is its message and `parent` the
    entry to continue, unless that is the head. `calls` are the ids of the tool calls that a person must decide about
    before a waiting turn goes on, `definitions` the digests of their tools' definitions as they were then, and
    `client_calls` are those among them that a client runs. The first change of a turn says whether it is run by a loop
    `outside` of this engine, the `id` that was chosen for it, the `tools` that its client runs, and what it is answered
    `without_recall` of."""

    kind: Literal["turn"] = "turn"
    state: TurnState
    message: Message | None = None
    parent: int | None = None
    usage: Usage | None = None
    failure: Failure | None = None
    detail: Text | None = None
    calls: tuple[Text, ...] = ()
    definitions: tuple[Text, ...] = ()
    outside: bool = Field(default=False, exclude_if=lambda outside: not outside)
    id: Id | None = Field(default=None, exclude_if=lambda id: id is None)
    tools: tuple[ClientTool, ...] = Field(default=(), exclude_if=lambda tools: not tools)
    without_recall: tuple[LeftOut, ...] = Field(default=(), exclude_if=lambda entries: not entries)
    client_calls: tuple[Text, ...] = Field(default=(), exclude_if=lambda calls: not calls)


class Lease(Value):
    """The right to write for a running turn. The fencing number rises whenever the turn changes hands."""

    scope: Scope
    conversation: str
    turn: int
    owner: str
    fence: int


class Turn(Value):
    """A turn that is not settled, as the store knows it."""

    scope: Scope
    conversation: str
    number: int
    state: TurnState
    owner: str | None = None
    fence: int = 0
    until: Moment | None = None
