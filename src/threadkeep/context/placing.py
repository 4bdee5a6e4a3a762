"""Putting the parts in order: the system message, what stands for the missing beginning, the history, the question.

What belongs to this question only (recalled entries, passages) goes into the question's own message, before its text,
so that everything in front of it stays the same bytes from turn to turn.
"""

from dataclasses import replace

from threadkeep.context.base import Line, Working
from threadkeep.context.history import in_turns
from threadkeep.context.marks import own, with_text
from threadkeep.conversation.message import Message, Role
from threadkeep.text.excerpt import ends
from threadkeep.text.notes import note


def passages(working: Working) -> Working:
    """Put the passages beside the question: the first ones, as many as fit into half of the budget."""
    found = _fitting(working)
    if not found:
        return working
    numbered = "\n\n".join(f"[{number}] {text}" for number, text in enumerate(found, 1))
    return replace(working, beside=(*working.beside, note(f"passages found for the question below:\n{numbered}")))


def _fitting(working: Working) -> list[str]:
    material = working.material
    room, found = material.budget // 2, list[str]()
    for passage in material.passages:
        text = passage.replace("\x00", "\ufffd").strip()
        if text and not found:
            text = ends(text, 4 * room)
        room -= material.count(own("size", text))
        if room < 0 and found:
            break
        found += [text] if text else []
    return found


def placing(working: Working) -> Working:
    """Turn the parts into a list of messages."""
    earlier, current = in_turns(working.lines, working.material.turn)
    system = [own("system", working.system, Role.SYSTEM)] if working.system else []
    opening = [own("opening", "\n\n".join(working.opening))] if working.opening else []
    history = [line.message for turn in earlier for line in turn]
    messages = [*system, *opening, *history, *_with_asides(current, working.beside)]
    return replace(working, messages=tuple(_bare(message) for message in messages))


def _with_asides(current: tuple[Line, ...], beside: tuple[str, ...]) -> list[Message]:
    messages = [line.message for line in current]
    if not beside:
        return messages
    if not current or not current[0].opens:
        return [*messages, own("beside", "\n\n".join(beside))]
    return [with_text(messages[0], "\n\n".join([*beside, messages[0].content])), *messages[1:]]


def _bare(message: Message) -> Message:
    """Return the message without what no model reads."""
    if not message.blocks and not message.tool_trace:
        return message
    return message.model_copy(update={"blocks": (), "tool_trace": ()})
