"""API keys in a file beside the journals: one JSON document, rewritten under a lock when a key is made or revoked."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from threadkeep.conversation.api_key import ApiKey
from threadkeep.errors import StoreCorrupt
from threadkeep.store.files import disk
from threadkeep.store.files.disk import Signature
from threadkeep.store.ledger.keyring import Keys, LedgerKeyRing

T = TypeVar("T")
_KEYS: TypeAdapter[list[dict[str, Any]]] = TypeAdapter(list[dict[str, Any]])

Run = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs work that waits for the disk in a thread."""


class FilesKeyRing(LedgerKeyRing):
    """The keys of one folder."""

    def __init__(self, folder: Path, run: Run) -> None:
        self._path = folder / "api-keys.json"
        self._lock = folder / "api-keys.lock"
        self._run = run
        self._seen: Signature | None = None
        self._keys: Keys = {}

    async def _read(self) -> Keys:
        keys: Keys = await self._run(self._load)
        return keys

    async def _change(self, change: Callable[[Keys], T]) -> T:
        def held() -> T:
            with disk.locked(self._lock, os.O_RDWR | os.O_CREAT):
                keys = dict(self._load())
                result = change(keys)
                disk.write_file(self._path, _encode(keys))
                return result

        result: T = await self._run(held)
        return result

    def _load(self) -> Keys:
        """Return the keys in the file, which is read again only when it was changed."""
        now = disk.signature(self._path)
        if now is None:
            return {}
        if now != self._seen:
            self._keys = _decode(self._path)
            self._seen = now
        return self._keys


def _encode(keys: Keys) -> bytes:
    shown = [{**key.model_dump(mode="json", exclude={"digest"}), "digest": key.digest.hex()} for key in keys.values()]
    return TypeAdapter(list[Any]).dump_json(shown, indent=2)


def _decode(path: Path) -> Keys:
    try:
        rows = _KEYS.validate_json(path.read_bytes())
        keys = [ApiKey.model_validate({**row, "digest": bytes.fromhex(row["digest"])}) for row in rows]
    except (ValidationError, KeyError, ValueError, TypeError) as error:
        raise StoreCorrupt(f"{path.name} is damaged; it was left as it is.") from error
    return {key.id: key for key in keys}
