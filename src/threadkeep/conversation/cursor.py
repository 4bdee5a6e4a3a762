"""Cursors: places in a log, opaque to clients.

Inside: the newest entry seen, how many of that entry's events were seen, and, while a message is being written, its id
and how many of its characters, those of its reasoning included (`draft_text`). A number that was given during an
outage may come to mean another entry; such a cursor has a mark of the entry that it meant. A checksum over the
conversation's id tells a cursor that was altered, cut or taken from elsewhere; it guards against mistakes, not
secrets, because a place in one's own log is nothing to steal.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from datetime import datetime
from hashlib import blake2s
from typing import Self

from pydantic import Field

from threadkeep.conversation.ids import check_id
from threadkeep.conversation.value import Value
from threadkeep.errors import InvalidCursor, InvalidId

MAX_SEQ = 2**53
_THOUGHT = "t"


class Cursor(Value):
    """A place in the log of one conversation; `is_thought` is whether the characters before it are reasoning, `mark`
    (if not 0) what `mark_of` says of the entry."""

    seq: int = Field(default=0, ge=0, le=MAX_SEQ)
    index: int = Field(default=0, ge=0, le=MAX_SEQ)
    message: str | None = None
    offset: int = Field(default=0, ge=0, le=MAX_SEQ)
    is_thought: bool = False
    mark: int = Field(default=0, ge=0, le=MAX_SEQ)

    def encode(self, conversation: str) -> str:
        """Return the text that a client gets."""
        place = f"{self.seq:x}{f'-{self.mark:x}' if self.mark else ''}.{self.index:x}"
        if self.message is not None:
            place += f".{_THOUGHT if self.is_thought else ''}{self.offset:x}.{self.message}"
        return seal(place, conversation)

    @classmethod
    def decode(cls, text: object, conversation: str) -> Self:
        """Return the cursor behind the text; `"0"` is the beginning of every log."""
        if text == "0":
            return cls()
        parts = unseal(text, conversation).split(".", 3)
        parts[0], _, mark = parts[0].partition("-")
        try:
            marked = int(mark or "0", 16)
            is_thought = len(parts) > 3 and parts[2].startswith(_THOUGHT)
            parts[2:3] = [part.removeprefix(_THOUGHT) for part in parts[2:3]]
            numbers = [int(part, 16) for part in parts[:3]]
            message = check_id(parts[3]) if len(parts) > 3 else None
        except (ValueError, InvalidId):
            raise InvalidCursor from None
        if len(parts) not in (2, 4) or not all(0 <= number <= MAX_SEQ for number in (*numbers, marked)):
            raise InvalidCursor
        offset = numbers[2] if message else 0
        seq, index = numbers[:2]
        return cls(seq=seq, index=index, message=message, offset=offset, is_thought=is_thought, mark=marked)


def mark_of(created_at: datetime) -> int:
    """Return what tells an entry that was written at this time from others with the same number."""
    return round(created_at.timestamp() * 1_000_000)


def seal(place: str, owner: str) -> str:
    """Return `place` as an opaque text that `unseal` accepts for the same owner only."""
    raw = place.encode()
    return urlsafe_b64encode(_checksum(raw, owner) + raw).rstrip(b"=").decode()


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
    return blake2s(raw, digest_size=6, key=blake2s(owner.encode()).digest(), person=b"tkcursor").digest()
