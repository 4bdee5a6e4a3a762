"""Blocks in a file of HTML: tables for what is ranked, compared and listed, a drawing with its numbers for a chart."""

import re

from threadkeep.conversation.blocks import Block, Chart, Citation, Narrative, RankedList, SplitCompare, Table
from threadkeep.server.html_chart import drawing
from threadkeep.server.html_pie import is_whole, ring
from threadkeep.server.html_text import json_text, prose, safe
from threadkeep.text.grids import Grid, charted, compared, field_text, ranked, series_of, tabled

_PIE = re.compile("pie|donut|doughnut", re.IGNORECASE)
_BARS = re.compile(f"bar|column|hist|{_PIE.pattern}", re.IGNORECASE)


def block_html(block: Block) -> str:
    """Return one block; a type that is not known is shown as its JSON."""
    match block:
        case Narrative():
            return prose(block.text)
        case RankedList():
            return _table(ranked(block))
        case SplitCompare():
            return _table(compared(block))
        case Table():
            return _table(tabled(block))
        case Chart() if (grid := charted(block)).rows:
            return _chart(block, grid)
        case Citation():
            return _citation(block)
        case _:
            return f"<pre>\n{safe(json_text(block.model_dump(mode='json')))}</pre>"


def _table(grid: Grid) -> str:
    title = f'<caption dir="auto">{safe(grid.title)}</caption>\n' if grid.title else ""
    head = "".join(f'<th scope="col" dir="auto">{safe(column)}</th>' for column in grid.columns)
    rows = "".join(f"<tr>{_row(row, grid.named)}</tr>\n" for row in grid.rows)
    return f"<table>\n{title}<thead><tr>{head}</tr></thead>\n<tbody>\n{rows}</tbody>\n</table>"


def _row(row: tuple[str, ...], named: bool) -> str:
    name = f'<th scope="row" dir="auto">{safe(row[0])}</th>' if named else ""
    return name + "".join(f'<td dir="auto">{safe(text)}</td>' for text in row[int(named) :])


def _chart(block: Chart, grid: Grid) -> str:
    title = f'<figcaption dir="auto">{safe(grid.title)}</figcaption>\n' if grid.title else ""
    series, unit = series_of(block), _unit(block)
    if _PIE.search(block.chart) and is_whole(series):
        drawn = ring(series[0], unit)
    else:
        drawn = drawing(series, is_bars=bool(_BARS.search(block.chart)), unit=unit)
    numbers = f"<details><summary>Numbers</summary>{_table(grid)}</details>"
    return f"<figure>\n{title}{drawn}\n{numbers}\n</figure>"


def _unit(block: Chart) -> str:
    """Return the unit that all values of a chart have; nothing where they differ."""
    units = dict.fromkeys(str(one["unit"]) for one in block.series if one.get("unit"))
    return next(iter(units), field_text(block, "unit")) if len(units) < 2 else ""


def _citation(block: Citation) -> str:
    parts = dict.fromkeys((field_text(block, "title"), block.source, field_text(block, "url")))
    cited = field_text(block, "text")
    quote = f'\n<blockquote dir="auto">{safe(cited)}</blockquote>' if cited else ""
    return f'<p class="note" dir="auto">Source: {safe(", ".join(part for part in parts if part))}</p>{quote}'
