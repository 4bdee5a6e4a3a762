"""Charts as SVG without script: lines or bars with an axis and a legend, or the parts of a whole as a ring.

Colours are classes of the file's one style sheet, because its policy allows no other style.
"""

import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from threadkeep.server.export.text import safe
from threadkeep.text.grids import Series

_PIE = re.compile("pie|donut|doughnut", re.IGNORECASE)
_BARS = re.compile(f"bar|column|hist|{_PIE.pattern}", re.IGNORECASE)
CHART_STYLE = """
svg { width: 100%; height: auto; }
svg text { font: 12px system-ui, sans-serif; fill: currentColor; }
.grid { stroke: #8886; }
.mark { fill: var(--c); }
.part { stroke: Canvas; stroke-width: 2; }
.line { fill: none; stroke: var(--c); stroke-width: 2; }
.c0 { --c: #2b8cc4; } .c1 { --c: #d9691e; } .c2 { --c: #149c76; }
.c3 { --c: #b8639b; } .c4 { --c: #a67c00; } .c5 { --c: #7d828b; }
.c1 .line { stroke-dasharray: 7 3; } .c2 .line { stroke-dasharray: 2 3; } .c3 .line { stroke-dasharray: 9 3 2 3; }
"""
WIDTH, HEIGHT = 640, 260
LEFT, RIGHT, TOP, BOTTOM = 72, 628, 12, 210
COLOURS = 6
MOST_PLACES = 500
CENTRE, OUTER, INNER = 110, 100, 62
RING_LEFT, RING_LINE = 250, 26
LONGEST_NAME = 28
SHORT_UNIT = 2


def chart_svg(kind: str, series: Sequence[Series], unit: str) -> str:
    """Return the drawing of series that have at least one value: a ring, bars or lines, as the kind says."""
    if _PIE.search(kind) and _is_whole(series):
        return _ring(series[0], unit)
    return _axes(series, is_bars=bool(_BARS.search(kind)), unit=unit)


def _axes(series: Sequence[Series], *, is_bars: bool, unit: str) -> str:
    drawn = [Series(one.name, {x: _bounded(y) for x, y in one.values.items()}) for one in series if one.values][
        :COLOURS
    ]
    places = list(dict.fromkeys(place for one in drawn for place in one.values))[:MOST_PLACES]
    numbers = [number for one in drawn for number in one.values.values()]
    steps = _steps(min(numbers), max(numbers), from_zero=is_bars)
    marks = _bars if is_bars or len(places) == 1 else _line
    groups = (
        f'<g class="c{at}">{marks([one.values.get(place) for place in places], at, len(drawn), steps)}</g>'
        for at, one in enumerate(drawn)
    )
    parts = (*_axis(steps, unit), *_names(places), *groups, *_legend(drawn))
    label = safe(", ".join(one.name for one in drawn))
    return f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">\n' + "\n".join(parts) + "\n</svg>"


def _bounded(number: float) -> float:
    """Return a number limited to a range in which differences do not overflow."""
    return 0.0 if abs(number) < 1e-300 else max(-1e300, min(number, 1e300))


def _steps(low: float, high: float, *, from_zero: bool) -> list[float]:
    """Return about five round numbers that hold all values between them."""
    if from_zero or 0 < low < high * 0.4:
        low, high = min(low, 0.0), max(high, 0.0)
    span = (high / 4 - low / 4) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span))
    step = next(power * factor for factor in (1, 2, 2.5, 5, 10) if power * factor >= span * 0.999)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [place * step for place in range(first, max(last, first + 1) + 1)]


def _short_number(number: float) -> str:
    """Return a number for an axis or a legend: large ones with a letter."""
    for size, letter in ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e4, "")):
        if size <= abs(number) < 1e15:
            return f"{number / size:.4g}{letter}" if letter else f"{number:,.0f}"
    return f"{number:.4g}"


def _y(value: float, steps: list[float]) -> float:
    share = (value / 2 - steps[0] / 2) / (steps[-1] / 2 - steps[0] / 2)
    return round(BOTTOM - share * (BOTTOM - TOP), 1)


def _slot(places: int) -> float:
    return (RIGHT - LEFT) / places


def _axis(steps: list[float], unit: str) -> Iterator[str]:
    # A short unit stands with each number, a longer one once above them: there is no more room.
    if len(unit) > SHORT_UNIT:
        yield f'<text x="{LEFT}" y="{TOP - 2}">{safe(unit)}</text>'
        unit = ""
    for step in steps:
        at = _y(step, steps)
        yield f'<line class="grid" x1="{LEFT}" x2="{RIGHT}" y1="{at}" y2="{at}"/>'
        number = safe(f"{_short_number(step)} {unit}".strip())
        yield f'<text x="{LEFT - 8}" y="{at + 4}" text-anchor="end">{number}</text>'


def _names(places: list[str]) -> Iterator[str]:
    slot = _slot(len(places))
    every = math.ceil(72 / slot)
    room = max(4, int(slot * every / 7.5))
    for at, place in enumerate(places):
        if at % every == 0:
            short = place if len(place) <= room else f"{place[: room - 1]}…"
            x = LEFT + slot * (at + 0.5)
            yield f'<text x="{x:.1f}" y="{BOTTOM + 18}" text-anchor="middle">{safe(short)}</text>'


def _bars(values: list[float | None], at: int, of: int, steps: list[float]) -> str:
    slot = _slot(len(values))
    wide = min(slot * 0.72 / of, 60)
    ground = _y(min(max(0.0, steps[0]), steps[-1]), steps)
    return "".join(
        f'<rect class="mark" x="{LEFT + slot * (place + 0.5) - wide * of / 2 + wide * at:.1f}" '
        f'y="{min(_y(value, steps), ground)}" width="{max(wide - 1, 0.5):.1f}" '
        f'height="{max(abs(_y(value, steps) - ground), 0.5):.1f}"/>'
        for place, value in enumerate(values)
        if value is not None
    )


def _line(values: list[float | None], at: int, of: int, steps: list[float]) -> str:
    slot = _slot(len(values))
    points = " ".join(
        f"{LEFT + slot * (place + 0.5):.1f},{_y(value, steps)}"
        for place, value in enumerate(values)
        if value is not None
    )
    return f'<polyline class="line" points="{points}"/>'


def _legend(drawn: list[Series]) -> Iterator[str]:
    slot = (RIGHT - LEFT) / len(drawn)
    room = max(4, int(slot / 8))
    for at, one in enumerate(drawn):
        x = LEFT + slot * at
        name = one.name if len(one.name) <= room else f"{one.name[: room - 1]}…"
        yield f'<g class="c{at}"><rect class="mark" x="{x:.1f}" y="{HEIGHT - 20}" width="12" height="12"/></g>'
        yield f'<text x="{x + 18:.1f}" y="{HEIGHT - 10}">{safe(name)}</text>'


@dataclass(frozen=True, slots=True)
class Part:
    """One part: its name, its value, and where it begins and ends as shares of the whole."""

    name: str
    value: float
    begin: float
    end: float


def _is_whole(series: Sequence[Series]) -> bool:
    """Whether values are parts of one whole: a single series, no negative value, and a sum above zero."""
    values = [_bounded(value) for one in series for value in one.values.values()]
    return len(series) == 1 and min(values, default=-1.0) >= 0 and max(values) > 0


def _ring(series: Series, unit: str) -> str:
    parts = _parts({name: _bounded(value) for name, value in series.values.items()})
    drawn = (
        f'<path class="mark part c{at}" fill-rule="evenodd" d="{_outline(part)}"/>' for at, part in enumerate(parts)
    )
    top = CENTRE - RING_LINE * (len(parts) - 1) / 2 + 4
    legend = (text for at, part in enumerate(parts) for text in _part_legend(part, at, top + RING_LINE * at, unit))
    label = safe(", ".join(f"{part.name} {_share(part)}" for part in parts))
    inside = "\n".join((*drawn, *legend))
    return f'<svg viewBox="0 0 {WIDTH} {2 * CENTRE}" role="img" aria-label="{label}">\n{inside}\n</svg>'


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


def _part_legend(part: Part, at: int, y: float, unit: str) -> Iterator[str]:
    """Return the line of one part; if the values are percentages, the shares are not repeated."""
    name = part.name if len(part.name) <= LONGEST_NAME else f"{part.name[: LONGEST_NAME - 1]}…"
    number, share = f"{_short_number(part.value)} {unit}".strip(), _share(part)
    if unit == "%":
        number, share = "", f"{_short_number(part.value)}%"
    yield f'<rect class="mark c{at}" x="{RING_LEFT}" y="{y - 10}" width="12" height="12"/>'
    yield f'<text x="{RING_LEFT + 20}" y="{y}">{safe(name)}</text>'
    yield f'<text x="{WIDTH - 80}" y="{y}" text-anchor="end">{safe(number)}</text>'
    yield f'<text x="{WIDTH - 10}" y="{y}" text-anchor="end">{share}</text>'
