"""Cursors: places in a log, opaque to clients.

Inside: the newest entry seen, how many of that entry's events were seen, and, while a message is being written, its id
and how many of its characters, including its reasoning (`draft_text`). The number of an entry that was written during
an outage may later belong to another entry, so such a cursor also has a mark of its entry. A checksum over the
conversation's id detects a cursor that was altered, cut or taken from elsewhere. It guards against mistakes only: a
place in one's own log is no secret.
A cursor has a position, a number that is computed from these places, so that readers agree on it however the text came.
"""

import re
from base64 import urlsafe_b64decode
from binascii import b2a_base64
from datetime import datetime
from functools import lru_cache
from hashlib import blake2s
from typing import Self

from pydantic import Field

from threadkeep.conversation.ids import check_id
from threadkeep.conversation.value import Value
from threadkeep.errors import InvalidCursor, InvalidId

MAX_SEQ = 2**53
OFFSETS = 2**23
"""So many characters of a message have a position of their own, and so many entries."""
_INDEXES = 64
_WRITING = _INDEXES * OFFSETS
_ENTRY = 2 * _WRITING
"""The positions of an entry: the places in a message that was being written then, for each of its first events; and
after them those of further events, while nothing was being written."""
_URL_SAFE = bytes.maketrans(b"+/", b"-_")
_PLACE = re.compile(
    r"(?P<seq>[0-9a-f]+)(-(?P<mark>[0-9a-f]+))?\.(?P<index>[0-9a-f]+)"
    r"(\.(?P<thought>t?)(?P<offset>[0-9a-f]+)\.(?P<message>.+))?"
)


class Cursor(Value):
    """A place in the log of one conversation. `is_thought` is whether the characters before it are reasoning; `mark`,
    unless 0, is `mark_of` the entry."""

    seq: int = Field(default=0, ge=0, le=MAX_SEQ)
    index: int = Field(default=0, ge=0, le=MAX_SEQ)
    message: str | None = None
    offset: int = Field(default=0, ge=0, le=MAX_SEQ)
    is_thought: bool = False
    mark: int = Field(default=0, ge=0, le=MAX_SEQ)

    @property
    def position(self) -> int | None:
        """The cursor as a number, below 2^53, which rises from event to event; none for the few that have no room in
        it, and during an outage, when entries may yet get other numbers."""
        written = 0 if self.message is None else self.offset + 1
        before = self.seq - 1 if self.index else self.seq
        if self.mark or before >= OFFSETS or written >= OFFSETS:
            return None
        if self.index < _INDEXES:
            return before * _ENTRY + self.index * OFFSETS + written
        more = _WRITING + self.index - _INDEXES
        return None if written or more >= _ENTRY else before * _ENTRY + more

    @classmethod
    def at(cls, position: int) -> tuple[Self, int | None]:
        """Return the cursor of a position, without the message that was being written, and its offset in that."""
        before, place = divmod(position, _ENTRY)
        index, written = divmod(place, OFFSETS) if place < _WRITING else (place - _WRITING + _INDEXES, 0)
        if not 0 <= before < OFFSETS:
            raise InvalidCursor
        return cls(seq=before + bool(index), index=index), written - 1 if written else None

    def encode(self, conversation: str) -> str:
        """Return the text that a client gets."""
        place = f"{self.seq:x}{f'-{self.mark:x}' if self.mark else ''}.{self.index:x}"
        if self.message is not None:
            place += f".{'t' if self.is_thought else ''}{self.offset:x}.{self.message}"
        return seal(place, conversation)

    @classmethod
    def decode(cls, text: object, conversation: str) -> Self:
        """Return the cursor behind the text; `"0"` is the beginning of every log."""
        if text == "0":
            return cls()
        place = _PLACE.fullmatch(unseal(text, conversation))
        if place is None:
            raise InvalidCursor
        seq, index, offset, mark = (int(place[name] or "0", 16) for name in ("seq", "index", "offset", "mark"))
        if max(seq, index, offset, mark) > MAX_SEQ:
            raise InvalidCursor
        try:
            message = place["message"] and check_id(place["message"])
        except InvalidId:
            raise InvalidCursor from None
        return cls(seq=seq, index=index, message=message, offset=offset, is_thought=bool(place["thought"]), mark=mark)


def mark_of(created_at: datetime) -> int:
    """Return what distinguishes an entry written at this time from another with the same number."""
    return round(created_at.timestamp() * 1_000_000)


def seal(place: str, owner: str) -> str:
    """Return `place` as an opaque text that `unseal` accepts for the same owner only."""
    raw = place.encode()
    return b2a_base64(_checksum(raw, owner) + raw, newline=False).rstrip(b"=").translate(_URL_SAFE).decode()


def unseal(text: object, owner: str) -> str:
    """Return what was sealed, or raise InvalidCursor if this text was not sealed for this owner."""
    if not isinstance(text, str) or not 0 < len(text) <= 1024:
        raise InvalidCursor
    try:
        sealed = urlsafe_b64decode(text.encode("ascii") + b"=" * (-len(text) % 4))
        place = sealed[6:].decode("ascii")
    except ValueError:
        raise InvalidCursor from None
    if sealed[:6] != _checksum(sealed[6:], owner) or seal(place, owner) != text:
        raise InvalidCursor
    return place


def _checksum(raw: bytes, owner: str) -> bytes:
    checksum = _keyed(owner).copy()
    checksum.update(raw)
    return checksum.digest()


@lru_cache(maxsize=1024)
def _keyed(owner: str) -> blake2s:
    return blake2s(digest_size=6, key=blake2s(owner.encode()).digest(), person=b"tkcursor")
