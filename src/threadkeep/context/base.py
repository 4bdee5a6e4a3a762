"""The context of one model call: what a branch becomes before a model sees it.

A context is built by an ordered list of small processors, each a pure function from `Working` to `Working`. What must
be read beforehand (the window, the summary, recalled entries, passages) is read by `turn/steps/gather_context.py`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any

from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message

DEFAULT_TOKENS = 2000


class Window(StrEnum):
    """How much of a branch the model sees: all that fits the model, the newest messages, or a budget of tokens."""

    FULL = "full"
    NEWEST = "newest"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """An assistant's context policy. `size` counts messages for NEWEST and tokens for BUDGET; 0 is the default.

    Without a `window` it is the one that is set for all assistants without their own: the newest `max_history_length`.
    """

    window: Window | None = None
    size: int = 0
    recall: bool = True
    summary: bool = False

    def tokens(self, room: int) -> int:
        """Return how many tokens of what was said may be shown, where a model has this room."""
        return min(room, self.size or DEFAULT_TOKENS) if self.window is Window.BUDGET else room


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Where the window begins (`first`, a seq; 0 is the beginning) and before which seq old results and answers are
    shortened (`masked`).

    It is stored in the trace of each answer and taken up by the next call, so that the beginning of the context stays
    the same bytes until the budget is hit again.
    """

    first: int = 0
    masked: int = 0


Counter = Callable[[Message], int]
"""Returns how many tokens a message has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Everything that a context is built from.

    `entries` are those of the branch from the cut on, oldest first, without remarks, the current question among them;
    `turn` is the number of the current turn. `opening` are system messages that begin the branch: they stay when the
    rest is cut off. `recalled` are the entries that match the question, best first, from the whole branch: those that
    are in the window are left out here. `earlier` are those before the window, the newest first: they fill what is
    left. `has_tools` tells whether the request defines tools, `tool_tokens` how many
    tokens their definitions have. `model` is the name of the model that will be asked, `accepts` what it can look at as
    `llm/base.py` tells it. `count` counts tokens; `budget` is in its tokens.
    """

    instructions: str
    entries: tuple[Entry, ...]
    turn: int
    policy: Policy
    budget: int
    cut: Cut = Cut()
    opening: tuple[Entry, ...] = ()
    summary: Entry | None = None
    recalled: tuple[Entry, ...] = ()
    earlier: tuple[Entry, ...] = ()
    passages: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    has_tools: bool = True
    tool_tokens: int = 0
    model: str = ""
    accepts: frozenset[str] = frozenset()
    count: Counter


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A message of the history with its place; `opens` says that a person's message begins a turn here."""

    seq: int
    turn: int | None
    at: datetime
    message: Message
    opens: bool = False

    def saying(self, message: Message) -> "Line":
        """Return the line with another message; itself if the message is the same."""
        return self if message is self.message else replace(self, message=message)


@dataclass(frozen=True, slots=True, kw_only=True)
class Working:
    """A context in the making.

    Until they are placed, its parts are apart: the `system` text, the `lines` of the history, our own texts before the
    history (`opening`) and with the current question (`beside`). `messages` is what they become.
    """

    material: Material
    system: str = ""
    lines: tuple[Line, ...] = ()
    opening: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    messages: tuple[Message, ...] = ()
    cut: Cut = Cut()
    tokens: int = 0
    trace: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a model call gets, the trace that tells how it came about, and the entries that it was made from."""

    messages: tuple[Message, ...]
    cut: Cut
    tokens: int
    trace: tuple[dict[str, Any], ...] = field(default=())
    entries: tuple[Entry, ...] = ()


Processor = Callable[[Working], Working]


def run(processors: Sequence[Processor], material: Material) -> Context:
    """Build a context: each processor in order."""
    working = Working(material=material, cut=material.cut)
    for process in processors:
        working = process(working)
    return Context(
        messages=working.messages,
        cut=working.cut,
        tokens=working.tokens,
        trace=working.trace,
        entries=material.entries,
    )


def cut_in(trace: Iterable[Mapping[str, Any]]) -> Cut | None:
    """Return the cut that the trace of an answer tells of, to be handed in again by the next call."""
    for item in trace:
        if item.get("kind") == "context":
            first, masked = item.get("first"), item.get("masked")
            if isinstance(first, int) and isinstance(masked, int):
                return Cut(first=first, masked=masked)
    return None
