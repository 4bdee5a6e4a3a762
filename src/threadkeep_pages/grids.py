"""Blocks as rows and columns, for readers of a file that was exported: ranked lists, comparisons, tables and charts.

Blocks come from models and from other programs, so a field that is odd is shown as what it is and never in the way.
How a grid is written down is up to `markdown.py` and to the HTML export; what a model sees of blocks: `context/`.
"""

import json
import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from threadkeep.conversation.blocks import Block, Chart, RankedList, SplitCompare, Table

_FIRST = ("ticker", "symbol", "name", "title", "label", "score")
_IS_RANK = frozenset({"rank", "#", "position"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """A table of text; `named` says that the first cell of each row names the row."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    named: bool = False


@dataclass(frozen=True, slots=True)
class Series:
    """One series of a chart: its name, and its values by their place on the x axis."""

    name: str
    values: dict[str, float]


def ranked(block: RankedList) -> Grid:
    """Return a ranked list with a number for each row and a column for each field that one of them has."""
    seen = dict.fromkeys(key for row in block.rows for key in row if key not in _IS_RANK)
    keys = [key for key in _FIRST if key in seen] + [key for key in seen if key not in _FIRST]
    rows = ((str(place), *(cell_text(row.get(key)) for key in keys)) for place, row in enumerate(block.rows, start=1))
    return Grid(title=field_text(block, "title"), columns=("#", *keys), rows=tuple(rows))


def compared(block: SplitCompare) -> Grid:
    """Return two things side by side: a row for each name where both have names, else a row for each pair of items."""
    title, left, right = field_text(block, "title"), block.left, block.right
    if isinstance(left, dict) and isinstance(right, dict):
        named = ((key, cell_text(left.get(key)), cell_text(right.get(key))) for key in dict.fromkeys((*left, *right)))
        return Grid(title=title, columns=("", block.leftTitle, block.rightTitle), rows=tuple(named), named=True)
    rows = zip_longest(_items(left), _items(right), fillvalue="")
    return Grid(title=title, columns=(block.leftTitle, block.rightTitle), rows=tuple(rows))


def tabled(block: Table) -> Grid:
    """Return a table in which every row is as wide as the widest."""
    width = max((len(block.columns), *(len(row) for row in block.rows)))
    rows = (tuple(cell_text(value) for value in row) for row in block.rows)
    return Grid(
        title=field_text(block, "title"),
        columns=_as_wide(tuple(block.columns), width),
        rows=tuple(_as_wide(row, width) for row in rows),
    )


def charted(block: Chart) -> Grid:
    """Return the numbers of a chart: a row for each place on the x axis, a column for each series."""
    series = _series(block)
    places = dict.fromkeys(place for one in series for place in one.values)
    rows = ((place, *(_number_text(one.values.get(place)) for one in series)) for place in places)
    names = (_with_unit(one.name, given.get("unit")) for one, given in zip(series, block.series, strict=True))
    columns = (field_text(block, "unit"), *names)
    return Grid(title=field_text(block, "title"), columns=columns, rows=tuple(rows), named=True)


def _series(block: Chart) -> tuple[Series, ...]:
    """Return what a chart draws: `points` of x and y, or `values` beside the chart's labels."""
    given = (block.model_extra or {}).get("labels")
    labels = [cell_text(label) for label in given] if isinstance(given, list) else []
    return tuple(
        Series(cell_text(one.get("name") or one.get("label")) or f"Series {place}", _values(one, labels))
        for place, one in enumerate(block.series, start=1)
    )


def _with_unit(name: str, unit: object) -> str:
    return f"{name} ({cell_text(unit)})" if unit else name


def field_text(block: Block, name: str) -> str:
    """Return a further field of a block as text in one line; nothing where there is none."""
    return " ".join(cell_text((block.model_extra or {}).get(name)).split())


def cell_text(value: object) -> str:
    """Return any JSON value as text: words as they are, a plain list with commas, anything deeper as JSON."""
    if value is None:
        return ""
    if isinstance(value, list) and not any(isinstance(item, list | dict) for item in value):
        return ", ".join(cell_text(item) for item in value)
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _values(one: dict[str, Any], labels: list[str]) -> dict[str, float]:
    listed: list[Any] = next((one[key] for key in ("points", "values", "data") if isinstance(one.get(key), list)), [])
    pairs = (_pair(item, labels[place] if place < len(labels) else place + 1) for place, item in enumerate(listed))
    return {place: number for place, number in pairs if place and number is not None}


def _pair(item: object, place: object) -> tuple[str, float | None]:
    match item:
        case [x, y, *_]:
            return cell_text(x), _number(y)
        case dict():
            x = next((item[key] for key in ("x", "label", "date", "name") if key in item), place)
            return cell_text(x), _number(item.get("y", item.get("value")))
        case _:
            return cell_text(place), _number(item)


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _number_text(number: float | None) -> str:
    if number is None:
        return ""
    return str(int(number)) if number.is_integer() and abs(number) < 1e15 else str(number)


def _items(side: object) -> list[str]:
    match side:
        case list():
            return [cell_text(item) for item in side]
        case dict():
            return [f"{key}: {cell_text(value)}" for key, value in side.items()]
        case _:
            return [cell_text(side)]


def _as_wide(row: Iterable[str], width: int) -> tuple[str, ...]:
    cells = tuple(row)
    return cells + ("",) * (width - len(cells))
