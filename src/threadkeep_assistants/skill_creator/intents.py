"""What a person wants with a message: one of a closed set. How it is read from the words is in `wording`."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Yes:
    """Agreement, maybe with more behind it: "yes, but change the name"."""

    rest: str = ""


@dataclass(frozen=True, slots=True)
class No:
    """Disagreement, maybe with what is right instead."""

    rest: str = ""


@dataclass(frozen=True, slots=True)
class Skip:
    """Nobody wants to say anything about this; with `none`, there shall be nothing."""

    none: bool = False


@dataclass(frozen=True, slots=True)
class YouDecide:
    """The answer is left to us; `everything` also means all that would be asked later."""

    everything: bool = False


@dataclass(frozen=True, slots=True)
class Change:
    """A part shall be changed: to `value`, with `value` added (`adds`), or asked for again if there is none; `more`
    are other parts that the same message names."""

    key: str
    value: str = ""
    adds: bool = False
    more: tuple["Change", ...] = ()


@dataclass(frozen=True, slots=True)
class Clear:
    """A part of the skill shall go."""

    key: str


@dataclass(frozen=True, slots=True)
class Wish:
    """A command: status, help, back, cancel, wait, restart, show, write, again, template, continue or shorter."""

    name: str


@dataclass(frozen=True, slots=True)
class Said:
    """Words that are an answer; `more` are other parts that are named behind it."""

    text: str
    more: tuple[Change, ...] = ()


@dataclass(frozen=True, slots=True)
class Asks:
    """A question to us. To whoever gathers examples it may be one."""

    text: str


@dataclass(frozen=True, slots=True)
class Nothing:
    """Nothing that could be an answer: empty, or no words at all."""


Intent = Yes | No | Skip | YouDecide | Change | Clear | Wish | Said | Asks | Nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """What a person said: the words, what they want, and the parts of a skill that were understood from them."""

    text: str
    intent: Intent
    parts: dict[str, Any] = field(default_factory=dict)
