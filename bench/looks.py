"""Holds the page to its scale: a size, weight, radius, distance or colour stands in `scale.css` and nowhere else.

python -m bench.looks   names each declaration with a value of its own; exit code 1 if there is one (in `make check`)

What a thing measures (a width, a line of one pixel, the place of a dot) is its own business.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

WEB = Path(__file__).parents[1] / "src" / "threadkeep_pages" / "web"
SCALE = "scale.css"
MOST = {"size": 6, "weight": 3, "radius": 2, "step": 1}
"""How many names there may be of each kind."""

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_DECLARATION = re.compile(r"(?<![\w-])(?P<name>[a-z-]+)\s*:\s*(?P<value>[^;{}]+);")
_VARIABLE = re.compile(r"var\(--[\w-]+\)")
_LENGTH = re.compile(r"(?<![\w.])\d*\.?\d+(?:px|rem|r?em|ch|ex|vw|vh|pt|%)")
_COLOUR = re.compile(
    r"#[0-9a-f]{3,8}\b|\b(?:rgba?|hsla?|hwb|lab|lch|oklab|oklch|color|light-dark)\(|\b(?:black|white|red|green|blue|gr[ae]y|"
    r"canvas|canvastext|highlight|highlighttext|linktext|buttontext|buttonface|graytext|mark|marktext)\b",
    re.IGNORECASE,
)
_DISTANCE = re.compile(r"(?:padding|margin|gap|row-gap|column-gap)(?:-.+)?")
_SMALL = re.compile(r"(?<![\w.])(?:[0-3](?:\.\d+)?px|\d*\.?\d+em)")
"""What may stand beside a name in a distance: a hair's breadth, and what grows with the letters."""


def wrong(name: str, value: str) -> bool:
    """Whether a declaration has a value of its own where a name of the scale is wanted."""
    rest = _VARIABLE.sub("", value)
    if _COLOUR.search(rest) and not name.startswith(("--", "transition", "animation", "grid-area", "will-change")):
        return True
    if name == "font-size" or name.endswith("radius"):
        return bool(_LENGTH.search(rest))
    if name == "font-weight":
        return bool(re.search(r"\d|bold|light", rest))
    if name == "font":
        return bool(_LENGTH.search(rest) or re.search(r"\b[1-9]00\b|bold", rest))
    if _DISTANCE.fullmatch(name):
        return bool(re.search(r"(?<![\w.])\d*\.?\d+(?:px|rem)", _SMALL.sub("", rest)))
    return False


def strays(text: str) -> Iterator[tuple[int, str]]:
    """Yield each wrong declaration of a style sheet, with its line."""
    bare = _COMMENT.sub(lambda comment: "\n" * comment[0].count("\n"), text)
    for match in _DECLARATION.finditer(bare):
        if wrong(match["name"], match["value"]):
            yield bare.count("\n", 0, match.start()) + 1, match[0]


def names(text: str, kind: str) -> set[str]:
    """Return the variables of a kind that the scale defines: `--size-1`, `--radius`, `--radius-small`."""
    return set(re.findall(rf"^\s*(--{kind}(?:-[\w-]+)?)\s*:", text, re.MULTILINE))


def main() -> int:
    """Name what is not on the scale."""
    scale = (WEB / SCALE).read_text(encoding="utf-8")
    found = [
        f"{SCALE}: {len(names(scale, kind))} names for a {kind}"
        for kind in MOST
        if len(names(scale, kind)) > MOST[kind]
    ]
    for path in sorted(WEB.glob("*.css")):
        if path.name != SCALE:
            lines = strays(path.read_text(encoding="utf-8"))
            found += [f"{path.name}:{line}: {stray} (use a name of {SCALE})" for line, stray in lines]
    for line in found:
        print(line, file=sys.stderr)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
