"""What clients send, field by field: ids in paths, JSON bodies, and the `Idempotency-Key`, by which one request that
arrives twice is done once. Values that every store must be able to keep are checked by their own types.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Annotated, Any, Literal, Self

from fastapi import Depends, Header
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    StrictBool,
    ValidatorFunctionWrapHandler,
    WithJsonSchema,
    WrapValidator,
    model_validator,
)
from pydantic_core import PydanticCustomError
from starlette.requests import HTTPConnection

from threadkeep.conversation.clock import period
from threadkeep.conversation.facts import SomeFacts, Status
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.ids import Id, check_id
from threadkeep.conversation.parts import MAX_PARTS
from threadkeep.conversation.turn import MOST_LEFT_OUT, BusyPolicy, ClientTool, LeftOut
from threadkeep.conversation.value import JsonObject, check_json, check_text
from threadkeep.errors import ConversationNotFound, InvalidId, InvalidValue
from threadkeep.tools.client import MOST_CLIENT_TOOLS


def _text(given: object) -> object:
    """Check a text; what is none is left to pydantic, whose complaint names the field."""
    return check_text(given) if isinstance(given, str) else given


SentText = Annotated[str, BeforeValidator(_text)]
Seq = Annotated[
    int, Field(strict=True, ge=0, le=2**53, description="The number of an entry; 0 is the place before the first.")
]
# The bounds come before the check of the text, so that they are bounds of a string and not of anything with a length.
Title = Annotated[str, Field(max_length=500, examples=["Holidays"]), BeforeValidator(_text)]
ModelName = Annotated[str, Field(min_length=1, max_length=200, examples=["demo"]), BeforeValidator(_text)]
Lasts = Annotated[
    timedelta | None,
    BeforeValidator(lambda text: None if text is None else period(text), json_schema_input_type=str | None),
    Field(examples=["90d"], description="How long: `90d`, `12h`; none is until it is revoked."),
]
Reason = Annotated[str, Field(max_length=2000), BeforeValidator(_text)]


def _parts_or_text(given: Any, check: ValidatorFunctionWrapHandler) -> Any:
    """Take a list of parts as it is: whoever stores the message checks them."""
    if isinstance(given, str):
        return check(given)
    if isinstance(given, list) and given:
        return check_json(given)
    raise PydanticCustomError("content", "Input should be text or a list of parts")


_PART = {
    "type": "object",
    "required": ["type"],
    "properties": {"type": {"type": "string", "minLength": 1, "maxLength": 64}},
}
Content = Annotated[
    str,
    Field(min_length=1),
    BeforeValidator(_text),
    WrapValidator(_parts_or_text),
    PlainSerializer(lambda content: content),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "minLength": 1},
                {"type": "array", "minItems": 1, "maxItems": MAX_PARTS, "items": _PART},
            ],
            "examples": ["What can you do?"],
        }
    ),
]


def _path_id(text: str) -> str:
    """Return an id; an invalid one is answered like an unknown one."""
    try:
        return check_id(text)
    except InvalidId:
        raise ConversationNotFound from None


ConversationId = Annotated[str, AfterValidator(_path_id)]


class Body(BaseModel):
    """A request body: unknown fields are refused, so that a misspelt one is not silently ignored."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class ChosenBody(Body):
    """A new conversation whose id is in the path; everything is optional, and left aside if it is there already."""

    assistant: Id | None = Field(default=None, examples=["chat"])
    title: Title | None = None
    system: SentText | None = Field(default=None, description="Instructions for this conversation alone.")
    model: ModelName | None = None
    metadata: JsonObject | None = None
    temporary: StrictBool | None = Field(
        default=None, description="Whether it is deleted when it is not used any more."
    )


class CreateBody(ChosenBody):
    """A new conversation; everything is optional. With an `id` of your own it is called by that, which other users may
    have for theirs."""

    id: Id | None = Field(default=None, examples=["chat-1"])


class PatchBody(Body, SomeFacts):
    """What to change; a field that is left out, or null, stays. `assistant` is who answers from the next turn on."""

    model_config = ConfigDict(strict=True)
    title: Title | None = None
    metadata: JsonObject | None = None
    status: Status | None = Field(default=None, strict=False)
    model: ModelName | None = None


class ListParameters(SomeFacts):
    """Which conversations a list is to show, and how many at most."""

    model_config = ConfigDict(extra="ignore")
    title: Title | None = Field(default=None, description="Words of it; the last may be a beginning.")
    shared: bool | None = None
    metadata: list[str] = Field(default=[], max_length=8, description="key=value; several must all hold.")
    limit: int = Field(default=20, ge=1, le=200, description="How many at most.")
    after: str | None = None

    def filters(self) -> dict[str, Any]:
        """Return the fields of a `ListFilter`."""
        pairs = [pair.partition("=") for pair in self.metadata]
        if not all(key and sign for key, sign, _ in pairs):
            raise InvalidValue("Metadata are asked for as key=value.")
        wanted = {key: value for key, _, value in pairs}
        return {**self.model_dump(exclude={"limit", "after", "whole"}), "metadata": wanted}


class OwnListParameters(ListParameters):
    """Which of one's own conversations a list is to show."""

    whole: bool = Field(default=False, description="Show `metadata` and `system`, too; both may be large.")


Tools = Annotated[
    tuple[ClientTool, ...],
    Field(max_length=MOST_CLIENT_TOOLS, description="Tools that the client runs; the turn waits for their results."),
]

WithoutRecall = Annotated[
    tuple[LeftOut, ...],
    Field(max_length=MOST_LEFT_OUT, description="Earlier entries that are not to be recalled for the answer."),
]


class SendBody(Body):
    """A message: text, or a list of parts. `parent` left out continues the head, null begins anew, another entry makes
    a branch. With an `id` of your own the message has that, and is the same one if it is sent again."""

    content: Content
    id: Id | None = None
    parent: Seq | None = None
    expected_head: Seq | None = None
    policy: BusyPolicy | None = None
    tools: Tools = ()
    without_recall: WithoutRecall = ()

    @property
    def place(self) -> int | None:
        """The entry to continue as the store wants it: none for the head, 0 for the root."""
        if "parent" not in self.model_fields_set:
            return None
        return 0 if self.parent is None else self.parent


class FeedbackBody(Body):
    """What somebody thinks of a message; without a rating, what they thought is taken back."""

    rating: Literal["up", "down"] | None
    comment: Reason | None = None


class RegenerateBody(Body):
    """Which answer to make again; left out, the newest."""

    entry: Seq | None = None
    tools: Tools = ()
    without_recall: WithoutRecall = ()


class ApproveBody(Body):
    """A person's answer to a tool call that waits for one."""

    tool_call_id: SentText = Field(min_length=1, max_length=255)
    approved: StrictBool
    reason: Reason | None = None


class ResultBody(Body):
    """What a tool call returned that the client runs, text or any other JSON; or why it failed."""

    tool_call_id: SentText = Field(min_length=1, max_length=255)
    result: Annotated[Any, BeforeValidator(check_json)] = None
    error: SentText | None = Field(default=None, min_length=1)

    @model_validator(mode="after")
    def _has_one(self) -> Self:
        if ("result" in self.model_fields_set) == (self.error is not None):
            raise PydanticCustomError("result", "There should be either a result or an error")
        return self


class HeadBody(Body):
    """The entry that becomes the head; 0 is the root."""

    head: Seq


def canonical_body(body: BaseModel) -> dict[str, Any]:
    """Return a body as the JSON that an idempotency key is compared by."""
    return body.model_dump(mode="json", exclude_unset=True)


Given = Annotated[str | None, Header(description="1 to 255 characters; the same key and body is done only once.")]


async def _keyed(
    connection: HTTPConnection, idempotency_key: Given = None
) -> Callable[[str, Any], IdempotencyKey | None]:
    """Return a function that makes the key for a route and a body, None if the client sent none."""
    if len(connection.headers.getlist("idempotency-key")) > 1:
        raise InvalidValue("A request has one Idempotency-Key at most.")
    given = None if idempotency_key is None else _as_text(idempotency_key)
    if given is not None and not 1 <= len(given) <= 255:
        raise InvalidValue("An Idempotency-Key has 1 to 255 characters.")

    def key(route: str, body: Any) -> IdempotencyKey | None:
        return None if given is None else IdempotencyKey.of(route, given, body)

    return key


def _as_text(header: str) -> str:
    """Return a header, which arrives decoded as Latin-1, as UTF-8 if it is that."""
    try:
        return header.encode("latin-1").decode()
    except UnicodeError:
        return header


Key = Annotated[Callable[[str, Any], IdempotencyKey | None], Depends(_keyed)]


def replay_headers(replayed: bool) -> dict[str, str]:
    """Return the header that says that a request was done before."""
    return {"Idempotency-Replayed": "true"} if replayed else {}
