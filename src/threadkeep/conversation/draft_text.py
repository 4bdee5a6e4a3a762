"""The text of a message being written: what a model thinks and what it says, in one stream of characters.

Drafts, and the offsets in cursors, count the characters of this stream. One mark stands before each piece of reasoning,
another before the answer's text that follows it; a message without reasoning has no marks. The marks are Unicode
noncharacters: in a model's own text they are replaced. A finished message has the same stream, so a reader can come
back to any place in it.
"""

import re
from collections.abc import Iterator

from threadkeep.conversation.message import Message
from threadkeep.conversation.parts import Reasoning, in_order

THOUGHT, SAID = "\ufdd0", "\ufdd1"
"""The marks before a piece of reasoning, and before the text that follows one."""
_PIECES = re.compile(f"([{THOUGHT}{SAID}]?)([^{THOUGHT}{SAID}]*)")


def without_marks(text: str) -> str:
    """Return a text with its marks replaced."""
    return text if text.isascii() else text.replace(THOUGHT, "\ufffd").replace(SAID, "\ufffd")


def marks_as_lines(stream: str) -> str:
    """Return a stream as plain text of the same length: a mark becomes the end of a line."""
    return stream.replace(THOUGHT, "\n").replace(SAID, "\n")


def pieces(text: str, is_thought: bool = False) -> Iterator[tuple[bool, str, int]]:
    """Yield the pieces of a stream or of a part of one: whether each is reasoning (`is_thought` for a first piece
    without a mark), its text, and its length including its mark."""
    if text and text.isascii():
        yield is_thought, text, len(text)
        return
    for found in _PIECES.finditer(text):
        mark, said = found.groups()
        is_thought = mark == THOUGHT if mark else is_thought
        if said:
            yield is_thought, said, len(mark) + len(said)


def ends_thinking(stream: str) -> bool:
    """Whether a stream ends with reasoning."""
    return stream.rfind(THOUGHT) > stream.rfind(SAID)


def stream_of(message: Message) -> str:
    """Return the stream that a message is, or was, written as."""
    if not any(isinstance(part, Reasoning) for part in message.parts):
        return message.content
    stream, is_thought = list[str](), False
    for piece in in_order(message.content, [part for part in message.parts if isinstance(part, Reasoning)]):
        if isinstance(piece, str):
            stream.append(SAID + piece if is_thought else piece)
            is_thought = False
        elif isinstance(piece, Reasoning) and piece.text:
            stream.append(THOUGHT + piece.text)
            is_thought = True
    return "".join(stream)


def split_stream(stream: str) -> tuple[str, tuple[Reasoning, ...]]:
    """Return what is said in a stream, and what is thought, each at its place."""
    said, thoughts = "", list[Reasoning]()
    for is_thought, text, _ in pieces(stream):
        if is_thought:
            thoughts.append(Reasoning(text=text, at=len(said)))
        else:
            said += text
    return said, tuple(thoughts)
