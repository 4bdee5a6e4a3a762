"""The contract of a language model: a request in, a stream of typed deltas out. Vendors' types stay behind it.

There is one way to call a model, streaming. A model does not retry and does not remember: the engine does. What it
raises is a `ModelError`, before or in the middle of the stream; an error that may be tried again says so (`can_retry`).
"""

from abc import ABC, abstractmethod
from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Any

from threadkeep.conversation.message import Message, Usage
from threadkeep.llm.options import DEFAULTS, ModelOptions


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as a model sees it. `parameters` is the JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of a model: the context, valid for every provider, the tools that it may call (maybe none), and options.

    A model that cannot do what an option asks for raises ModelRefused; a scripted one has no use for them.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    options: ModelOptions = DEFAULTS


@dataclass(frozen=True, slots=True)
class Text:
    """Some more of the answer; never empty."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class CallPart:
    """A part of a tool call. Parts with one `index` belong together; `args` are pieces of one JSON text."""

    index: int
    id: str | None = None
    name: str | None = None
    args: str = ""


@dataclass(frozen=True, slots=True)
class Used:
    """Tokens that the provider counted for this call."""

    usage: Usage


@dataclass(frozen=True, slots=True)
class Stopped:
    """Why the model stopped, in the provider's word: "stop", "length", "tool_calls", "content_filter" or another."""

    reason: str


Delta = Text | CallPart | Used | Stopped


class Model(ABC):
    """A language model that answers requests."""

    name: str
    """The name that a user would write, such as `openai:gpt-5` or `demo`."""
    window: int = 128_000
    """How many tokens a request may have, answer included."""
    is_scripted: bool = False
    """Whether the answers come from a script. It is said wherever such a model speaks."""

    @abstractmethod
    def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Answer a request. Closing the iterator stops the call at once and frees what it holds.

        A stream that ends without `Stopped` was cut off.
        """
