"""What a docstring tells about a function: its first paragraph, and its parameters in Google's style.

Not a parser of every style: a parameter is described best where it is declared, with `Field(description=…)`.
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

_HEADINGS = ("args:", "arguments:", "parameters:")
_PARAMETER = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Docstring:
    """The description of a function and of those parameters that the docstring names."""

    summary: str = ""
    parameters: dict[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, function: Callable[..., Any]) -> Self:
        """Read the docstring of a function; without one, everything is empty."""
        lines = (inspect.getdoc(function) or "").splitlines()
        summary = " ".join(line.strip() for line in _until_blank(lines))
        return cls(summary=summary, parameters=dict(_parameters(lines)))


def _until_blank(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        if not line.strip() or line.strip().lower() in _HEADINGS:
            return
        yield line


def _parameters(lines: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield each parameter with its text; a line that is indented deeper goes on with the one before."""
    name, texts, depth = "", list[str](), 0
    for line in _section(lines):
        indent = len(line) - len(line.lstrip())
        start = _PARAMETER.fullmatch(line.strip())
        if start and (not name or indent <= depth):
            if name:
                yield name, " ".join(texts)
            name, texts, depth = start[1], [start[2]] if start[2] else [], indent
        else:
            texts.append(line.strip())
    if name:
        yield name, " ".join(texts)


def _section(lines: Iterable[str]) -> Iterator[str]:
    """Yield the lines under the heading of the arguments, up to the next text that is not indented."""
    inside = False
    for line in lines:
        if line.strip().lower() in _HEADINGS:
            inside = True
        elif line.strip() and not line[0].isspace():
            inside = False
        elif inside and line.strip():
            yield line
