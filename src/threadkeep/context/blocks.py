"""Blocks as text, for models, which read and do not look (R-D5). It stands before the content, or instead of it."""

from typing import Any

from threadkeep.context.marks import NO_CONTENT
from threadkeep.conversation.blocks import Block, Chart, Citation, Narrative, RankedList, SplitCompare, Table
from threadkeep.conversation.message import Message, Role
from threadkeep.text.excerpt import OLD, head

_NAMES = ("ticker", "name", "title", "label", "id")


def text_of(message: Message) -> str:
    """Return the text of a message: an assistant that calls tools may stay silent, nobody else.

    What its blocks say is not said twice where the content says it too, or is no more than that.
    """
    shown = text_of_blocks(message)
    if not message.content.strip() or message.content.strip() in shown:
        return shown or ("" if message.tool_calls else NO_CONTENT)
    return message.content if shown in message.content else f"{shown}\n\n{message.content}"


def old_text_of(message: Message) -> str:
    """Return what is left of an old answer: the text of its blocks or else its content, 200 characters at most."""
    return head(text_of_blocks(message) or message.content, OLD)


def text_of_blocks(message: Message) -> str:
    """Return the texts of all blocks of an answer, joined by spaces."""
    if not message.blocks or message.role is not Role.ASSISTANT:
        return ""
    texts = (text_of_block(block).replace("\x00", "\ufffd").strip() for block in message.blocks)
    return " ".join(text for text in texts if text)


def text_of_block(block: Block) -> str:
    """Return a short text that says what was shown."""
    match block:
        case Narrative():
            return block.text
        case RankedList():
            return f"Showed ranked list: {_first_five([_name(row) for row in block.rows])}"
        case SplitCompare():
            return f"Compared {block.leftTitle} vs {block.rightTitle}"
        case Table():
            return f"Showed table: {_first_five(block.columns)} ({len(block.rows)} rows)"
        case Chart():
            return f"Showed {block.chart} chart: {_first_five([_name(series) for series in block.series])}"
        case Citation():
            return f"Cited {block.source}"
        case _:
            return f"Showed {block.type}"


def _first_five(names: list[str]) -> str:
    return ", ".join(names[:5]) + ("..." if len(names) > 5 else "")


def _name(row: dict[str, Any]) -> str:
    return next((str(row[key]) for key in _NAMES if row.get(key)), "unnamed")
