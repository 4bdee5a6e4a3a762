"""A message: what a person, an assistant, a tool or the instructions said. Its place in the log: see `entry`."""

from collections.abc import Sequence
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from threadkeep.conversation.blocks import AnyBlock
from threadkeep.conversation.ids import Id, new_id
from threadkeep.conversation.parts import Parts, Reasoning
from threadkeep.conversation.value import JsonObject, Moment, Text, Value
from threadkeep.errors import InvalidPart, InvalidValue, UnknownRole

MAX_TOKENS = 2**31 - 1
"""What every store can keep as a number of tokens."""


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"


class MessageStatus(StrEnum):
    """Whether the message was written to its end."""

    COMPLETE = "complete"
    INTERRUPTED = "interrupted"


def check_role(role: object) -> Role:
    """Return the role of that name."""
    try:
        return Role(role)  # type: ignore[arg-type]
    except ValueError:
        raise UnknownRole from None


class ToolCall(Value):
    """An assistant's request to run a tool."""

    id: Text = Field(min_length=1, max_length=255)
    name: Text = Field(min_length=1, max_length=64)
    args: JsonObject = Field(default_factory=dict)


class ToolResult(Value):
    """Which call a tool message answers, and how the call went; the result itself is the message's content."""

    tool_call_id: Text = Field(min_length=1, max_length=255)
    duration_ms: int | None = None
    error: Text | None = None


class Cost(Value):
    """What something cost."""

    amount: Annotated[Decimal, Field(ge=0), PlainSerializer(lambda amount: f"{amount:f}", when_used="json")]
    currency: Text


class Usage(Value):
    """Tokens that a model counted, and their cost if prices were set at the time."""

    input_tokens: int = Field(default=0, ge=0)
    output_tokens: int = Field(default=0, ge=0)
    cached_tokens: int = Field(default=0, ge=0)
    cost: Cost | None = Field(default=None, exclude_if=lambda cost: cost is None)

    @classmethod
    def total(cls, used: Sequence["Usage"]) -> "Usage":
        """Return the sum. It has a cost if all of them have one, in one currency."""
        costs = [usage.cost for usage in used if usage.cost is not None]
        cost = None
        if len(costs) == len(used) and len({cost.currency for cost in costs}) == 1:
            cost = Cost(amount=sum((cost.amount for cost in costs), Decimal()), currency=costs[0].currency)
        return cls(
            input_tokens=sum(usage.input_tokens for usage in used),
            output_tokens=sum(usage.output_tokens for usage in used),
            cached_tokens=sum(usage.cached_tokens for usage in used),
            cost=cost,
        )


class Message(Value):
    """One message: its text is `content`, everything else (files, reasoning, citations) is in `parts`. `tokens` is its
    size for the context; `started_at` is when its first character was written."""

    kind: Literal["message"] = "message"
    id: Id = Field(default_factory=new_id)
    role: Annotated[Role, BeforeValidator(check_role)]
    content: Text = ""
    parts: Parts = Field(default=(), exclude_if=lambda parts: not parts)
    blocks: tuple[AnyBlock, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_result: ToolResult | None = None
    tool_trace: tuple[JsonObject, ...] = ()
    usage: Usage | None = None
    tokens: int | None = Field(default=None, ge=0, le=MAX_TOKENS)
    status: MessageStatus = MessageStatus.COMPLETE
    model: Text | None = None
    started_at: Moment | None = None

    @model_validator(mode="after")
    def _roles_fit(self) -> Self:
        if (self.role is Role.TOOL) != (self.tool_result is not None):
            raise InvalidValue("A tool message, and no other, has a tool_result.")
        if self.tool_calls and self.role is not Role.ASSISTANT:
            raise InvalidValue("Only an assistant message has tool_calls.")
        for part in self.parts:
            if part.at > len(self.content):
                raise InvalidPart("A part stands behind at most as many characters as the text has.")
            if isinstance(part, Reasoning) and self.role is not Role.ASSISTANT:
                raise InvalidPart("Only an assistant message has reasoning.")
        return self
