"""The contract of a tool: a name, a schema, and a way to run it. `decorator` makes tools of functions."""

from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from threadkeep.conversation.blocks import Block
from threadkeep.conversation.parts import attachment_kind
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import State
from threadkeep.llm.base import ToolSpec
from threadkeep.store.base import Store
from threadkeep.store.values import Hit


@dataclass(frozen=True, slots=True)
class Archive:
    """All conversations of one user."""

    _store: Store
    _scope: Scope

    async def search(self, text: str, *, limit: int = 10) -> tuple[Hit, ...]:
        """Return messages with all words of a text, the best first. Raises InvalidSearch for a text without words."""
        page = await self._store.search(self._scope, text, limit=limit)
        return tuple(page.items)


DEFAULT_TIMEOUT = 60.0
"""Seconds that a call may take unless the settings or its tool say otherwise."""


async def _confirmed() -> None:
    """Accept every call: outside of a turn there is no lease that could be lost."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolContext:
    """For whom and where a tool runs. `call_id` is the same when a repeatable call runs again after a crash;
    `archive` is the search in all conversations of this user; `timeout` is how many seconds a call may take unless its
    tool sets another limit.

    `fence` rises whenever the turn gets another owner: a service that is sent it can refuse calls of an earlier owner.
    `confirm` raises LeaseLost if this process may not act for the turn any more; it is called before each call, and a
    tool can call it again before it does something that cannot be undone."""

    scope: Scope
    conversation: str
    turn: int
    call_id: str
    state: State = field(default_factory=State)
    archive: Archive | None = None
    timeout: float = DEFAULT_TIMEOUT
    fence: int = 0
    confirm: Callable[[], Awaitable[None]] = _confirmed


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolFile:
    """A file that a tool returns: an image, a recording, a document."""

    media_type: str
    data: bytes
    name: str = ""

    @property
    def line(self) -> str:
        """A line about the file, for the result if the file cannot be kept."""
        size = max(1, len(self.data) // 1024)
        return f"[{self.name or attachment_kind(self.media_type)} {self.media_type}, {size:,} KB, not shown]"


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolOutcome:
    """The outcome of a call. `content` is the whole result as text; `error`, if it failed, is what the model is told.

    `files` are stored, attached to the result, and sent to models that take them. `state` are keys of the
    conversation's state with new values, `unset` those to remove.
    """

    content: str
    error: str | None = None
    blocks: tuple[Block, ...] = ()
    files: tuple[ToolFile, ...] = ()
    state: Mapping[str, Any] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    duration_ms: int = 0


class Tool(ABC):
    """Something a model may call. `run` raises only `asyncio.CancelledError`: failures are outcomes."""

    spec: ToolSpec
    repeatable: bool = False
    """Whether a call may run again after a crash (same call id) without doing harm."""
    needs_approval: bool = False
    """Whether a person must agree before each call."""

    @abstractmethod
    async def run(self, args: Mapping[str, Any], context: ToolContext) -> ToolOutcome:
        """Check the arguments, run the call within the tool's time limit, and return its outcome."""
