"""Our notes for this one call, at its very end: that an attempt was cut off, that the limit of tool calls was reached.

After a tool's result a note becomes part of it, marked: Gemini takes nothing but results there, and a message of its
own would have to be a user's.
"""

from dataclasses import replace

from threadkeep.context.base import Working
from threadkeep.context.marks import note, own, with_text
from threadkeep.conversation.message import Role


def notes(working: Working) -> Working:
    """Append the notes."""
    text = "\n\n".join(note(text.replace("\x00", "\ufffd").strip()) for text in working.material.notes if text.strip())
    if not text:
        return working
    if not working.messages or working.messages[-1].role is not Role.TOOL:
        return replace(working, messages=(*working.messages, own("notes", text)))
    *before, last = working.messages
    return replace(working, messages=(*before, with_text(last, f"{last.content}\n\n{text}")))
