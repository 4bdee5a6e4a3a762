"""The contract of a language model: a request in, a stream of typed deltas out. Vendors' types stay behind it.

There is one way to call a model: streaming. A model neither retries nor remembers; the engine does. It raises a
`ModelError`, before or in the middle of the stream, whose `can_retry` says whether another attempt makes sense.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from hashlib import blake2s
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, ValidationError

from threadkeep.conversation.message import Message, Usage
from threadkeep.conversation.parts import Attachment
from threadkeep.conversation.value import Text as ValidText
from threadkeep.conversation.value import Value
from threadkeep.errors import FileNotFound, InvalidValue

trace_parent: ContextVar[str | None] = ContextVar("trace_parent", default=None)
"""The `traceparent` of the request that began the turn, sent to providers; None unless traces are collected."""


class ModelOptions(Value):
    """Options of a model call; the provider's default is used for one that is not given.

    How a provider names an option, and whether it has it, is decided where the provider is called. The descriptions are
    shown in the documentation.
    """

    temperature: float | None = Field(
        default=None, ge=0, le=2, description="how freely words are chosen, 0 to 2 (Anthropic: 1)"
    )
    top_p: float | None = Field(
        default=None, gt=0, le=1, description="choose among the likeliest words that make up this share, up to 1"
    )
    max_tokens: int | None = Field(
        default=None, ge=1, le=10_000_000, description="where an answer is cut off, in tokens, thinking included"
    )
    stop: Annotated[
        tuple[Annotated[ValidText, Field(min_length=1, max_length=200)], ...],
        BeforeValidator(lambda given: (given,) if isinstance(given, str) else given),
    ] = Field(default=(), max_length=4, description="up to four texts before which an answer ends")
    seed: int | None = Field(
        default=None, ge=0, lt=2**31, description="the same number makes the same answer likelier (not Anthropic)"
    )
    reasoning_effort: Literal["none", "minimal", "low", "medium", "high", "xhigh", "max"] | None = Field(
        default=None, description="how long a model that reasons may think: `low`, `medium`, `high` or another it has"
    )

    @classmethod
    def read(cls, given: Any) -> Self:
        """Return options given as JSON. Raises InvalidValue that names what is wrong."""
        try:
            return cls.model_validate(given)
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            place = ".".join(map(str, ("options", *first["loc"])))
            raise InvalidValue(f"{place}: {first['msg']}. The options are: {', '.join(cls.model_fields)}.") from None

    @classmethod
    def of(cls, metadata: Mapping[str, Any]) -> Self:
        """Return the options in the metadata of a conversation. Raises InvalidValue if they are not valid."""
        return cls.read(metadata.get("model_options", {}))

    @property
    def given(self) -> dict[str, Any]:
        """The options that differ from the provider's default, by name."""
        return self.model_dump(exclude_defaults=True)

    def over(self, base: "ModelOptions") -> "ModelOptions":
        """Return these options, completed with those of the base."""
        return base.model_copy(update=self.given)


DEFAULTS = ModelOptions()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSpec:
    """A tool as a model sees it. `parameters` is the JSON schema of an object."""

    name: str
    description: str
    parameters: dict[str, Any]

    @property
    def digest(self) -> str:
        """A digest that changes with any part of this definition."""
        whole = json.dumps([self.name, self.description, self.parameters], sort_keys=True, default=str)
        return blake2s(whole.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


FileReader = Callable[[Attachment], Awaitable[bytes]]
"""Returns the bytes of an attached file as a model gets them; `FileNotFound` if there is no such file."""
MOST_FILES = 20_000_000
"""How many bytes of files one request holds; in base64, every provider takes so many."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One call of a model: the context, valid for every provider, the tools that it may call, and options.

    `read_file` gives the bytes of attached files. A model that does not support a given option raises ModelRefused; a
    scripted one ignores options. Messages of a history are the same objects in the next request of a branch, as long as
    they say the same.
    """

    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    options: ModelOptions = DEFAULTS
    read_file: FileReader | None = None


async def loaded_files(request: Request) -> dict[str, bytes]:
    """Return the bytes of the attached files of a request, by their ids: the newest, up to `MOST_FILES` bytes, without
    those that no longer exist."""
    loaded: dict[str, bytes] = {}
    if request.read_file is None:
        return loaded
    for part in (part for message in reversed(request.messages) for part in reversed(message.parts)):
        if isinstance(part, Attachment) and part.file not in loaded:
            with suppress(FileNotFound):
                data = await request.read_file(part)
                if sum(map(len, loaded.values())) + len(data) > MOST_FILES:
                    break
                loaded[part.file] = data
    return loaded


@dataclass(frozen=True, slots=True)
class Text:
    """Some more of the answer; never empty."""

    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Reasoned:
    """Some more reasoning. A `payload` ends a piece of it: the provider wants it back with the piece. It belongs to the
    tool call with the index `call`, or to the text."""

    text: str = ""
    payload: dict[str, Any] | None = None
    call: int | None = None


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


Delta = Text | Reasoned | CallPart | Used | Stopped


class Model(ABC):
    """A language model that answers requests."""

    name: str
    """The name that a user would write, such as `openai:gpt-5` or `demo`."""
    window: int = 128_000
    """How many tokens a request may have, answer included."""
    cached_from: int = 1024
    """From how many tokens on the beginning of a request is cheaper when it comes again; 0: always."""
    accepts: frozenset[str] = frozenset()
    """What it takes besides text: `image`, `audio`, `pdf`; `tool image` and `tool pdf` in the result of a tool."""
    is_scripted: bool = False
    """Whether the answers come from a script, which people are then told."""

    @abstractmethod
    def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Answer a request. Closing the iterator stops the call at once and frees what it holds.

        A stream that ends without `Stopped` was cut off.
        """

    async def close(self) -> None:  # noqa: B027 - most models keep nothing
        """Free what is kept for the next call, such as connections. The model can be used again afterwards."""
