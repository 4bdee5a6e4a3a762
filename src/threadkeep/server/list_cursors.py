"""Cursors of lists and searches as clients see them: what is inside counts conversations and entries of everybody.

So it is hidden with the store's secret: the same cursor looks the same at every instance, and says nothing. Cursors of
one conversation's log need none of this: they tell places that their readers know.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from hmac import compare_digest

from threadkeep.errors import InvalidCursor
from threadkeep.store.keyring import KeyRing

TAG_BYTES = 16
LONGEST = 2048


class ListCursors:
    """Hides cursors, and finds them again."""

    def __init__(self, keyring: KeyRing) -> None:
        self._keyring = keyring
        self._secret: bytes | None = None

    async def shown(self, cursor: str | None) -> str | None:
        """Return a cursor of the store as a client gets it."""
        if cursor is None:
            return None
        secret, plain = await self._key(), cursor.encode()
        tag = _tag(secret, plain)
        return urlsafe_b64encode(tag + _mixed(secret, tag, plain)).rstrip(b"=").decode()

    async def read(self, text: str | None) -> str | None:
        """Return the cursor that a client got; InvalidCursor if it got none like this."""
        if text is None:
            return None
        try:
            hidden = urlsafe_b64decode(text[:LONGEST].encode("ascii") + b"=" * (-len(text[:LONGEST]) % 4))
        except ValueError:
            raise InvalidCursor from None
        secret, tag = await self._key(), hidden[:TAG_BYTES]
        plain = _mixed(secret, tag, hidden[TAG_BYTES:])
        if not compare_digest(tag, _tag(secret, plain)):
            raise InvalidCursor
        return plain.decode()

    async def _key(self) -> bytes:
        if self._secret is None:
            self._secret = await self._keyring.secret()
        return self._secret


def _tag(secret: bytes, plain: bytes) -> bytes:
    return blake2b(plain, key=secret, digest_size=TAG_BYTES, person=b"list cursor tag").digest()


def _mixed(secret: bytes, tag: bytes, text: bytes) -> bytes:
    """Return the text mixed with what only the secret and the tag give; mixed twice, it is the same again."""
    blocks = range(-(-len(text) // blake2b.MAX_DIGEST_SIZE))
    stream = b"".join(
        blake2b(tag + block.to_bytes(4), key=secret, person=b"list cursor text").digest() for block in blocks
    )
    return bytes(one ^ other for one, other in zip(text, stream, strict=False))
