"""The history as lines: each message of a branch as its audience reads it, prepared and measured once.

A line is made of an entry, which never changes, so it can be kept from turn to turn (`turn/branches.py`). State changes
are no part of what a model reads. A line opens a turn where a person speaks; logs that were imported have no turn
numbers, so this, and not the number, is what divides a history into turns.
"""

import json
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any

from threadkeep.context.base import Audience
from threadkeep.context.blocks import text_of
from threadkeep.context.marks import own, printable, with_mark, with_text
from threadkeep.context.parts import for_model, without_reasoning
from threadkeep.context.shortening import short_form
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role, ToolCall
from threadkeep.conversation.parts import Reasoning
from threadkeep.text.excerpt import OLD
from threadkeep.text.notes import note

MAX_CALLS = 128
"""How many calls one message may have."""
MAX_NAME = 64
ILLEGAL = re.compile("[^a-zA-Z0-9_-]")


class Line:
    """A message with its place: the entry's seq and turn, 0 and none for a message of ours; `tool` is the name of the
    tool whose result it is."""

    def __init__(self, audience: Audience, message: Message, entry: Entry | None = None, tool: str = "") -> None:
        self.audience, self.message, self.entry, self.tool = audience, message, entry, tool
        self.seq = entry.seq if entry else 0
        self.turn = entry.turn if entry else None
        self.opens = entry is not None and isinstance(entry.body, Message) and entry.body.role is Role.USER
        self.is_step = bool(message.tool_calls or message.tool_result)
        # How many messages it becomes: results are counted with their calls.
        self.messages = 0 if message.tool_result else 1 + len(message.tool_calls)

    def saying(self, message: Message) -> "Line":
        """Return the line with another message; itself if the message is the same."""
        return self if message is self.message else Line(self.audience, message, self.entry, self.tool)

    @cached_property
    def shown(self) -> Message:
        """The message as it is sent: without what no model reads, and with calls as text where there are no tools."""
        message = self.message
        if self.is_step and not self.audience.has_tools:
            message = _as_text(message, self.tool)
        if message.blocks or message.tool_trace:
            message = message.model_copy(update={"blocks": (), "tool_trace": ()})
        return message

    @cached_property
    def size(self) -> int:
        """How many tokens it has."""
        return self.audience.count(self.shown)

    @cached_property
    def short(self) -> "Line":
        """Its short form, once it is old; the line itself if it is short already, or a person's."""
        return self.shortened()

    def shortened(self, size: int = OLD, *, is_newest: bool = False) -> "Line":
        """Return the line with so many characters of what was answered; the newest step of a turn keeps what was
        thought for it."""
        message = self.message if is_newest else without_reasoning(self.message)
        return self if self.opens else self.saying(short_form(message, size))


Turn = Sequence[Line]


def own_line(audience: Audience, place: str, text: str, role: Role = Role.USER) -> Line:
    """Return a line of ours."""
    return Line(audience, own(place, text, role))


def size_of_text(audience: Audience, text: str) -> int:
    """Return how many tokens a message of this text has."""
    return audience.count(own("size", text))


def lines_of(entries: Iterable[Entry], audience: Audience, before: Sequence[Line] = ()) -> list[Line]:
    """Return the lines of the entries that are messages, which follow the lines `before`."""
    # The name of a tool stands in its result only where calls are told as text.
    known = () if audience.has_tools else before
    names = {call.id: call.name for line in known for call in line.message.tool_calls}
    lines = []
    for entry in entries:
        if isinstance(entry.body, Message):
            message = _prepared(entry.body, audience)
            for call in message.tool_calls:
                names[call.id] = call.name
            tool = names.get(message.tool_result.tool_call_id, "") if message.tool_result else ""
            lines.append(Line(audience, message, entry, tool))
    return lines


def _prepared(message: Message, audience: Audience) -> Message:
    """Return a message as any model may read it, with a text, and with legal names of tools.

    A system message becomes a marked note where it stands, unless it begins the log (`build.py`): providers want the
    system message first, and moving a later one there would change the beginning of every request after it.
    """
    text = message.content
    if message.tool_result is not None and not text.strip():
        text = message.tool_result.error or ""
    message = for_model(with_text(message, printable(text)), audience.model, audience.accepts)
    if message.role is Role.SYSTEM:
        return Message(
            id=message.id, role=Role.USER, content=note(f"instructions given at this point: {message.content}")
        )
    message = with_mark(with_text(message, text_of(message)))
    calls = tuple(map(_legal, message.tool_calls[:MAX_CALLS]))
    if calls == message.tool_calls:
        return message
    kept = {call.id for call in calls}
    parts = (part for part in message.parts if not isinstance(part, Reasoning) or part.call in {None, *kept})
    return message.model_copy(update={"tool_calls": calls, "parts": tuple(parts)})


def _legal(call: ToolCall) -> ToolCall:
    name, args = legal_name(call.name), _printable(call.args)
    return call if (name, args) == (call.name, call.args) else call.model_copy(update={"name": name, "args": args})


def legal_name(name: str) -> str:
    """Return a tool's name as every provider takes it; a legal name stays as it is."""
    name = ILLEGAL.sub("_", name)[:MAX_NAME]
    return name if name[:1].isalpha() or name[:1] == "_" else f"_{name}"[:MAX_NAME]


def _printable(value: Any) -> Any:
    match value:
        case str():
            return printable(value)
        case dict():
            return {printable(key): _printable(child) for key, child in value.items()}
        case list() | tuple():
            return [_printable(child) for child in value]
        case _:
            return value


def _as_text(message: Message, tool: str) -> Message:
    """Return calls and results as text: Anthropic refuses the calls themselves where a request defines no tools.

    It happens when an assistant without tools goes on with a conversation that had some.
    """
    if message.tool_result is not None:
        text = note(f"result of the tool {tool}:\n{message.content}")
        return Message(id=message.id, role=Role.USER, content=text, parts=message.parts)
    calls = (
        note(f"called the tool {call.name} with {json.dumps(call.args, ensure_ascii=False)}")
        for call in message.tool_calls
    )
    text = "\n\n".join(text for text in (message.content, *calls) if text)
    parts = tuple(part for part in message.parts if not isinstance(part, Reasoning))
    return message.model_copy(update={"content": text, "tool_calls": (), "parts": parts, "tokens": None})


def in_turns(lines: Turn, number: int) -> tuple[list[Turn], Turn]:
    """Return the earlier turns and the current one.

    The current turn begins with the message of that number or, where the answer is made anew under another number, with
    the newest question. Lines before the first question are a turn of their own.
    """
    questions = [place for place, line in enumerate(lines) if line.opens]
    named = (place for place in questions if lines[place].turn == number)
    start = next(named, questions[-1] if questions else 0)
    places = [place for place in questions if 0 < place < start]
    return [lines[place:end] for place, end in pairwise([0, *places, start]) if end], lines[start:]
