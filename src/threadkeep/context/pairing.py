"""A history that every provider takes: calls and results pair up, and user and assistant speak by turns.

A result stands directly behind its call's message, in the order of the calls. A call without a result gets one that
says so, a result without a call goes, and so does a second result of one call. Neighbours of one role are merged, and a
missing side is filled with a short note of ours.
"""

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2s
from operator import attrgetter

from threadkeep.context.base import Audience
from threadkeep.context.lines import ILLEGAL, Line, Turn, own_line
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.conversation.parts import Part, Reasoning
from threadkeep.text.notes import note

UNKNOWN = "outcome unknown: no result of this call was recorded; it may or may not have taken effect"
OPENING = note("the conversation goes on from here")
UNANSWERED = note("no answer was given")
GO_ON = note("please go on")
MAX_ID = 40
_is_step = attrgetter("is_step")


class _Step:
    """A line that is no result, and the results found for its calls, by place."""

    def __init__(self, line: Line) -> None:
        self.line, self.calls = line, line.message.tool_calls
        self.results: dict[int, Line] = {}

    def take(self, result: Line, call_id: str) -> bool:
        """Take the result for the first call of that id that has none yet; tell whether there was one."""
        for place, call in enumerate(self.calls):
            if call.id == call_id and place not in self.results:
                self.results[place] = result
                return True
        return False

    def paired(self, taken: set[str]) -> list[Line]:
        """Return the line and one result for each call, with ids that are legal and not taken."""
        ids = {place: _free_id(call.id, taken) for place, call in enumerate(self.calls)}
        calls = tuple(_with_id(call, ids[place]) for place, call in enumerate(self.calls))
        message = self.line.message
        if any(call is not before for call, before in zip(calls, self.calls, strict=True)):
            new = {before.id: call.id for before, call in zip(self.calls, calls, strict=True)}
            parts = tuple(_of_call(part, new) for part in message.parts)
            message = message.model_copy(update={"tool_calls": calls, "parts": parts})
        results = (_result(self.results.get(place), call, self.line.audience) for place, call in enumerate(calls))
        return [self.line.saying(message), *results]


def paired(lines: Sequence[Line]) -> list[Line]:
    """Return the lines with one result behind each call, in legal ids that differ from each other."""
    steps, open_steps = list[_Step](), dict[str, list[_Step]]()
    if not any(map(_is_step, lines)):
        return list(lines)
    for line in lines:
        if line.message.tool_result is not None:
            call_id = line.message.tool_result.tool_call_id
            # The newest call of that id is meant: some providers begin to count anew with every answer.
            any(step.take(line, call_id) for step in reversed(open_steps.get(call_id, [])))
            continue
        steps.append(_Step(line))
        for call_id in {call.id for call in line.message.tool_calls}:
            open_steps.setdefault(call_id, []).append(steps[-1])
    taken = set[str]()
    return [line for step in steps for line in step.paired(taken)]


def _with_id(call: ToolCall, id: str) -> ToolCall:
    return call if call.id == id else call.model_copy(update={"id": id})


def _of_call(part: Part, ids: Mapping[str, str]) -> Part:
    if isinstance(part, Reasoning) and part.call and part.call in ids:
        return part.model_copy(update={"call": ids[part.call]})
    return part


def _result(line: Line | None, call: ToolCall, audience: Audience) -> Line:
    """Return the result of a call under its id, or what stands for one that is missing."""
    if line is None or line.message.tool_result is None:
        return _unknown(audience, call.name, call.id)
    if line.message.tool_result.tool_call_id == call.id:
        return line
    result = line.message.tool_result.model_copy(update={"tool_call_id": call.id})
    return line.saying(line.message.model_copy(update={"tool_result": result}))


def _unknown(audience: Audience, tool: str, id: str) -> Line:
    result = ToolResult(tool_call_id=id)
    return Line(audience, Message(id=f"context-{id}", role=Role.TOOL, content=UNKNOWN, tool_result=result), tool=tool)


def _free_id(id: str, taken: set[str]) -> str:
    """Return a legal id that is not taken, as near to this one as can be, and take it."""
    legal = ILLEGAL.sub("_", id)
    if legal != id or len(legal) > MAX_ID:
        legal = f"{legal[: MAX_ID - 9]}-{blake2s(id.encode(), digest_size=4).hexdigest()}"
    free, number = legal, 1
    while free in taken:
        number += 1
        free = f"{legal[: MAX_ID - len(str(number)) - 1]}-{number}"
    taken.add(free)
    return free


def size_of(turn: Turn) -> int:
    """Return how many tokens a turn has, with the results that a call without one gets."""
    if not any(map(_is_step, turn)):
        return sum([line.size for line in turn])
    size, open_calls = 0, list[ToolCall]()
    for line in turn:
        if (result := line.message.tool_result) is None:
            size += line.size
            open_calls += line.message.tool_calls
        elif (call := next((call for call in open_calls if call.id == result.tool_call_id), None)) is not None:
            size += line.size
            open_calls.remove(call)
    return size + sum(_unknown(turn[0].audience, call.name, "size").size for call in open_calls)


def alternated(lines: Iterable[Line], audience: Audience) -> list[Line]:
    """Return the lines by turns: neighbours merged, gaps filled."""
    turned: list[Line] = []
    for line in lines:
        role = line.shown.role
        before = turned[-1].shown if turned else None
        if before is None:
            if role is not Role.USER:
                turned.append(own_line(audience, "beginning", OPENING))
        elif before.role is role:
            if role is not Role.TOOL and not before.tool_calls:
                turned[-1] = _joined(turned[-1], line)
                continue
        elif before.role is Role.TOOL and role is Role.USER:
            turned.append(own_line(audience, f"unanswered-{len(turned)}", UNANSWERED, Role.ASSISTANT))
        turned.append(line)
    if not turned or turned[-1].shown.role is Role.ASSISTANT:
        turned.append(own_line(audience, "end", GO_ON))
    return turned


def _joined(line: Line, following: Line) -> Line:
    first, second = line.shown, following.shown
    text = "\n\n".join(text for text in (first.content, second.content) if text)
    # What was thought for the second stands before all of it: providers want an answer to begin with that.
    thought = [part.model_copy(update={"at": 0}) for part in second.parts if isinstance(part, Reasoning)]
    moved = [
        part.model_copy(update={"at": len(text) - len(second.content) + part.at})
        for part in second.parts
        if not isinstance(part, Reasoning)
    ]
    others = [part for part in first.parts if not isinstance(part, Reasoning)]
    parts = (*thought, *others, *moved)
    changed = {"content": text, "parts": parts, "tool_calls": second.tool_calls, "tokens": None}
    return line.saying(first.model_copy(update=changed))
