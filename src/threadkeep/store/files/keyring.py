"""API keys and logins in files beside the journals: a JSON document each, rewritten under a lock at every change."""

import os
from collections.abc import Awaitable, Callable
from pathlib import Path
from secrets import token_bytes
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

from threadkeep.conversation.api_key import ApiKey, Login
from threadkeep.errors import StoreCorrupt
from threadkeep.store import filesystem
from threadkeep.store.filesystem import Signature
from threadkeep.store.ledger.keyring import SECRET_BYTES, ItemT, LedgerKeyRing, Record, Table

T = TypeVar("T")

Run = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs work that waits for the disk in a thread."""


def files_keyring(folder: Path, run: Run, record: Record) -> LedgerKeyRing:

    async def secret() -> bytes:
        return bytes(await run(lambda: _secret(folder)))

    keys, logins = FileTable(folder, "api-keys", ApiKey, run), FileTable(folder, "logins", Login, run)
    return LedgerKeyRing(keys, logins, secret, record)


def _secret(folder: Path) -> bytes:
    """Return the secret of the folder, made when it is first asked for."""
    path = folder / "secret"
    if path.exists():
        return path.read_bytes()  # without a lock, which needs write access: it never changes
    with filesystem.locked(folder / "api-keys.lock", os.O_RDWR | os.O_CREAT):
        if not path.exists():
            _replace(path, token_bytes(SECRET_BYTES))
        return path.read_bytes()


def _replace(path: Path, data: bytes) -> None:
    """Replace a file atomically: after a crash it has either its old or its new content."""
    draft = path.with_suffix(".new")
    filesystem.write_file(draft, data)
    os.replace(draft, path)
    filesystem.sync_folder(path.parent)


class FileTable(Table[ItemT]):
    """The items of one file."""

    def __init__(self, folder: Path, name: str, kind: type[ItemT], run: Run) -> None:
        self._path = folder / f"{name}.json"
        self._lock = folder / f"{name}.lock"
        self._lists: TypeAdapter[list[ItemT]] = TypeAdapter(list[kind])  # type: ignore[valid-type]
        self._run = run
        self._seen: Signature | None = None
        self._items: dict[str, ItemT] = {}

    async def read(self) -> dict[str, ItemT]:
        items: dict[str, ItemT] = await self._run(self._load)
        return items

    async def change(self, change: Callable[[dict[str, ItemT]], T]) -> T:
        def held() -> T:
            with filesystem.locked(self._lock, os.O_RDWR | os.O_CREAT):
                before = self._load()
                items = dict(before)
                result = change(items)
                if items != before:
                    _replace(self._path, self._lists.dump_json(list(items.values()), indent=2))
                return result

        result: T = await self._run(held)
        return result

    def _load(self) -> dict[str, ItemT]:
        """Return what is in the file, which is read again only when it was changed."""
        now = filesystem.signature(self._path)
        if now is None:
            return {}
        if now != self._seen:
            self._items = self._decoded()
            self._seen = now
        return self._items

    def _decoded(self) -> dict[str, ItemT]:
        try:
            return {item.id: item for item in self._lists.validate_json(self._path.read_bytes())}
        except (ValidationError, ValueError, TypeError) as error:
            raise StoreCorrupt(f"{self._path.name} is damaged; it was left as it is.") from error
