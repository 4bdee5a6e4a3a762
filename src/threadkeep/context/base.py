"""The context of one model call: what a branch becomes before a model sees it.

A context is built by an ordered list of small processors, each a pure function from `Working` to `Working`. What must
be read beforehand (the window, the summary, recalled entries, passages) is read by `turn/steps/gather_context.py`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message


class Window(StrEnum):
    """How much of a branch the model sees: all that fits the model, the newest messages, or a budget of tokens."""

    FULL = "full"
    NEWEST = "newest"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """An assistant's context policy. `size` counts messages for NEWEST and tokens for BUDGET."""

    window: Window = Window.FULL
    size: int = 0
    recall: bool = True
    summary: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """Where the window begins (`first`, a seq) and up to where old results and answers are shortened (`masked`).

    It is stored in the trace of each answer and taken up by the next turn, so that the beginning of the context stays
    the same bytes until the budget is hit again.
    """

    first: int = 0
    masked: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Material:
    """Everything that a context is built from. `entries` are those of the branch from the cut on, oldest first, without
    remarks, the current question among them; `turn` is the number of the current turn."""

    instructions: str
    entries: tuple[Entry, ...]
    turn: int
    policy: Policy
    budget: int
    cut: Cut = Cut()
    summary: Entry | None = None
    recalled: tuple[Entry, ...] = ()
    passages: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Working:
    """A context in the making: messages so far, with the entry behind each where there is one, and the trace."""

    material: Material
    messages: tuple[Message, ...] = ()
    cut: Cut = Cut()
    tokens: int = 0
    trace: tuple[dict[str, Any], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """What a model call gets, and the trace that tells how it came about."""

    messages: tuple[Message, ...]
    cut: Cut
    tokens: int
    trace: tuple[dict[str, Any], ...] = field(default=())


Processor = Callable[[Working], Working]
Counter = Callable[[Message], int]


def estimate(message: Message) -> int:
    """Return about how many tokens a message has: one for each four characters, if it was not counted before."""
    if message.tokens is not None:
        return message.tokens
    size = len(message.content) + sum(len(call.name) + len(str(call.args)) for call in message.tool_calls)
    return max(1, (size + 3) // 4)


def run(processors: Sequence[Processor], material: Material) -> Context:
    """Build a context: each processor in order."""
    working = Working(material=material, cut=material.cut)
    for process in processors:
        working = process(working)
    return Context(messages=working.messages, cut=working.cut, tokens=working.tokens, trace=working.trace)
