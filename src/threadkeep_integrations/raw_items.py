"""What a framework keeps of a message in a form of its own, beside our message, so that it gets back what it gave.

It is one part, of the type `raw`, which neither models nor people are shown. Texts that the message has as its content
are left out of it, and known by their places.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from threadkeep.conversation.message import Message
from threadkeep.conversation.parts import Raw
from threadkeep.conversation.value import storable

SHORTEST = 24
"""A text of fewer characters stands where it is: its place would take as much."""
Step = str | int


def raw_part(of: str, items: Sequence[Any], content: str) -> Raw:
    """Return the part that keeps `items` of the framework `of` beside a message with this content."""
    places: list[list[Step]] = []
    kept = [_without(item, [number], content, places) for number, item in enumerate(items)]
    return Raw(of=of, items=kept, texts=places)


def raw_items(message: Message, of: str) -> list[Any] | None:
    """Return what a framework kept beside a message; none if it was written by somebody else."""
    for part in message.parts:
        if isinstance(part, Raw) and part.of == of:
            with suppress(LookupError, TypeError, ValueError):  # an import may have brought anything
                return _whole(part, message.content)
    return None


def plain(value: Any) -> Any:
    """Return a JSON value as every store can keep it: without lone surrogates."""
    match value:
        case str():
            return storable(value)
        case Mapping():
            return {storable(str(key)): plain(each) for key, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case _:
            return value


def _without(value: Any, place: list[Step], content: str, places: list[list[Step]]) -> Any:
    match value:
        case str() if len(value) >= SHORTEST and (at := content.find(value)) >= 0:
            places.append([at, len(value), *place])
            return ""
        case str():
            return value
        case Mapping():
            return {key: _without(each, [*place, key], content, places) for key, each in value.items()}
        case list() | tuple():
            return [_without(each, [*place, number], content, places) for number, each in enumerate(value)]
        case _:
            return value


def _whole(part: Raw, content: str) -> list[Any]:
    items = [_copied(item) for item in part.items]
    for at, length, *steps, last in part.texts:
        inside: Any = items
        for step in steps:
            inside = inside[step]
        inside[last] = content[at : at + length]
    return items


def _copied(value: Any) -> Any:
    match value:
        case dict():
            return {key: _copied(each) for key, each in value.items()}
        case list() | tuple():
            return [_copied(each) for each in value]
        case _:
            return value
