"""The system message: one, and the first (R-A1).

System messages that begin the log belong to it. A later one becomes a marked note where it stands: providers want the
system message first, and moving a later one there would change the beginning of every request after it.
"""

from dataclasses import replace
from itertools import takewhile

from threadkeep.context.base import Line, Working
from threadkeep.context.history import lines_of
from threadkeep.context.marks import note
from threadkeep.conversation.message import Message, Role


def instructions(working: Working) -> Working:
    """Put the assistant's instructions and those that begin the log together, and mark later ones."""
    opening = {line.seq: line.message.content for line in lines_of(working.material.opening) if _is_system(line)}
    if not working.material.cut.first:
        opening |= {line.seq: line.message.content for line in takewhile(_is_system, working.lines)}
    texts = [working.material.instructions.replace("\x00", "\ufffd"), *opening.values()]
    lines = tuple(_marked(line) for line in working.lines if line.seq not in opening)
    return replace(working, system="\n\n".join(text for text in texts if text.strip()), lines=lines)


def _is_system(line: Line) -> bool:
    return line.message.role is Role.SYSTEM


def _marked(line: Line) -> Line:
    if not _is_system(line):
        return line
    text = note(f"instructions given at this point: {line.message.content}")
    return replace(line, message=Message(id=line.message.id, role=Role.USER, content=text))
