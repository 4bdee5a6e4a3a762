"""Putting a model's deltas together: the text, the reasoning, the calls, the usage. Pure; it trusts no provider.

Whatever a provider sends, the resulting calls have unique ids, names that are not empty and arguments that are an
object. What was wrong with a call is in `flaws`, and is told to the model.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import zip_longest
from time import monotonic
from typing import Any

from threadkeep.conversation.draft_text import without_marks
from threadkeep.conversation.ids import IdSource
from threadkeep.conversation.message import ToolCall, Usage
from threadkeep.conversation.parts import Reasoning
from threadkeep.conversation.value import check_json, storable
from threadkeep.errors import InvalidInput
from threadkeep.llm.base import CallPart, Delta, Reasoned, Stopped, Text, Used


@dataclass
class _Parts:
    id: str = ""
    name: str = ""
    args: list[str] = field(default_factory=list)


@dataclass
class _Thought:
    """A piece of reasoning: where it stands in the text, and before which call; when it began and ended."""

    at: int
    call: int | None
    began: float
    ended: float
    texts: list[str] = field(default_factory=list)
    payload: dict[str, Any] | None = None
    is_of_call: bool = False

    @property
    def duration(self) -> float:
        return round(self.ended - self.began, 3)


@dataclass
class Answer:
    """An answer as far as it has come."""

    usage: Usage | None = None
    reason: str | None = None
    flaws: dict[str, str] = field(default_factory=dict)
    seconds: Callable[[], float] = monotonic
    _texts: list[str] = field(default_factory=list)
    _thoughts: list[_Thought] = field(default_factory=list)
    _is_thinking: bool = False
    _began: float = field(init=False)
    _parts: dict[int, _Parts] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._began = self.seconds()

    @property
    def is_thinking(self) -> bool:
        """Whether more reasoning would continue the piece that was begun."""
        return self._is_thinking and bool(self._thoughts[-1].texts)

    @property
    def text(self) -> str:
        self._texts = ["".join(self._texts)]
        return self._texts[0]

    def add(self, delta: Delta) -> None:
        match delta:
            case Text():
                self._is_thinking = False
                self._texts.append(delta.text)
            case Reasoned():
                self._think(delta)
            case CallPart():
                self._is_thinking = False
                part = self._parts.setdefault(delta.index, _Parts())
                part.id = part.id or delta.id or ""
                part.name = part.name or delta.name or ""
                part.args.append(delta.args)
            case Used():
                self.usage = delta.usage
            case Stopped():
                self.reason = delta.reason

    def _think(self, reasoned: Reasoned) -> None:
        now = self.seconds()
        if not self._is_thinking:
            # The first piece is timed from the beginning of the call.
            began = now if self._thoughts else self._began
            self._thoughts.append(_Thought(len(self.text), len(self._parts) or None, began, now))
        thought = self._thoughts[-1]
        thought.ended = now
        if reasoned.text:
            thought.texts.append(reasoned.text)
        if reasoned.payload is not None:
            thought.payload = reasoned.payload
            thought.is_of_call = reasoned.call is not None
            thought.call = reasoned.call if thought.is_of_call else thought.call
        self._is_thinking = reasoned.payload is None

    def reasoning(self, model: str, calls: tuple[ToolCall, ...]) -> tuple[Reasoning, ...]:
        """Return the reasoning, as parts of the message with these calls."""
        return tuple(_part(thought, model, calls) for thought in self._thoughts)

    def timed(self, written: tuple[Reasoning, ...]) -> tuple[Reasoning, ...]:
        """Return the stored reasoning of an answer that broke off, with the time that each piece took. It has no
        payloads: a provider signs only what is whole."""
        taken = [thought.duration for thought in self._thoughts if thought.texts]
        return tuple(part.model_copy(update={"duration": time}) for part, time in zip_longest(written, taken) if part)

    def calls(self, new_id: IdSource) -> tuple[ToolCall, ...]:
        """Return the tool calls in order, each with an id of its own."""
        calls: dict[str, ToolCall] = {}
        for _, part in sorted(self._parts.items()):
            given = storable(part.id)[:255]
            id = given if given and given not in calls else f"call_{new_id().replace('-', '')}"
            args, flaw = _arguments("".join(part.args))
            if flaw:
                self.flaws[id] = flaw
            calls[id] = ToolCall(id=id, name=storable(part.name)[:64] or "unnamed", args=args)
        return tuple(calls.values())


def _part(thought: _Thought, model: str, calls: tuple[ToolCall, ...]) -> Reasoning:
    whole = "".join(thought.texts)
    text = storable(without_marks(whole))
    call = calls[thought.call].id if thought.call is not None and thought.call < len(calls) else None
    return Reasoning(
        text=text,
        at=thought.at,
        duration=thought.duration if text else None,
        model=model,
        # A signature does not hold for text that was changed, nor without the call that it belongs to.
        payload=thought.payload if text == whole and (call or not thought.is_of_call) else None,
        call=call,
    )


def _arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """Return the arguments, or no arguments and what is wrong with them."""
    try:
        args = json.loads(text or "{}")
        check_json(args)
    except (ValueError, RecursionError, InvalidInput) as error:
        return {}, f"The arguments are not valid JSON: {error}"
    return (args, None) if isinstance(args, dict) else ({}, "The arguments are not a JSON object.")
