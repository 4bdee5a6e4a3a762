"""The spool itself: a store in one file, in a folder that only one process uses at a time."""

import fcntl
import os
from pathlib import Path
from typing import Self

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.ids import IdSource
from threadkeep.conversation.scope import Scope
from threadkeep.errors import InvalidValue, StoreBusy, StoreUnavailable
from threadkeep.store.filesystem import make_folder, translating_os_errors, write_file
from threadkeep.store.spool.draining import Spool
from threadkeep.store.sqlite.store import SqliteStore

OF_DATABASE = "database"
"""The file with the secret of the database that a spool is for."""
IN_USE = "Another process uses this spool, and drains it by itself: every instance needs a folder of its own."


class SpoolFile(SqliteStore, Spool):
    """A spool in a folder."""

    _locked: int | None = None
    _folder: Path

    @classmethod
    async def open_in(cls, folder: Path, clock: Clock, ids: IdSource, max_bytes: int) -> Self:
        """Open the spool of this folder; `StoreBusy` if another process has it."""
        with translating_os_errors():
            make_folder(folder)
            locked = os.open(folder / "spool.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(locked, fcntl.LOCK_EX | fcntl.LOCK_NB)
            spool = await cls.open(spool_path(folder), clock, ids, max_bytes)
        except BlockingIOError:
            os.close(locked)
            raise StoreBusy(IN_USE) from None
        except BaseException:
            os.close(locked)
            raise
        spool._locked, spool._folder = locked, folder
        return spool

    async def close(self) -> None:
        await super().close()
        if self._locked is not None:
            os.close(self._locked)
            self._locked = None

    def database_secret(self, away: StoreUnavailable) -> bytes:
        """Return the secret of the database that this spool is for; raises why it is away if it is not known yet."""
        try:
            return (self._folder / OF_DATABASE).read_bytes()
        except FileNotFoundError:
            raise away from None

    async def belong_to(self, secret: bytes) -> None:
        """Take note whose spool this is; `InvalidValue` if it holds what was sent to another database."""
        path = self._folder / OF_DATABASE
        held = [await self.statistics(tenant) for tenant in await self.tenants()]
        if path.exists() and path.read_bytes() != secret and any(each.conversations for each in held):
            raise InvalidValue(f"The spool in {self._folder} belongs to another database: drain it into that one.")
        with translating_os_errors():
            write_file(path, secret)

    async def keys_of(self, scope: Scope, conversation: str) -> list[tuple[str, str, int, int]]:
        found = (
            "SELECT hex(name), hex(digest), first, last FROM key WHERE tenant = ? AND conversation = ? AND first > 0"
        )
        return await self._read(scope, conversation, lambda log: list(self._reader.db.rows(found, log.key[:2])))


def spool_path(folder: Path) -> Path:
    """Return the file of a spool."""
    return folder / "spool.db"
