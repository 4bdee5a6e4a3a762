"""Ids: UUIDs of version 7 or 5 made here, or chosen by the caller if they are harmless in paths, URLs and log lines."""

import re
import threading
import time
from collections.abc import Callable
from hashlib import sha256
from secrets import randbits
from string import ascii_letters, digits
from typing import Annotated

from pydantic import BeforeValidator

from threadkeep.errors import InvalidId

IdSource = Callable[[], str]

_MOST = 128
_PLAIN = frozenset(ascii_letters + digits + ".-")
_SHAPE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,127}")
_MADE = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[57][0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


def check_id(text: object) -> str:
    """Return `text` if it may be the id of a tenant, a user, a conversation or a message."""
    if not isinstance(text, str) or not _SHAPE.fullmatch(text):
        raise InvalidId
    return text


def id_of(name: str) -> str:
    """Return the id of somebody whom another program names: the name itself where it may be one, such as `ada`, else
    with `__` and two digits for each byte that may not, as in `ada__40example.org`. Two names never share an id."""
    if _SHAPE.fullmatch(name) and "__" not in name:
        return name
    raw = name.encode("utf-8", "surrogatepass")
    quoted = "".join(chr(byte) if chr(byte) in _PLAIN else f"__{byte:02X}" for byte in raw)
    if not quoted[:1].isalnum():
        quoted = f"u__.{quoted}"  # no byte is written so
    return quoted if name and len(quoted) <= _MOST else f"h__.{sha256(raw).hexdigest()}"


def is_chosen(text: str) -> bool:
    """Whether this may be an id, and has not the form of those that are made here."""
    return _SHAPE.fullmatch(text) is not None and _MADE.fullmatch(text) is None


Id = Annotated[str, BeforeValidator(check_id)]


class Uuid7:
    """A source of UUIDv7 strings that rise strictly within a process, also when the clock stands still."""

    def __init__(self, milliseconds: Callable[[], int] = lambda: time.time_ns() // 1_000_000) -> None:
        self._milliseconds = milliseconds
        self._lock = threading.Lock()
        self._last = 0

    def __call__(self) -> str:
        # 48 bits of time and the 12 bits after the version count as one rising number.
        with self._lock:
            self._last = max(self._last + 1, self._milliseconds() << 12 | randbits(10))
            stamp = self._last
        number = (stamp >> 12) << 80 | 0x7 << 76 | (stamp & 0xFFF) << 64 | 0b10 << 62 | randbits(62)
        text = f"{number:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


new_id: IdSource = Uuid7()
