"""The context of one model call: what it is built from, and what comes out.

`build.py` is the way from one to the other, without I/O. What must be read beforehand (the branch, the summary,
recalled entries, passages) is read by `turn/steps/gather_context.py`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role

if TYPE_CHECKING:
    from threadkeep.context.lines import Line

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

    @property
    def seen_from(self) -> int:
        """The seq from which on everything is shown in full."""
        return max(self.first, self.masked)


Counter = Callable[[Message], int]
"""Returns how many tokens a message has."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Audience:
    """Who reads a context: a model by its name, what it can look at (as `llm/base.py` tells it), whether the request
    defines tools, and what counts its tokens."""

    model: str = ""
    accepts: frozenset[str] = frozenset()
    has_tools: bool = True
    count: Counter


@dataclass(frozen=True, slots=True)
class Sought:
    """What was looked for in earlier messages: words, each in its forms, and marks of who speaks and when."""

    words: Sequence[Sequence[str]] = ()
    marks: Sequence[Sequence[str]] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Everything that a context is built from.

    `lines` are those of the branch, oldest first, at least from the cut on, the current question among them; `turn` is
    the number of the current turn. `opening` are system messages that begin the branch: they stay when the rest is cut
    off. `recalled` are the entries that match the question by what was `sought`, best first, from the whole branch:
    those that are in the window are left out here. `earlier` are those before the window, the newest first: they fill
    what is left. `tool_tokens` is how many tokens the definitions of tools have. `budget` is in tokens of the
    audience's counter.
    """

    audience: Audience
    instructions: str
    lines: "tuple[Line, ...]"
    turn: int
    policy: Policy
    budget: int
    cut: Cut = Cut()
    opening: tuple[Entry, ...] = ()
    summary: Entry | None = None
    recalled: tuple[Entry, ...] = ()
    sought: Sought = Sought()
    earlier: tuple[Entry, ...] = ()
    passages: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    tool_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a model call gets, and the trace that tells how it came about."""

    messages: tuple[Message, ...]
    cut: Cut
    tokens: int
    trace: tuple[dict[str, Any], ...] = ()


def cut_in(trace: Iterable[Mapping[str, Any]]) -> Cut | None:
    """Return the cut that the trace of an answer tells of, to be handed in again by the next call."""
    for item in trace:
        if item.get("kind") == "context":
            first, masked = item.get("first"), item.get("masked")
            if isinstance(first, int) and isinstance(masked, int):
                return Cut(first=first, masked=masked)
    return None


def newest_cut(entries: Sequence[Entry]) -> Cut | None:
    """Return the cut that the newest answer among the entries was made with."""
    answers = (entry.body for entry in reversed(entries) if isinstance(entry.body, Message))
    cuts = (cut_in(answer.tool_trace) for answer in answers if answer.role is Role.ASSISTANT)
    return next((cut for cut in cuts if cut is not None), None)
