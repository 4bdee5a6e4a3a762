"""Parts of a whole as a ring in a file of HTML: SVG with a legend that tells each part's value and share.

Colours are classes of the file's one style sheet (`html_chart.py`); the numbers stand below as a table.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from threadkeep.server.html_chart import COLOURS, bounded, short_number
from threadkeep.server.html_text import safe
from threadkeep.text.grids import Series

WIDTH, LINE = 640, 26
CENTRE, OUTER, INNER = 110, 100, 62
LEFT = 250
LONGEST_NAME = 28


@dataclass(frozen=True, slots=True)
class Part:
    """One part: its name, its value, and where it begins and ends as shares of the whole."""

    name: str
    value: float
    begin: float
    end: float


def is_whole(series: Sequence[Series]) -> bool:
    """Whether values are parts of one whole: a single series, nothing below zero, and more than nothing in all."""
    values = [bounded(value) for one in series for value in one.values.values()]
    return len(series) == 1 and min(values, default=-1.0) >= 0 and max(values) > 0


def ring(series: Series, unit: str = "") -> str:
    """Return the drawing of a series that is a whole."""
    parts = _parts({name: bounded(value) for name, value in series.values.items()})
    drawn = (
        f'<path class="mark part c{at}" fill-rule="evenodd" d="{_outline(part)}"/>' for at, part in enumerate(parts)
    )
    top = CENTRE - LINE * (len(parts) - 1) / 2 + 4
    legend = (text for at, part in enumerate(parts) for text in _legend(part, at, top + LINE * at, unit))
    said = safe(", ".join(f"{part.name} {_share(part)}" for part in parts))
    inside = "\n".join((*drawn, *legend))
    return f'<svg viewBox="0 0 {WIDTH} {2 * CENTRE}" role="img" aria-label="{said}">\n{inside}\n</svg>'


def _parts(values: dict[str, float]) -> list[Part]:
    """Return the parts in their order; of very many, the smaller ones are one part."""
    shown = {name: value for name, value in values.items() if value > 0}
    if len(shown) > COLOURS:
        largest = sorted(shown, key=lambda name: -shown[name])[: COLOURS - 1]
        others = sum(value for name, value in shown.items() if name not in largest)
        label = f"{len(shown) - len(largest)} others"
        shown = {name: value for name, value in shown.items() if name in largest} | {label: others}
    total, parts, begin = sum(shown.values()), [], 0.0
    for name, value in shown.items():
        parts.append(Part(name, value, begin, begin + value / total))
        begin = parts[-1].end
    return parts


def _share(part: Part) -> str:
    return f"{round(100 * (part.end - part.begin), 1):g}%"


def _outline(part: Part) -> str:
    """Return the outline of a part. One that is all is two circles, which no single arc can draw."""
    if part.end - part.begin > 0.9999:
        return _circle(OUTER) + _circle(INNER)
    large = int(part.end - part.begin > 0.5)
    outer = f"M{_point(part.begin, OUTER)}A{OUTER} {OUTER} 0 {large} 1 {_point(part.end, OUTER)}"
    return f"{outer}L{_point(part.end, INNER)}A{INNER} {INNER} 0 {large} 0 {_point(part.begin, INNER)}Z"


def _circle(radius: int) -> str:
    top, bottom = _point(0, radius), _point(0.5, radius)
    return f"M{top}A{radius} {radius} 0 1 1 {bottom}A{radius} {radius} 0 1 1 {top}Z"


def _point(share: float, radius: int) -> str:
    """Return where a share of the way around is, clockwise from the top."""
    angle = share * 2 * math.pi
    return f"{CENTRE + radius * math.sin(angle):.2f} {CENTRE - radius * math.cos(angle):.2f}"


def _legend(part: Part, at: int, y: float, unit: str) -> Iterator[str]:
    """Return the line of one part; where the values are shares already, no others are told."""
    name = part.name if len(part.name) <= LONGEST_NAME else f"{part.name[: LONGEST_NAME - 1]}…"
    number, share = f"{short_number(part.value)} {unit}".strip(), _share(part)
    if unit == "%":
        number, share = "", f"{short_number(part.value)}%"
    yield f'<rect class="mark c{at}" x="{LEFT}" y="{y - 10}" width="12" height="12"/>'
    yield f'<text x="{LEFT + 20}" y="{y}">{safe(name)}</text>'
    yield f'<text x="{WIDTH - 80}" y="{y}" text-anchor="end">{safe(number)}</text>'
    yield f'<text x="{WIDTH - 10}" y="{y}" text-anchor="end">{share}</text>'
