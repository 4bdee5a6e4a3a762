"""Cursors of lists and searches as clients see them.

Their content would reveal how many conversations and entries there are in all, so it is encrypted with the store's
secret, in the same way at every instance. Cursors of one conversation's log reveal nothing that their readers do not
know.
"""

from base64 import urlsafe_b64decode, urlsafe_b64encode
from hashlib import blake2b
from hmac import compare_digest

from threadkeep.errors import InvalidCursor
from threadkeep.store.keyring import KeyRing

TAG_BYTES = 16
LONGEST = 2048


class ListCursors:
    """Encrypts and decrypts cursors."""

    def __init__(self, keyring: KeyRing) -> None:
        self._keyring = keyring
        self._secret: bytes | None = None

    async def shown(self, cursor: str | None) -> str | None:
        """Return a cursor of the store as a client gets it."""
        if cursor is None:
            return None
        secret, plain = await self._key(), cursor.encode()
        tag = _tag(secret, plain)
        return _encoded(tag + _mixed(secret, tag, plain))

    async def read(self, text: str | None) -> str | None:
        """Return the cursor behind a client's text; InvalidCursor if it was not made here."""
        if text is None:
            return None
        try:
            hidden = urlsafe_b64decode(text[:LONGEST].encode("ascii") + b"=" * (-len(text[:LONGEST]) % 4))
        except ValueError:
            raise InvalidCursor from None
        if _encoded(hidden) != text:  # the last sign may have bits that mean nothing
            raise InvalidCursor
        secret, tag = await self._key(), hidden[:TAG_BYTES]
        plain = _mixed(secret, tag, hidden[TAG_BYTES:])
        if not compare_digest(tag, _tag(secret, plain)):
            raise InvalidCursor
        return plain.decode()

    async def _key(self) -> bytes:
        if self._secret is None:
            self._secret = await self._keyring.secret()
        return self._secret


def _encoded(raw: bytes) -> str:
    return urlsafe_b64encode(raw).rstrip(b"=").decode()


def _tag(secret: bytes, plain: bytes) -> bytes:
    return blake2b(plain, key=secret, digest_size=TAG_BYTES, person=b"list cursor tag").digest()


def _mixed(secret: bytes, tag: bytes, text: bytes) -> bytes:
    """Return the text combined (XOR) with a key stream of secret and tag; applied twice, it is the same again."""
    blocks = range(-(-len(text) // blake2b.MAX_DIGEST_SIZE))
    stream = b"".join(
        blake2b(tag + block.to_bytes(4), key=secret, person=b"list cursor text").digest() for block in blocks
    )
    return bytes(one ^ other for one, other in zip(text, stream, strict=False))
