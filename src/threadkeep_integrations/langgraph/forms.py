"""Values of a graph as JSON, and back: plain JSON as it is, LangChain's messages as their fields, everything else as
LangGraph's own serializer writes it.

A form is an object with one key: `json`, `message` (a kind and its fields), `list` (forms), or `bytes` (a type and
base64). What comes out of it is plain JSON, one of the messages named here, or what the serializer allows: nothing in
a log can name another class.
"""

from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from operator import attrgetter
from random import randrange
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

Form = dict[str, Any]
MESSAGES: Final[Mapping[str, type[BaseMessage]]] = {
    "ai": AIMessage,
    "human": HumanMessage,
    "system": SystemMessage,
    "tool": ToolMessage,
}
_KINDS = {kind: name for name, kind in MESSAGES.items()}
_LARGEST = 2**63
_DEEPEST = 50
SAFE_TYPES = frozenset(("null", "bytes", "bytearray", "msgpack"))
"""What LangGraph's serializer writes without pickle. `json`, an older form, can name classes, and is not read."""


class FormError(ValueError):
    """A form that nobody of us wrote."""


class StrictSerializer(JsonPlusSerializer):
    """LangGraph's serializer, which makes objects of types that it knows and of those `allowed`, and of no others: the
    rest comes back as plain values, with a warning."""

    def __init__(self, allowed: Any = ()) -> None:
        names = [(each.__module__, each.__name__) if isinstance(each, type) else tuple(each) for each in allowed]
        super().__init__(pickle_fallback=False, allowed_msgpack_modules=names or None)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        if data[0] not in SAFE_TYPES:
            raise FormError(f"The type {data[0]} is not read.")
        return super().loads_typed(data)


def form_of(value: Any, serde: SerializerProtocol) -> Form:
    """Return a value as a form."""
    if type(value) is list and value and type(value[0]) in _KINDS:
        return {"list": [form_of(each, serde) for each in value]}
    if (kind := _KINDS.get(type(value))) is not None:
        fields = value.model_dump(exclude_defaults=True)
        if is_plain(fields):
            return {"message": [kind, fields]}
    elif is_plain(value):
        return {"json": value}
    type_, raw = serde.dumps_typed(value)
    return {"bytes": [type_, b64encode(raw).decode()]}


def value_of(form: Form, serde: SerializerProtocol) -> Any:
    """Return the value of a form, with nothing in it that others hold."""
    match form:
        case {"json": value}:
            return copied(value)
        case {"message": [str(kind), dict(fields)]} if kind in MESSAGES:
            return MESSAGES[kind](**copied(fields))
        case {"list": [*forms]}:
            return [value_of(each, serde) for each in forms]
        case {"bytes": [str(type_), str(text)]}:
            return serde.loads_typed((type_, b64decode(text)))
        case _:
            raise FormError("not a form")


def is_plain(value: Any, depth: int = 0) -> bool:
    """Whether a value is JSON that comes back the same: of these very types, and no class that is derived from them."""
    kind = type(value)
    if kind is str or kind is bool or value is None:
        return True
    if kind is int:
        return bool(-_LARGEST <= value < _LARGEST)
    if kind is float:
        return bool(value - value == 0)
    if kind not in (list, dict) or depth >= _DEEPEST:
        return False
    if kind is dict and any(type(key) is not str for key in value):
        return False
    for each in value if kind is list else value.values():  # noqa: SIM110 - a generator takes twice as long
        if not is_plain(each, depth + 1):
            return False
    return True


def copied(value: Any) -> Any:
    """Return JSON with lists and objects of its own."""
    if type(value) is dict:
        return {key: copied(each) for key, each in value.items()} if value else {}
    if type(value) is list:
        return [copied(each) for each in value] if value else []
    return value


class Item:
    """One element of a list: its form, and the entry of the message that shows it to people (0: there is none)."""

    __slots__ = ("entry", "extra", "fields", "form", "given")

    def __init__(self, form: Form, entry: int = 0) -> None:
        self.form = form
        self.entry = entry
        self.given: Any = None
        self.fields: dict[str, Any] = {}
        self.extra: dict[str, Any] | None = None

    def value(self, serde: SerializerProtocol) -> Any:
        """Return the element as an object: a message that was `given` again, if its `fields` are what they were."""
        given = self.given
        if given is not None and given.__dict__ == self.fields and given.__pydantic_extra__ == self.extra:
            return given
        value = value_of(self.form, serde)
        if "message" in self.form:
            self.given, same = value, value_of(self.form, serde)
            self.fields, self.extra = same.__dict__, same.__pydantic_extra__
        return value


_given, _fields, _extra, _dict_of, _extra_of = map(
    attrgetter, ("given", "fields", "extra", "__dict__", "__pydantic_extra__")
)


_NEWEST, _EACH = 256, 8


def values_of(items: Sequence[Item], serde: SerializerProtocol) -> list[Any]:
    """Return all elements as objects. Of messages that were given before, the newest and some of the others are held
    against what they were; if one was changed, all are. Looking at each would take longer than all that a graph does
    with a long list; LangGraph asks of nodes to change nothing in place, and what is stored is never what they hold."""
    given = [*map(_given, items)]
    if not all(given):
        for item in items:
            if item.given is None and "message" in item.form:
                item.value(serde)
        given = [*map(_given, items)]
    start = randrange(_EACH)  # noqa: S311
    same = all(given) and all(_are_the_same(items[part], given[part]) for part in (_TAIL, slice(start, None, _EACH)))
    return given if same else [item.value(serde) for item in items]


_TAIL = slice(-_NEWEST, None)


def _are_the_same(items: Sequence[Item], given: Sequence[Any]) -> bool:
    is_same = [*map(_dict_of, given)] == [*map(_fields, items)]
    return is_same and [*map(_extra_of, given)] == [*map(_extra, items)]
