"""Documents whose programs and commands are run by tests: their blocks, and whether an output is the one shown."""

import re
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parent.parent

_BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


class Block(NamedTuple):
    """A block of code: `kind` is what stands behind the opening fence."""

    kind: str
    text: str


def blocks_of(document: str) -> list[Block]:
    """Return the blocks of a document of this repository in order."""
    text = (ROOT / document).read_text(encoding="utf-8")
    return [Block(found["kind"], found["text"]) for found in _BLOCK.finditer(text)]


def is_like(shown: str, expected: str) -> bool:
    """Whether an output is the expected one: `…` stands for anything in a line, and alone for any lines."""
    pattern = ""
    for line in expected.strip().splitlines():
        pattern += r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + r"\s*?\n"
    return re.fullmatch(pattern, f"{shown.strip()}\n") is not None
