"""How events look to clients, for OpenAPI: made of the events themselves, so that no event and no field is missing.

It describes; nothing is checked against it when an event is written. `event_json` writes what stands here.
"""

from types import NoneType, UnionType
from typing import Annotated, Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Field, RootModel, create_model
from pydantic.json_schema import models_json_schema
from typing_extensions import TypedDict  # pydantic wants this one before Python 3.12

from threadkeep.conversation import events
from threadkeep.conversation.blocks import AnyBlock, Block
from threadkeep.conversation.event_json import NAMES, UNFOLDED
from threadkeep.conversation.message import Message
from threadkeep.conversation.parts import Part
from threadkeep.server.responses import ListedConversation, Shown, ShownContent, ShownParts

_HIDDEN = {"kind", "depth", "shares"}
_OPTIONAL = {"detail", "usage", "failure", "parts", "client_calls", "result", "error"}
"""Fields that are left out when there is nothing to say."""
UNPLACED = (events.ReadersCounted, events.TurnRetrying, events.SpoolChanged)
"""What is in no log, and has no place in it."""


def _either(schema: dict[str, Any]) -> None:
    """Use `anyOf`: a block of a known kind also fits the schema of an unknown kind."""
    schema["anyOf"] = schema.pop("oneOf")


_SHOWN: dict[Any, Any] = {
    Message: ShownContent,
    Message | None: ShownContent | None,
    tuple[Part, ...]: ShownParts,
    Block: Annotated[AnyBlock, Field(json_schema_extra=_either)],
}


def fields_of(kind: type) -> dict[str, Any]:
    """Return the fields of an event as clients get them, with their types."""
    fields: dict[str, Any] = {"type": Literal[NAMES[kind]]}
    for name, hint in get_type_hints(kind).items():
        if name in UNFOLDED:
            inside = {each: field.annotation for each, field in hint.model_fields.items() if each not in _HIDDEN}
            optional = set(inside) if name == "update" else _OPTIONAL if name == "approval" else set()
            fields |= {each: _given(of) if each in optional else of for each, of in inside.items()}
        elif (kind, name) != (events.TurnEnded, "state"):
            shown = _SHOWN.get(hint, hint)
            fields[name] = _given(shown) if name in _OPTIONAL else shown
    return fields if kind in UNPLACED else {**fields, "position": NotRequired[int]}


def _given(hint: Any) -> Any:
    """Return the type of a field that is left out instead of being null."""
    if get_origin(hint) in (UnionType, Union):
        hint = Union[tuple(each for each in get_args(hint) if each is not NoneType)]  # noqa: UP007 - of any number
    return NotRequired[hint]


_PLACE = "#/components/schemas/{model}"
_typed: Any = TypedDict


def _shape(kind: type) -> Any:
    made = _typed(kind.__name__, fields_of(kind))
    made.__doc__ = kind.__doc__
    return made


class StreamFailed(Shown):
    """The stream cannot go on: the last event of one."""

    type: Literal["error"]
    code: str
    detail: str


class ConversationListed(ListedConversation):
    """A conversation is new in the list, or has changed."""

    type: Literal["conversation.created", "conversation.updated"]
    turn: Literal["running", "waiting"] | None


class ListedTurn(Shown):
    """A turn runs or waits in a conversation, or the conversation is gone."""

    type: Literal["conversation.running", "conversation.waiting", "conversation.deleted"]
    id: str


def _any_of(name: str, kinds: list[Any], about: str) -> Any:
    union: Any = Annotated[Union[tuple(kinds)], Field(discriminator="type")]  # noqa: UP007 - of any number
    return create_model(name, __base__=RootModel[union], __doc__=about)


ConversationEvent = _any_of(
    "ConversationEvent", [*map(_shape, NAMES), StreamFailed], "The data of an event of a conversation or a turn."
)
ListEvent = _any_of("ListEvent", [ConversationListed, ListedTurn, StreamFailed], "The data of an event of the list.")


def stream_of(events: type[BaseModel]) -> dict[str, Any]:
    """Return the content of an answer that streams such events, as OpenAPI 3.2 describes it."""
    data = {"$ref": _PLACE.format(model=events.__name__)}
    text = {"type": "string"}
    shape = {"event": text, "data": {**text, "contentMediaType": "application/json", "contentSchema": data}, "id": text}
    return {"text/event-stream": {"itemSchema": {"type": "object", "properties": shape, "required": ["event", "data"]}}}


def event_schemas() -> dict[str, Any]:
    """Return the shapes of all events by their names, for the components of the document."""
    kinds: Any = [(ConversationEvent, "serialization"), (ListEvent, "serialization")]
    schemas: dict[str, Any] = models_json_schema(kinds, ref_template=_PLACE)[1]["$defs"]
    return schemas
