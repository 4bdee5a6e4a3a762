"""JSON of any size, value by value: the elements of a list, the lines of a file, or one document.

Only one element is in memory at a time. Its end is found, and its values are counted, before it is parsed: a value
costs far more than its bytes, and others wait while it is made. What is no JSON ends the reading of a list, because
nobody knows where the next element would begin; of lines, each stands for itself.
"""

import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple, Protocol

from pydantic_core import from_json

from threadkeep.errors import ImportDamaged, ImportTooLarge, InvalidInput, TooDeep, UnknownFormat
from threadkeep.transfer.portable import Problem

MAX_DEPTH = 900
_PLAIN_DEPTH = 150
"""How deep JSON may be for the parser that needs least memory."""
_CHUNK = 64 * 1024
_SPACE = b" \t\r\n"
_BOM = b"\xef\xbb\xbf"
_SIGN = re.compile(rb'["\[\]{},]')
_TEXT = re.compile(rb'(?:[^"\\]++|\\.)*+', re.DOTALL)


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


class Scan:
    """Follows JSON that comes in pieces, without parsing it; refuses what is too deep or has too many values."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.depth = self.deepest = self.values = self._at = 0
        self._is_text = False

    def end(self, data: bytes | bytearray) -> int:
        """Return where the list or object ends that `data` begins with; 0 if more is needed."""
        while True:
            if self._is_text:
                self._at = _end_of_text(data, self._at)
                if data[self._at : self._at + 1] != b'"':
                    return 0
                self._at += 1
                self._is_text = False
            found = _SIGN.search(data, self._at)
            if found is None:
                self._at = len(data)
                return 0
            self._at = found.end()
            if self._take(found[0]):
                return self._at

    def _take(self, sign: bytes) -> bool:
        """Take a sign between texts; return whether all is closed."""
        self._is_text = sign == b'"'
        if sign in b"[{,":
            self.values += 1
            if self.values > self._most:
                raise ImportTooLarge(f"A conversation has at most {self._most} values.")
        if sign in b"[{":
            self.depth += 1
            self.deepest = max(self.depth, self.deepest)
            if self.depth > MAX_DEPTH:
                raise TooDeep
        elif sign in b"]}":
            self.depth -= 1
        return self.depth <= 0


def _end_of_text(data: bytes | bytearray, at: int) -> int:
    found = _TEXT.match(data, at)
    return found.end() if found else at


def values_at_most(data: bytes) -> int:
    """Return how many values JSON may have, counted without a look at its texts."""
    return sum(data.count(sign) for sign in (b",", b"[", b"{"))


def parsed(data: bytes | bytearray, depth: int) -> Any:
    """Return a JSON value whose values and depth were counted."""
    if depth < _PLAIN_DEPTH:
        try:
            return from_json(bytes(data))
        except ValueError:  # the other parser takes more, and says where it is wrong
            pass
    try:
        return json.loads(data)
    except RecursionError:
        raise TooDeep from None
    except ValueError as error:
        raise ImportDamaged(f"This is no JSON: {str(error)[:100]}.") from None


class Document:
    """The JSON in a file, as much of it as is needed."""

    def __init__(self, file: Readable, bounds: Bounds) -> None:
        self._file = file
        self._bounds = bounds
        self._data = bytearray(file.read(_CHUNK)).removeprefix(_BOM)
        self._is_ended = not self._data

    def _more(self) -> None:
        if len(self._data) > self._bounds.element:
            raise ImportTooLarge(
                f"A conversation has at most {self._bounds.element} bytes; as JSON Lines of ours, more."
            )
        data = self._file.read(_CHUNK)
        self._is_ended = not data
        self._data += data

    def skip(self, signs: bytes) -> bytes:
        """Drop these at the beginning; return the first that is another, or nothing at the end."""
        while True:
            self._data = self._data.lstrip(signs)
            if self._data or self._is_ended:
                return bytes(self._data[:1])
            self._more()

    def drop(self) -> None:
        """Drop the first sign."""
        del self._data[:1]

    def value(self, first: bytes) -> Any:
        """Return the list or object at the beginning, and drop it."""
        if first not in b"[{":
            raise UnknownFormat if first in b'"-0123456789tfn' else ImportDamaged("This is no JSON.")
        scan = Scan(self._bounds.values)
        while not (end := scan.end(self._data)):
            if self._is_ended:
                raise ImportDamaged("This is no JSON, or it was cut off.")
            self._more()
        element, self._data = self._data[:end], self._data[end:]
        return parsed(element, scan.deepest)


def elements(file: Readable, name: str, bounds: Bounds) -> Iterator[tuple[str, Any] | Problem]:
    """Yield the elements of a list, or values that follow each other (as lines do), each with its place."""
    number = 0
    try:
        document = Document(file, bounds)
        is_list = document.skip(_SPACE) == b"["
        if is_list:
            document.drop()
        while (first := document.skip(_SPACE + b"," if is_list else _SPACE)) and not (is_list and first == b"]"):
            number += 1
            yield f"{name}, element {number}", document.value(first)
        if is_list and not first:
            raise ImportDamaged("The list was cut off.")
    except InvalidInput as error:
        yield Problem.of(f"{name}, element {max(number, 1)}", error)
