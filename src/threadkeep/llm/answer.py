"""Putting a model's deltas together: the text, the tool calls, the usage. Pure; it never trusts the provider.

Whatever a provider sends, the calls that come out have ids that are different from each other, names that are not empty
and arguments that are an object. What was wrong with a call is told in `flaws`, and goes back to the model.
"""

import json
from dataclasses import dataclass, field
from typing import Any

from threadkeep.conversation.ids import IdSource
from threadkeep.conversation.message import ToolCall, Usage
from threadkeep.conversation.value import check_json, storable
from threadkeep.errors import InvalidInput
from threadkeep.llm.base import CallPart, Delta, Stopped, Text, Used


@dataclass
class _Parts:
    id: str = ""
    name: str = ""
    args: list[str] = field(default_factory=list)


@dataclass
class Answer:
    """An answer as far as it came."""

    usage: Usage | None = None
    reason: str | None = None
    flaws: dict[str, str] = field(default_factory=dict)
    _texts: list[str] = field(default_factory=list)
    _parts: dict[int, _Parts] = field(default_factory=dict)

    @property
    def text(self) -> str:
        self._texts = ["".join(self._texts)]
        return self._texts[0]

    def add(self, delta: Delta) -> None:
        match delta:
            case Text():
                self._texts.append(delta.text)
            case CallPart():
                part = self._parts.setdefault(delta.index, _Parts())
                part.id = part.id or delta.id or ""
                part.name = part.name or delta.name or ""
                part.args.append(delta.args)
            case Used():
                self.usage = delta.usage
            case Stopped():
                self.reason = delta.reason

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


def _arguments(text: str) -> tuple[dict[str, Any], str | None]:
    """Return the arguments, and what is wrong with them if they are none."""
    try:
        args = json.loads(text or "{}")
        check_json(args)
    except (ValueError, RecursionError, InvalidInput) as error:
        return {}, f"The arguments are not valid JSON: {error}"
    return (args, None) if isinstance(args, dict) else ({}, "The arguments are not a JSON object.")
