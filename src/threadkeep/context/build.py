"""Building a context: what is shown is decided against the sizes of the lines, then it is put together once.

In order: the system message, what stands for a missing beginning, the history, the question. What belongs to this
question only (recalled entries, passages) goes into the question's own message, before its text, so that everything in
front of it stays the same bytes from turn to turn.
"""

from collections.abc import Callable
from itertools import takewhile
from typing import NamedTuple

from threadkeep.context.base import Context, Cut, Material
from threadkeep.context.lines import Line, Turn, own_line, size_of_text
from threadkeep.context.marks import printable, with_text
from threadkeep.context.pairing import alternated, paired
from threadkeep.context.parts import for_model
from threadkeep.context.recall import reasons, recall
from threadkeep.context.tokens import counter_name
from threadkeep.context.window import ShownWindow, window
from threadkeep.conversation.entry import Entry, Summary
from threadkeep.conversation.message import Message, Role
from threadkeep.text.excerpt import ends
from threadkeep.text.notes import earlier_note, note


class Plan(NamedTuple):
    """What a context will hold: the system text, what is shown of the history, the passages beside the question."""

    material: Material
    system: str
    shown: ShownWindow
    passages: str

    @property
    def cut(self) -> Cut:
        """Where the window begins, and what is short in it."""
        return self.shown.cut

    @property
    def lasting(self) -> int:
        """How many tokens stand before the current question, which the next request begins with, too."""
        system = size_of_text(self.material.audience, self.system) if self.system else 0
        return self.material.tool_tokens + system + sum(line.size for turn in self.shown.earlier for line in turn)


Builder = Callable[[Plan], Context]


def plan(material: Material) -> Plan:
    """Decide what is shown, without building it."""
    system, lines = _instructions(material)
    passages = _passages(material)
    ours = (system, passages, *material.notes, _summary(material.summary))
    spent = material.tool_tokens + sum(size_of_text(material.audience, text) for text in ours if text)
    return Plan(material, system, window(material, lines, material.budget - spent), passages)


def build(plan: Plan) -> Context:
    """Put the context together."""
    material, system, shown, beside = plan
    audience, current, trace = material.audience, shown.current, []
    history = paired([line for turn in (*shown.earlier, current) for line in turn])
    if material.recalled or material.earlier:
        used = sum(line.size for line in alternated(history, audience))
        if told := recall(material, shown, used):
            beside = _joined(earlier_note((each.day, each.text) for each in told), beside)
            trace.append({"kind": "recall", "entries": [each.seq for each in told], "why": reasons(material, told)})
    if beside:
        history = _with_aside(history, current, beside, material)
    if shown.cut.first and (summary := _summary(material.summary)):
        history.insert(0, own_line(audience, "opening", summary))
    lines = alternated(_with_notes(history, material), audience)
    if system:
        lines.insert(0, own_line(audience, "system", system, Role.SYSTEM))
    tokens = material.tool_tokens + sum(line.size for line in lines)
    item = {
        "kind": "context",
        "first": shown.cut.first,
        "masked": shown.cut.masked,
        "tokens": tokens,
        "counter": counter_name(audience.count),
        "budget": material.budget,
        "dropped": shown.cut.first > 0,
    }
    return Context(messages=tuple([line.shown for line in lines]), cut=shown.cut, tokens=tokens, trace=(*trace, item))


def _instructions(material: Material) -> tuple[str, Turn]:
    """Return one system text of the assistant's instructions and those that begin the log (R-A1), and the lines of the
    history from the cut on."""
    first = material.cut.first
    lines = [line for line in material.lines if line.seq >= first] if first else material.lines
    opening = {entry.seq: entry for entry in material.opening if _is_system(entry)}
    if not first:
        leading = (line.entry for line in lines if line.entry is not None)
        opening |= {entry.seq: entry for entry in takewhile(_is_system, leading)}
    if opening:
        lines = [line for line in lines if line.seq not in opening]
    said = (entry.body for entry in opening.values() if isinstance(entry.body, Message))
    texts = (for_model(body, material.audience.model, material.audience.accepts).content for body in said)
    return _joined(*map(printable, (material.instructions, *texts))), lines


def _is_system(entry: Entry) -> bool:
    return isinstance(entry.body, Message) and entry.body.role is Role.SYSTEM


def _joined(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text.strip())


def _passages(material: Material) -> str:
    """Return the note that tells passages: the first ones, as many as fit into half of the budget."""
    if not material.passages:
        return ""
    room, found = material.budget // 2, list[str]()
    for passage in material.passages:
        text = printable(passage).strip()
        if text and not found:
            text = ends(text, 4 * room)
        room -= size_of_text(material.audience, text)
        if room < 0 and found:
            break
        found += [text] if text else []
    numbered = "\n\n".join(f"[{number}] {text}" for number, text in enumerate(found, 1))
    return note(f"passages found for the question below:\n{numbered}") if found else ""


def _summary(entry: Entry | None) -> str:
    """Return the note that tells a summary; nothing if there is none."""
    if entry is None or not isinstance(entry.body, Summary) or not entry.body.content.strip():
        return ""
    text = printable(entry.body.content).strip()
    return note(f"summary of the earlier conversation, which is not shown in full:\n{text}")


def _with_aside(history: list[Line], current: Turn, beside: str, material: Material) -> list[Line]:
    """Return the history with a text before the current question, or behind it all where there is no question."""
    if not current or not current[0].opens:
        return [*history, own_line(material.audience, "beside", beside)]
    question = current[0]
    asked = question.saying(with_text(question.message, _joined(beside, question.message.content)))
    return [asked if line is question else line for line in history]


def _with_notes(history: list[Line], material: Material) -> list[Line]:
    """Return the history with our notes for this one call: that an attempt was cut off, that the limit of tool calls
    was reached.

    After a tool's result a note becomes part of it, marked: Gemini takes nothing but results there, and a message of
    its own would have to be a user's.
    """
    if not (text := "\n\n".join([note(printable(text).strip()) for text in material.notes if text.strip()])):
        return history
    if not history or history[-1].shown.role is not Role.TOOL:
        return [*history, own_line(material.audience, "notes", text)]
    last = history[-1]
    return [*history[:-1], last.saying(with_text(last.shown, f"{last.shown.content}\n\n{text}"))]
