"""Parts: what a message has besides its text: pictures, files, reasoning, citations, data.

The text of a message is its `content`, one string. Each part says how many characters of it stand before it (`at`), so
that text is kept once and a message of plain text has no parts at all. A part keeps every field that it was given, also
of a type that this release does not know. The bytes of a file are never in a message: an attachment names it.
"""

import unicodedata
from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    TypeAdapter,
    ValidationError,
    WrapValidator,
    model_validator,
)

from threadkeep.conversation.ids import Id
from threadkeep.conversation.value import JsonObject, Text, Value, check_json, check_text
from threadkeep.errors import InvalidInput, InvalidPart, TooManyParts

MAX_PARTS = 100
MAX_NAME = 255
BETWEEN_TEXTS = "\n\n"
"""What stands between two texts that were sent as parts of their own."""


def _is_missing(value: object) -> bool:
    return value is None or value == ""


def check_file_name(name: object) -> str:
    """Return the name of a file if it is safe to show: no path, no control or bidirectional characters."""
    text = check_text(name)
    if len(text) > MAX_NAME or text in (".", "..") or any(mark in text for mark in "/\\"):
        raise InvalidPart(f"The name of a file has at most {MAX_NAME} characters and is no path.")
    if any(unicodedata.category(character) in ("Cc", "Cf", "Zl", "Zp") for character in text):
        raise InvalidPart("The name of a file has no control characters.")
    return text


def safe_file_name(name: str) -> str:
    """Return the name if it is a valid one, else an empty text."""
    try:
        return check_file_name(name)
    except InvalidInput:
        return ""


class Part(Value):
    """A part of a message, of any type; further fields are kept as they are."""

    model_config = ConfigDict(frozen=True, extra="allow")
    type: Text = Field(min_length=1, max_length=64)
    at: int = Field(default=0, ge=0, exclude_if=lambda at: not at)

    @model_validator(mode="before")
    @classmethod
    def _is_json(cls, fields: Any) -> Any:
        return fields if isinstance(fields, Part) else check_json(fields)


class Attachment(Part):
    """A stored file, by its id; `image` is one to look at, `audio` one to listen to, `file` any other.

    `sha256` is the digest of its bytes. `extract` is its text, read when its message was accepted, for search and for
    models that take no files.
    """

    type: Literal["image", "audio", "file"]
    file: Id
    name: Annotated[str, BeforeValidator(check_file_name)] = Field(default="", exclude_if=_is_missing)
    media_type: Annotated[Text, Field(pattern=r"^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/[a-z0-9][a-z0-9!#$&^_.+-]{0,63}$")] = (
        "application/octet-stream"
    )
    size: int | None = Field(default=None, ge=0, exclude_if=_is_missing)
    sha256: Text = Field(default="", pattern="^([0-9a-f]{64})?$", exclude_if=_is_missing)
    extract: Text = Field(default="", exclude_if=_is_missing)

    @property
    def label(self) -> str:
        """The attachment in words, for models that cannot take it."""
        size = "" if self.size is None else f", {self.size:,} bytes"
        return f"{self.type} {self.name or self.file} ({self.media_type}{size})"


Kind = Literal["image", "audio", "file"]


def attachment_kind(media_type: str) -> Kind:
    """Return which kind of attachment a file of this type is. An SVG is a document: it may hold scripts, and no model
    looks at one."""
    if media_type == "image/svg+xml":
        return "file"
    found: dict[str, Kind] = {"image": "image", "audio": "audio"}
    return found.get(media_type.partition("/")[0], "file")


class Reasoning(Part):
    """What a model thought before it answered, as far as it shows that, and how many seconds it took.

    `payload` is the provider's own form of it, sent back unchanged to the same `model` only. `call` is the id of the
    tool call that it stands before, unless it stands before all of them.
    """

    type: Literal["reasoning"] = "reasoning"
    text: Text = Field(default="", exclude_if=_is_missing)
    duration: float | None = Field(default=None, ge=0, allow_inf_nan=False, exclude_if=_is_missing)
    model: Text | None = Field(default=None, exclude_if=_is_missing)
    payload: JsonObject | None = Field(default=None, exclude_if=_is_missing)
    call: Text | None = Field(default=None, exclude_if=_is_missing)


class CitationPart(Part):
    """Where a statement comes from."""

    type: Literal["citation"] = "citation"
    source: Text
    title: Text | None = Field(default=None, exclude_if=_is_missing)
    text: Text | None = Field(default=None, exclude_if=_is_missing)


class Data(Part):
    """Something for programs to read."""

    type: Literal["data"] = "data"
    data: JsonObject


class Raw(Part):
    """What a program of another form keeps beside a message, to get back what it gave: neither models nor people are
    shown it. `of` names the form; `texts` are places in `items` where text of the message belongs."""

    type: Literal["raw"] = "raw"
    of: Text
    items: list[Any]
    texts: list[Any] = Field(default_factory=list, exclude_if=lambda texts: not texts)


_STORED: dict[str, tuple[type[Part], dict[str, Any], set[str]]] = {
    name: (
        kind,
        {field: info.get_default(call_default_factory=True) for field, info in kind.model_fields.items()},
        {field for field, info in kind.model_fields.items() if info.is_required()},
    )
    for name, kind in (
        ("image", Attachment),
        ("audio", Attachment),
        ("file", Attachment),
        ("reasoning", Reasoning),
        ("raw", Raw),
    )
}


def stored_part(fields: dict[str, Any]) -> Part | None:
    """Return a stored part without checking it again, which would take most of the time of reading a message with an
    image; None if it has an unusual shape."""
    kind, defaults, required = _STORED.get(fields.get("type", ""), (None, {}, set[str]()))
    whole = defaults | fields
    if kind is None or len(whole) != len(defaults) or not required <= fields.keys():
        return None
    part = kind.adopt(whole)
    object.__setattr__(part, "__pydantic_extra__", {})
    return part


_TAGS = {"image": "attachment", "audio": "attachment", "file": "attachment"} | {
    name: name for name in ("reasoning", "citation", "data", "raw")
}


def _tag(value: Any) -> str:
    kind = value.get("type") if isinstance(value, dict) else getattr(value, "type", None)
    return _TAGS.get(kind, "other") if isinstance(kind, str) else "other"


AnyPart = Annotated[
    Annotated[Attachment, Tag("attachment")]
    | Annotated[Reasoning, Tag("reasoning")]
    | Annotated[CitationPart, Tag("citation")]
    | Annotated[Data, Tag("data")]
    | Annotated[Raw, Tag("raw")]
    | Annotated[Part, Tag("other")],
    Discriminator(_tag),
]


def _check_parts(given: Any, check: Any) -> Any:
    """Check parts, and raise an error of our own tree if one is wrong."""
    if isinstance(given, list | tuple) and len(given) > MAX_PARTS:
        raise TooManyParts
    try:
        return check(given)
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_input=False, include_context=False)[0]
        place = ".".join(str(step) for step in wrong["loc"])
        raise InvalidPart(f"The part {place} is not valid: {wrong['msg']}.") from None


Parts = Annotated[tuple[AnyPart, ...], WrapValidator(_check_parts)]
_PARTS: TypeAdapter[tuple[Part, ...]] = TypeAdapter(Parts)


def split_text(given: Sequence[Any]) -> tuple[str, tuple[Part, ...]]:
    """Split a list of parts, some of them texts, into the content of a message and its other parts."""
    if len(given) > MAX_PARTS:
        raise TooManyParts
    content, beside = "", list[Any]()
    for part in given:
        fields = part.model_dump() if isinstance(part, Part) else part
        if not isinstance(fields, dict):
            raise InvalidPart("A part is an object with a type.")
        if fields.get("type") == "text":
            if set(fields) - {"type", "text", "at"} or not isinstance(fields.get("text"), str):
                raise InvalidPart("A part of the type text has a text and nothing else.")
            text = check_text(fields["text"])
            content += (BETWEEN_TEXTS if content and text else "") + text
        else:
            beside.append(fields | {"at": len(content)})
    if not content and not beside:
        raise InvalidPart("A message has a part that says something.")
    return content, _PARTS.validate_python(beside)


def in_order(content: str, parts: Sequence[Part]) -> Iterator[str | Part]:
    """Yield the text of a message piece by piece, and its parts where they stand."""
    done = 0
    for part in sorted(parts, key=lambda part: part.at):
        at = min(part.at, len(content))
        if at > done:
            yield content[done:at]
            done = at
        yield part
    if content[done:]:
        yield content[done:]
