"""Lists that answers have shown: ranked lists, tables and comparisons, and lists written as text.

A person says "the second one" or "the Samsung one" of them. What is kept of a list is the name of each item, and its
numbers, so that "the cheaper one" can be told as well.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from threadkeep.conversation.blocks import Block, RankedList, SplitCompare, Table
from threadkeep.conversation.message import Message, Role

MAX_ITEMS = 100
MAX_NAME = 120
MAX_LINE = 400
"""How much of a line is looked at: what its name is, and its price."""
_NAMES = ("name", "title", "label", "ticker", "symbol", "id")
_LINE = re.compile(r"^[ \t]*(?:\d{1,3}[.)]|[-*•])[ \t]+(?P<text>\S.*)$", re.MULTILINE)
_NUMBERED = re.compile(r"^[ \t]*1[.)][ \t]", re.MULTILINE)
_BOLD = re.compile(r"\*\*(.+?)\*\*|`(.+?)`|\[(.+?)\]\(")
_NAME_END = re.compile(r"\s[-–—|]\s|[:;(]|,\s|\.\s|\.$")  # noqa: RUF001 - dashes that models write
_PROPERTY = re.compile(r"[a-z][a-z ]{0,30}: [^$€£]{1,40}")
_AMOUNT = r"((?<!\d)\d++(?:,\d{3})*+(?:\.\d++)?+)"
_MONEY = re.compile(rf"(?:[$€£]\s?|USD\s|EUR\s){_AMOUNT}|{_AMOUNT}\s?(?:[$€£]|USD|EUR)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One row: its names, the one to look for first, and the numbers that it was shown with."""

    names: tuple[str, ...]
    numbers: Mapping[str, float]


ShownList = tuple[Item, ...]


def shown_lists(history: Sequence[Message]) -> list[list[ShownList]]:
    """Return the lists of each answer that showed any, in the order in which they were shown."""
    answers = (_of_answer(message) for message in history if message.role is Role.ASSISTANT)
    return [lists for lists in answers if lists]


def _of_answer(message: Message) -> list[ShownList]:
    found = [shown for block in message.blocks if (shown := _of_block(block))]
    # An answer with blocks often says the same in its text once more.
    return found or _of_text(message.content)


def _of_block(block: Block) -> ShownList:
    match block:
        case RankedList():
            return _items(block.rows)
        case SplitCompare():
            return _items([{"name": block.leftTitle}, {"name": block.rightTitle}])
        case Table():
            named = [
                {_NAMES[0]: row[0], **dict(zip(block.columns[1:], row[1:], strict=False))} for row in block.rows if row
            ]
            return _items(named)
        case _:
            extra = block.model_extra or {}
            rows: list[object] = next(
                (extra[key] for key in ("rows", "items", "products") if isinstance(extra.get(key), list)), []
            )
            return _items(row for row in rows if isinstance(row, dict))


def _items(rows: Iterable[Mapping[str, Any]]) -> ShownList:
    items = []
    for row, _ in zip(rows, range(MAX_ITEMS), strict=False):
        names = [str(row[key])[:MAX_NAME] for key in _NAMES if row.get(key) not in (None, "")]
        numbers = {key.lower(): float(value) for key, value in row.items() if _is_number(value)}
        if names:
            items.append(Item(names=tuple(dict.fromkeys(names)), numbers=numbers))
    return tuple(items)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1e300


def _of_text(text: str) -> list[ShownList]:
    """Return the lists of a text: lines with numbers or dots, begun anew by a line with a 1 or by a paragraph."""
    groups: list[list[str]] = [[]]
    end = 0
    for line in list(_LINE.finditer(text))[: 2 * MAX_ITEMS]:
        gap = text[end : line.start()]
        if groups[-1] and (gap.strip() or _NUMBERED.match(line.group())):
            groups.append([])
        groups[-1].append(line["text"])
        end = line.end()
    # What a thing has ("- weight: 169 g") is no list of things: nobody means a place in it.
    things = [group for group in groups if len(group) > 1 and not all(map(_PROPERTY.fullmatch, group))]
    return [tuple(map(_of_line, group[:MAX_ITEMS])) for group in things]


def _of_line(line: str) -> Item:
    text = line[:MAX_LINE]
    bold = _BOLD.search(text)
    name = next(part for part in bold.groups() if part) if bold else _NAME_END.split(text, maxsplit=1)[0]
    money = _MONEY.search(text)
    amount = next((part for part in money.groups() if part), "") if money else ""
    numbers = {"price": float(amount.replace(",", ""))} if amount else {}
    return Item(names=((name.strip(" *`") or text.strip())[:MAX_NAME],), numbers=numbers)
