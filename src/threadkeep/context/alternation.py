"""User and assistant by turns, as the strictest providers want it.

Neighbours of one role are merged, a missing side is filled with a short note of ours: before an answer that nothing
led to, after results that nobody answered, and behind an answer that is last. It runs when tool calls are paired up.
"""

from collections.abc import Iterable
from dataclasses import replace

from threadkeep.context.base import Working
from threadkeep.context.marks import own
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import Reasoning
from threadkeep.text.notes import note

OPENING = note("the conversation goes on from here")
UNANSWERED = note("no answer was given")
GO_ON = note("please go on")


def alternation(working: Working) -> Working:
    """Merge neighbours and fill gaps."""
    system = [message for message in working.messages if message.role is Role.SYSTEM]
    others = (message for message in working.messages if message.role is not Role.SYSTEM)
    return replace(working, messages=(*system, *alternated(others)))


def alternated(messages: Iterable[Message]) -> list[Message]:
    """Return the messages by turns."""
    others = _merged(messages)
    if others and others[0].role is not Role.USER:
        others.insert(0, own("beginning", OPENING))
    if not others or others[-1].role is Role.ASSISTANT:
        others.append(own("end", GO_ON))
    return _answered(others)


def _merged(messages: Iterable[Message]) -> list[Message]:
    merged: list[Message] = []
    for message in messages:
        if merged and _belong_together(merged[-1], message):
            merged[-1] = _joined(merged[-1], message)
        else:
            merged.append(message)
    return merged


def _belong_together(first: Message, second: Message) -> bool:
    return first.role is second.role and first.role is not Role.TOOL and not first.tool_calls


def _joined(first: Message, second: Message) -> Message:
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
    return first.model_copy(update={"content": text, "parts": parts, "tool_calls": second.tool_calls, "tokens": None})


def _answered(messages: list[Message]) -> list[Message]:
    """Put a note between results and the question that follows them without an answer."""
    filled: list[Message] = []
    for message in messages:
        if filled and filled[-1].role is Role.TOOL and message.role is Role.USER:
            filled.append(own(f"unanswered-{len(filled)}", UNANSWERED, Role.ASSISTANT))
        filled.append(message)
    return filled
