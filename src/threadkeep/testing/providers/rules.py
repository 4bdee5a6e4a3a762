"""What the validators share: a refusal that names its rule, and the texts and names that all of them check."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

from threadkeep.conversation.message import MessageStatus
from threadkeep.conversation.parts import Attachment, Reasoning
from threadkeep.llm.base import ModelOptions, Request


class ProviderRefusal(AssertionError):
    """A provider would refuse this request; `rule` is the name of the rule that is broken."""

    def __init__(self, provider: str, rule: str, sentence: str, where: str) -> None:
        super().__init__(f"{provider} refuses {where}: {sentence} (rule {rule!r})")
        self.provider = provider
        self.rule = rule


class Rules:
    """The rules of one provider, by name, each a sentence."""

    def __init__(self, provider: str, sentences: Mapping[str, str]) -> None:
        self.provider = provider
        self.sentences = sentences

    def require(self, holds: bool, rule: str, where: str) -> None:
        """Raise a refusal if the rule does not hold there."""
        if not holds:
            raise ProviderRefusal(self.provider, rule, self.sentences[rule], where)


FOREIGN = "Reasoning is sent back whole and as it came, to the model that made it."


def check_reasoning(rules: Rules, request: Request, *shapes: str) -> None:
    """Require that all reasoning of a request is of one model, finished, and has a payload of one of these shapes."""
    models = set()
    for place, message in enumerate(request.messages):
        for part in message.parts:
            if isinstance(part, Reasoning):
                models.add(part.model)
                is_whole = message.status is MessageStatus.COMPLETE and bool((part.payload or {}).keys() & set(shapes))
                rules.require(is_whole and len(models) == 1, "foreign", f"messages[{place}]")


FILE = "A file is an image (PNG, JPEG, GIF, WebP), a recording (MP3, WAV) or a PDF, and no larger than 50 MB."
_TYPES = {"image": "png jpeg gif webp", "audio": "mpeg mp3 wav x-wav", "file": "pdf"}


def check_files(rules: Rules, request: Request) -> None:
    """Require that every attachment of a request is of a type and a size that the provider takes."""
    for place, message in enumerate(request.messages):
        for part in message.parts:
            if isinstance(part, Attachment):
                is_known = part.media_type.partition("/")[2] in _TYPES[part.type].split()
                rules.require(is_known and (part.size or 0) <= 50_000_000, "file", f"messages[{place}]")


def texts_in(value: Any) -> Iterator[str]:
    """Return every string of a JSON value, keys included."""
    match value:
        case str():
            yield value
        case dict():
            for key, child in value.items():
                yield key
                yield from texts_in(child)
        case list():
            for child in value:
                yield from texts_in(child)


def is_plain_text(value: Any) -> bool:
    """Whether every string of a JSON value is valid Unicode without U+0000."""
    return not any("\x00" in text or re.search("[\ud800-\udfff]", text) for text in texts_in(value))


def renamed(options: ModelOptions, **names: str) -> dict[str, Any]:
    """Return the options that are given under a provider's own names, the same ones where none is named."""
    return {
        names.get(name, name): list(value) if isinstance(value, tuple) else value
        for name, value in options.given.items()
    }


def is_between(value: Any, least: float, most: float) -> bool:
    """Whether an option is not given, or a number within these bounds."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value is None or (is_number and least <= value <= most)


def says_something(text: object) -> bool:
    """Whether this is a text with more than white space."""
    return isinstance(text, str) and bool(text.strip())
