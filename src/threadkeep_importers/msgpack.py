"""MessagePack as LangGraph writes checkpoints, read as plain data: no object of any class is ever made from it.

An extension, which LangGraph uses for objects, holds MessagePack itself: module, name and arguments. It becomes a
dictionary that says so, and it is for the caller to know which of them are messages.
"""

import struct
from typing import Any

from threadkeep.errors import ImportDamaged, TooDeep

MAX_DEPTH = 100
_FIXED = {
    0xCA: ">f",
    0xCB: ">d",
    0xCC: ">B",
    0xCD: ">H",
    0xCE: ">I",
    0xCF: ">Q",
    0xD0: ">b",
    0xD1: ">h",
    0xD2: ">i",
    0xD3: ">q",
}
_LENGTHS = {1: ">B", 2: ">H", 4: ">I"}


class Unpacker:
    """Reads one value from bytes."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def value(self, depth: int = 0) -> Any:
        """Return the next value."""
        if depth > MAX_DEPTH:
            raise TooDeep
        code = self._take(1)[0]
        if code <= 0x7F:
            return code
        if code >= 0xE0:
            return code - 0x100
        if code in _FIXED:
            return self._number(_FIXED[code])
        if 0x80 <= code <= 0x8F or code in (0xDE, 0xDF):
            return self._map(code & 0x0F if code <= 0x8F else self._length(2 * (code - 0xDD)), depth)
        if 0x90 <= code <= 0x9F or code in (0xDC, 0xDD):
            count = code & 0x0F if code <= 0x9F else self._length(2 * (code - 0xDB))
            self._check(count)
            return [self.value(depth + 1) for _ in range(count)]
        if 0xA0 <= code <= 0xBF or 0xD9 <= code <= 0xDB:
            return self._text(code & 0x1F if code <= 0xBF else self._length(1 << (code - 0xD9)))
        return self._other(code, depth)

    def _other(self, code: int, depth: int) -> Any:
        match code:
            case 0xC0:
                return None
            case 0xC2 | 0xC3:
                return code == 0xC3
            case 0xC4 | 0xC5 | 0xC6:
                return self._take(self._length(1 << (code - 0xC4)))
            case 0xC7 | 0xC8 | 0xC9:
                return self._extension(self._length(1 << (code - 0xC7)), depth)
            case 0xD4 | 0xD5 | 0xD6 | 0xD7 | 0xD8:
                return self._extension(1 << (code - 0xD4), depth)
            case _:
                raise ImportDamaged("A checkpoint is no MessagePack.")

    def _map(self, count: int, depth: int) -> dict[str, Any]:
        self._check(count)
        return {str(self.value(depth + 1)): self.value(depth + 1) for _ in range(count)}

    def _extension(self, length: int, depth: int) -> Any:
        self._take(1)
        inner = Unpacker(self._take(length))
        try:
            found = inner.value(depth + 1)
        except ImportDamaged:
            return None
        if isinstance(found, list) and len(found) >= 3 and isinstance(found[1], str):
            return {"__class__": found[1], "__arguments__": found[2]}
        return found

    def _text(self, length: int) -> str:
        try:
            return self._take(length).decode()
        except UnicodeDecodeError:
            raise ImportDamaged("A checkpoint holds text that is not UTF-8.") from None

    def _length(self, width: int) -> int:
        return int(self._number(_LENGTHS[width]))

    def _number(self, shape: str) -> Any:
        return struct.unpack(shape, self._take(struct.calcsize(shape)))[0]

    def _check(self, count: int) -> None:
        if count > len(self._data) - self._at:  # each takes a byte at least
            raise ImportDamaged("A checkpoint was cut off.")

    def _take(self, count: int) -> bytes:
        taken = self._data[self._at : self._at + count]
        if len(taken) < count:
            raise ImportDamaged("A checkpoint was cut off.")
        self._at += count
        return taken


def unpack(data: bytes) -> Any:
    """Return the value in these bytes."""
    return Unpacker(data).value()
