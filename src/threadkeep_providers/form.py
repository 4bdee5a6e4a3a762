"""A form: how one kind of provider is asked, and how its answers are read. It knows no network.

What a form wrote of a message is kept, so that a long history costs no more than joining bytes.
"""

import re
from abc import ABC, abstractmethod
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from json import JSONEncoder
from typing import Any

from threadkeep.conversation.message import Message
from threadkeep.conversation.parts import Attachment
from threadkeep.llm.base import Model, ToolSpec
from threadkeep.text.notes import note
from threadkeep_providers.deltas import Reader

MOST_WRITTEN = 16 * 1024 * 1024
"""How many bytes of written messages a model keeps."""

dumps = JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode

Files = Mapping[str, bytes]
"""The bytes of attached files by their ids."""


@dataclass(frozen=True, slots=True)
class Traits:
    """What is known of a model by its name."""

    window: int = Model.window
    accepts: frozenset[str] = frozenset()
    max_output: int = 4_096
    reasons: bool = False


class Form(ABC):
    """How a provider is asked and how it answers.

    - `path`: of requests below the base URL, with the model's name where it belongs there
    - `options`: its names for our options; one that is missing is refused
    - `cached_from`: from how many tokens on the provider keeps the beginning of a request
    - `known`: what is known of models, by patterns of their names, the first that fits
    - `may_write_tags`: whether its models may send reasoning as text between tags
    """

    path: str
    options: Mapping[str, str]
    known: tuple[tuple[re.Pattern[str], Traits], ...]
    cached_from = Model.cached_from
    may_write_tags = False

    def traits(self, model: str) -> Traits:
        """Return what is known of a model."""
        return next((traits for pattern, traits in self.known if pattern.match(model)), Traits())

    @abstractmethod
    def written(self, message: Message, files: Files, tool: str) -> bytes:
        """Return a message in JSON: one value, or several with commas. Pure. A result is of the named `tool`."""

    @abstractmethod
    def body(self, model: str, options: dict[str, Any], history: "History", tools: bytes) -> bytes:
        """Return the body of a request; `tools` are written with commas, empty bytes without tools."""

    @abstractmethod
    def tool(self, tool: ToolSpec) -> dict[str, Any]:
        """Return a tool as the provider wants it."""

    @abstractmethod
    def reader(self) -> Reader:
        """Return what reads the events of one answer."""


History = Sequence[tuple[Message, bytes]]
"""Messages, each with what was written of it."""


class WrittenMessages:
    """What a form wrote of messages, kept by their ids as long as they say the same; the oldest make room.

    Messages with files are written anew: whether a file can be read may change, and they are large.
    """

    def __init__(self, form: Form, most: int = MOST_WRITTEN) -> None:
        self._form = form
        self._most = most
        self._kept: dict[str, tuple[Message, str, bytes]] = {}
        self._size = 0

    def of(self, messages: Iterable[Message], files: Files) -> list[tuple[Message, bytes]]:
        """Return the messages, each with what is written of it."""
        tools: dict[str, str] = {}
        history = []
        for message in messages:
            for call in message.tool_calls:
                tools[call.id] = call.name
            tool = tools.get(message.tool_result.tool_call_id, "unknown") if message.tool_result else ""
            kept = self._kept.get(message.id)
            if kept and _says_the_same(kept[0], message) and kept[1] == tool:
                written = kept[2]
            else:
                written = self._form.written(message, files, tool)
                self._keep(message, tool, written)
            history.append((message, written))
        return history

    def _keep(self, message: Message, tool: str, written: bytes) -> None:
        if message.parts and any(isinstance(part, Attachment) for part in message.parts):
            return
        if before := self._kept.pop(message.id, None):
            self._size -= len(before[2])
        self._kept[message.id] = message, tool, written
        self._size += len(written)
        while self._size > self._most:
            self._size -= len(self._kept.pop(next(iter(self._kept)))[2])


def joined(fields: Mapping[str, Any], **lists: bytes) -> bytes:
    """Return a JSON object of some fields, and of lists whose items are written already; one without items is left
    out."""
    pieces = [dumps(fields)[:-1].encode()]
    for name, items in lists.items():
        if items:
            pieces += [b"," if len(pieces) > 1 or fields else b"", b'"%s":[' % name.encode(), items, b"]"]
    return b"".join([*pieces, b"}"])


def _says_the_same(one: Message, other: Message) -> bool:
    """Whether two messages are written alike."""
    return one is other or (
        one.content == other.content
        and one.role is other.role
        and one.tool_calls == other.tool_calls
        and one.parts == other.parts
        and one.tool_result == other.tool_result
    )


def base64_of(data: bytes) -> str:
    return b64encode(data).decode()


def without_bytes(part: Attachment) -> str:
    """Return the words that stand for a file that cannot be shown."""
    told = note(f"attached {part.label}, which cannot be shown now")
    return f"{told}\n{part.extract}" if part.extract else told
