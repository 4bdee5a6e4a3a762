"""JSON of any size, value by value: the elements of a list, values that follow each other (as lines do), or one.

Only one element is in memory at a time, and its bytes, its values and its depth are counted while it is read: a value
costs far more than its bytes, and others wait while it is made. What is no JSON ends the reading, because nobody knows
where the next element would begin.
"""

import math
import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, NamedTuple, Protocol

import ijson

from threadkeep.errors import ImportDamaged, ImportTooLarge, InvalidInput, TooDeep, UnknownFormat
from threadkeep.transfer.portable import ImportProblem

MAX_DEPTH = 900
_CHUNK = 64 * 1024
_BOM = b"\xef\xbb\xbf"
_NO_JSON = "This is no JSON, it was cut off, or a number in it is too large."
_LONG_NUMBER = re.compile(rb"(\d{4})\d{12,}")
_SIGNS = re.compile(rb'\\.|"|\d{1000,}', re.DOTALL)


class Bounds(NamedTuple):
    """How many bytes a conversation may have (an entry in our own lines), how many values, which take some 100 bytes
    each, and how many bytes the list of members of an archive."""

    element: int
    values: int
    directory: int


WIDE = Bounds(64 * 1024 * 1024, 5_000_000, 256 * 1024 * 1024)
"""For whoever operates a store."""
NARROW = Bounds(8 * 1024 * 1024, 300_000, 4 * 1024 * 1024)
"""For everybody: with these an import takes at most 100 MB of memory."""


class Readable(Protocol):
    """What can be read on."""

    def read(self, size: int = -1, /) -> bytes:
        """Return the next bytes."""

    def readline(self, size: int = -1, /) -> bytes:
        """Return the next line."""


class _Source:
    """A file of which one element may have so many bytes; `taken` counts those of the element that is read."""

    def __init__(self, file: Readable, most: int) -> None:
        self._file = file
        self._most = most
        self._is_begun = False
        self._is_text = False
        self._rest = b""
        self.is_blank = True
        self.taken = 0

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(size)
        if data and not self._is_begun:
            self._is_begun, data = True, data.removeprefix(_BOM)
        self.is_blank = self.is_blank and not data.strip()
        self.taken += len(data)
        if self.taken > self._most + _CHUNK:
            raise ImportTooLarge(f"A conversation has at most {self._most} bytes; as JSON Lines of ours, more.")
        self._check_numbers(data)
        return data

    def _check_numbers(self, data: bytes) -> None:
        """Refuse a number of so many digits that Python refuses to make it: ijson brings the process down with that."""
        data, last = self._rest + data, 0
        for sign in _SIGNS.finditer(data):
            last = sign.end()
            if sign[0] == b'"':
                self._is_text = not self._is_text
            elif not self._is_text:
                raise ImportDamaged(_NO_JSON)
        tail = data[last:]
        self._rest = b"\\" if tail.endswith(b"\\") else tail[len(tail.rstrip(b"0123456789")) :]


class _Builder:
    """Makes one list or object of what the parser tells; refuses what is too deep or has too many values."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._values = 0
        self._open: list[dict[str, Any] | list[Any]] = []
        self._names: list[str] = []
        self._known: dict[str, str] = {}
        self.whole: Any = None

    def add(self, event: str, value: Any) -> bool:
        """Take what the parser tells next; return whether the value is whole."""
        if event == "map_key":
            # One name is one text, however often it stands there.
            self._names[-1] = self._known.setdefault(value, value)
            return False
        if event in ("end_map", "end_array"):
            self._open.pop()
            self._names.pop()
            return not self._open
        self._values += 1
        if self._values > self._most:
            raise ImportTooLarge(f"A conversation has at most {self._most} values.")
        if event in ("start_map", "start_array"):
            self._begin({} if event == "start_map" else [])
        elif not self._open:
            raise UnknownFormat
        else:
            self._put(_finite(value) if isinstance(value, Decimal) else value)
        return False

    def _begin(self, value: dict[str, Any] | list[Any]) -> None:
        if self._open:
            self._put(value)
        else:
            self.whole = value
        self._open.append(value)
        self._names.append("")
        if len(self._open) > MAX_DEPTH:
            raise TooDeep

    def _put(self, value: Any) -> None:
        last = self._open[-1]
        if isinstance(last, list):
            last.append(value)
        else:
            last[self._names[-1]] = value


def _finite(value: Decimal) -> float:
    if not math.isfinite(number := float(value)):
        raise ImportDamaged(_NO_JSON)
    return number


def _values(file: Readable, bounds: Bounds) -> Iterator[Any]:
    source, builder = _Source(file, bounds.element), _Builder(bounds.values)
    is_list: bool | None = None
    try:
        for event, value in ijson.basic_parse(source, buf_size=_CHUNK, multiple_values=True):
            if is_list is None and (is_list := event == "start_array"):
                continue
            if is_list and event == "end_array" and builder.whole is None:
                return
            if builder.add(event, value):
                yield builder.whole
                source.taken, builder = 0, _Builder(bounds.values)
    except (ijson.JSONError, ValueError, ArithmeticError):
        if not source.is_blank:
            raise ImportDamaged(_NO_JSON) from None


def check_values(line: bytes, most: int) -> None:
    """Refuse JSON with more values, and what is no JSON: the parser that comes next may read on where this one ends."""
    builder = _Builder(most)
    try:
        # What numbers are does not count, and the beginning of a long one may be the end of an escape.
        for event, value in ijson.basic_parse(_LONG_NUMBER.sub(rb"\1", line)):
            builder.add(event, value)
    except (ijson.JSONError, ValueError):
        raise ImportDamaged(_NO_JSON) from None


def values_at_most(data: bytes) -> int:
    """Return how many values JSON may have, counted without a look at its texts."""
    return sum(data.count(sign) for sign in (b",", b"[", b"{"))


def elements(file: Readable, name: str, bounds: Bounds) -> Iterator[tuple[str, Any] | ImportProblem]:
    """Yield the elements of a list, or values that follow each other (as lines do), each with its place."""
    number = 1
    try:
        for value in _values(file, bounds):
            yield f"{name}, element {number}", value
            number += 1
    except InvalidInput as error:
        yield ImportProblem.of(f"{name}, element {number}", error)
