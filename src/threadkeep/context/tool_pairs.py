"""Tool calls and results that always pair up, whatever was cut, interrupted, imported or branched.

A result stands directly behind its call's message, in the order of the calls. A call without a result gets one that
says so, a result without a call goes, and so does a second result of one call. Ids are different from each other, and
ids and names are such as every provider takes.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from hashlib import blake2s
from typing import Any

from threadkeep.context.base import Counter, Working
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.conversation.parts import Part, Reasoning
from threadkeep.text.notes import note

UNKNOWN = "outcome unknown: no result of this call was recorded; it may or may not have taken effect"
MAX_CALLS = 128
"""How many calls one message may have."""
MAX_ID = 40
MAX_NAME = 64

_ILLEGAL = re.compile("[^a-zA-Z0-9_-]")


@dataclass
class _Step:
    """A message that calls tools, and the results found for its calls, by place."""

    message: Message
    calls: tuple[ToolCall, ...]
    results: dict[int, Message] = field(default_factory=dict)

    def take(self, result: Message, call_id: str) -> bool:
        """Take the result for the first call of that id that has none yet; tell whether there was one."""
        for place, call in enumerate(self.calls):
            if call.id == call_id and place not in self.results:
                self.results[place] = result
                return True
        return False


def tool_pairs(working: Working) -> Working:
    """Pair calls and results, and give every call a legal id and name."""
    return replace(working, messages=tuple(paired(working.messages)))


def paired(messages: Sequence[Message]) -> list[Message]:
    """Return the messages with one result behind each call, in legal names."""
    taken, found = set[str](), list[Message]()
    for part in _steps(messages):
        found += _paired(part, taken) if isinstance(part, _Step) else [part]
    return found


def _steps(messages: Sequence[Message]) -> list[Message | _Step]:
    """Return the messages without results, each that calls tools as a step that holds the results of its calls."""
    parts: list[Message | _Step] = []
    open_steps: dict[str, list[_Step]] = {}
    for message in messages:
        if message.tool_result is not None:
            call_id = message.tool_result.tool_call_id
            # The newest call of that id is meant: some providers begin to count anew with every answer.
            any(step.take(message, call_id) for step in reversed(open_steps.get(call_id, [])))
        elif message.tool_calls:
            step = _Step(message, message.tool_calls[:MAX_CALLS])
            parts.append(step)
            for call_id in {call.id for call in step.calls}:
                open_steps.setdefault(call_id, []).append(step)
        else:
            parts.append(message)
    return parts


def _paired(step: _Step, taken: set[str]) -> list[Message]:
    ids = [_free_id(call.id, taken) for call in step.calls]
    calls = tuple(_legal(call, id) for call, id in zip(step.calls, ids, strict=True))
    message = step.message
    if calls != message.tool_calls:
        parts = _renamed(message.parts, {call.id: id for call, id in zip(step.calls, ids, strict=True)})
        message = message.model_copy(update={"tool_calls": calls, "parts": parts})
    return [message, *(_result(step.results.get(place), id) for place, id in enumerate(ids))]


def _renamed(parts: tuple[Part, ...], ids: dict[str, str]) -> tuple[Part, ...]:
    """Return parts that name calls by their new ids; what belongs to a call that is left out goes with it."""
    of_calls = (part for part in parts if not isinstance(part, Reasoning) or part.call is None or part.call in ids)
    return tuple(
        part.model_copy(update={"call": ids[part.call]}) if isinstance(part, Reasoning) and part.call else part
        for part in of_calls
    )


def _legal(call: ToolCall, id: str) -> ToolCall:
    name, args = legal_name(call.name), _clean(call.args)
    if (id, name, args) == (call.id, call.name, call.args):
        return call
    return call.model_copy(update={"id": id, "name": name, "args": args})


def _result(result: Message | None, id: str) -> Message:
    if result is None or result.tool_result is None:
        return Message(id=f"context-{id}", role=Role.TOOL, content=UNKNOWN, tool_result=ToolResult(tool_call_id=id))
    if result.tool_result.tool_call_id == id:
        return result
    return result.model_copy(update={"tool_result": result.tool_result.model_copy(update={"tool_call_id": id})})


def legal_name(name: str) -> str:
    """Return a tool's name as every provider takes it; a legal name stays as it is."""
    name = _ILLEGAL.sub("_", name)[:MAX_NAME]
    return name if name[:1].isalpha() or name[:1] == "_" else f"_{name}"[:MAX_NAME]


def _free_id(id: str, taken: set[str]) -> str:
    """Return a legal id that is not taken, as near to this one as can be, and take it."""
    legal = _ILLEGAL.sub("_", id)
    if legal != id or len(legal) > MAX_ID:
        legal = f"{legal[: MAX_ID - 9]}-{blake2s(id.encode(), digest_size=4).hexdigest()}"
    free, number = legal, 1
    while free in taken:
        number += 1
        free = f"{legal[: MAX_ID - len(str(number)) - 1]}-{number}"
    taken.add(free)
    return free


def _clean(value: Any) -> Any:
    """Return a JSON value without U+0000, which not every provider takes."""
    match value:
        case str():
            return value.replace("\x00", "\ufffd")
        case dict():
            return {_clean(key): _clean(child) for key, child in value.items()}
        case list() | tuple():
            return [_clean(child) for child in value]
        case _:
            return value


def told_calls(working: Working) -> Working:
    """Tell calls and results as text, if the request defines no tools: Anthropic refuses the calls themselves there.

    It happens when an assistant without tools goes on with a conversation that had some. Calls and results must be
    paired up before.
    """
    if working.material.has_tools:
        return working
    names = _names(working.messages)
    return replace(working, messages=tuple(_as_text(message, names) for message in working.messages))


def counter_of_told(working: Working) -> Counter:
    """Return what counts a message of the history as it will be told: without tools, a call as text."""
    count, names = working.material.count, _names(line.message for line in working.lines)
    return count if working.material.has_tools else lambda message: count(_as_text(message, names))


def _names(messages: Iterable[Message]) -> dict[str, str]:
    return {call.id: call.name for message in messages for call in message.tool_calls}


def _as_text(message: Message, names: dict[str, str]) -> Message:
    if message.tool_result is not None:
        name = names.get(message.tool_result.tool_call_id, "")
        text = note(f"result of the tool {name}:\n{message.content}")
        return Message(id=message.id, role=Role.USER, content=text, parts=message.parts)
    if not message.tool_calls:
        return message
    texts = [message.content, *(_call(call) for call in message.tool_calls)]
    text = "\n\n".join(text for text in texts if text)
    parts = tuple(part for part in message.parts if not isinstance(part, Reasoning))
    return message.model_copy(update={"content": text, "tool_calls": (), "parts": parts, "tokens": None})


def _call(call: ToolCall) -> str:
    return note(f"called the tool {call.name} with {json.dumps(call.args, ensure_ascii=False)}")
