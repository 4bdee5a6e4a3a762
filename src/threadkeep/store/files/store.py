"""Conversations in a folder of files: readable documents for people and other programs, journals for us.

Safe with several processes and threads. Every verb checks the files, so nothing cached can be stale; what waits for the
disk runs in threads.
"""

import asyncio
import os
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from secrets import token_bytes
from threading import Lock
from typing import Self, TypeVar

from threadkeep.background import supervised
from threadkeep.conversation.clock import Clock
from threadkeep.conversation.ids import IdSource, check_id
from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import StoreDenied, StoreReadOnly, StoreUnavailable
from threadkeep.store import filesystem
from threadkeep.store.files.audit import AuditFile
from threadkeep.store.files.config import FolderConfig, Problem, Problems
from threadkeep.store.files.keyring import files_keyring
from threadkeep.store.files.tenant_folder import TenantFolder, is_id
from threadkeep.store.filesystem import translating_os_errors, warn_if_shared
from threadkeep.store.ledger.audit import LedgerAudit
from threadkeep.store.ledger.keyring import SECRET_BYTES
from threadkeep.store.ledger.store import LedgerStore, TenantLedgers
from threadkeep.store.sqlite_file import Database
from threadkeep.store.sqlite_files import OwnFile, SqliteFiles

T = TypeVar("T")
THREADS = 32
PING_SECONDS = 2.0
VIEW_SECONDS = 2.0
"""How long after the journal a view is written: it is rewritten as a whole, which costs more the longer it is."""


class FilesStore(LedgerStore):
    """Conversations in one folder, with a folder inside for each tenant but the local one."""

    def __init__(self, path: Path, clock: Clock, ids: IdSource, max_bytes: int) -> None:
        super().__init__(clock, ids, max_bytes)
        self._path = Path(os.path.abspath(path))
        self._max_bytes = max_bytes
        self._problems = Problems()
        self._folders: dict[str, TenantFolder] = {}
        self._audit_files: dict[str, AuditFile] = {}
        self._lock = Lock()
        self._threads = ThreadPoolExecutor(THREADS, "threadkeep-files")
        self._showing: asyncio.Task[None] | None = None
        self._closed = False
        self._own_file = OwnFile(self._config(LOCAL.tenant).hidden / "files.db")
        self.files = SqliteFiles(self._run_on_files, self, lambda: self._run(self._own_file.scrub))
        self.keyring = files_keyring(self._config(LOCAL.tenant).hidden, self._run, self._record)

    @classmethod
    async def open(cls, path: Path, clock: Clock, ids: IdSource, max_bytes: int) -> Self:
        store = cls(path, clock, ids, max_bytes)
        try:
            await store._run(store._make)
            store.audit = LedgerAudit(await store._secret(), store._audit_file, store._run)
        except BaseException:
            await store.close()
            raise
        return store

    async def _secret(self) -> bytes:
        try:
            return await self.keyring.secret()
        except (StoreDenied, StoreReadOnly):
            return token_bytes(SECRET_BYTES)  # without write access nothing is recorded

    def _make(self) -> None:
        filesystem.make_folder(self._config(LOCAL.tenant).hidden)
        warn_if_shared(self._path)

    async def close(self) -> None:
        if self._closed:
            return
        if self._showing is not None:
            self._showing.cancel()
        await self.write_views()
        self._closed = True
        await asyncio.to_thread(self._threads.shutdown)
        self._own_file.close()

    async def write_views(self) -> None:
        """Write the views that are behind now, instead of some seconds later."""
        for folder in self._opened():
            await self._run(folder.write_views)

    async def _follow(self) -> None:
        while any(folder.behind for folder in self._opened()):
            await asyncio.sleep(VIEW_SECONDS)
            await self.write_views()

    def _opened(self) -> list[TenantFolder]:
        with self._lock:
            return list(self._folders.values())

    async def release(self) -> None:
        for folder in self._opened():
            folder.release()

    async def ping(self) -> None:
        try:
            async with asyncio.timeout(PING_SECONDS):
                await self._run(self._try)
        except TimeoutError:
            raise StoreUnavailable(f"{self._path} does not answer within {PING_SECONDS:g} seconds.") from None

    def _try(self) -> None:
        """Write something. A damaged journal is the problem of its conversation, not of the store."""
        hidden = self._config(LOCAL.tenant).hidden
        trial = hidden / f"ping-{os.getpid()}"
        try:
            filesystem.write_file(trial, b"ping")
        finally:
            trial.unlink(missing_ok=True)

    def _audit_file(self, tenant: str) -> AuditFile:
        with self._lock:
            if tenant not in self._audit_files:
                self._audit_files[tenant] = AuditFile(self._config(tenant).hidden)
            return self._audit_files[tenant]

    def problems(self) -> tuple[Problem, ...]:
        """Return what was found wrong with files since the store was opened, and what was done about it."""
        return self._problems.all()

    async def tenants(self) -> tuple[str, ...]:
        return tuple(sorted((LOCAL.tenant, *await self._run(self._tenants))))

    # Seams

    async def _run(self, work: Callable[[], T]) -> T:
        if self._closed:
            raise StoreUnavailable("The store is closed.")

        def guarded() -> T:
            with translating_os_errors():
                return work()

        try:
            done = asyncio.get_running_loop().run_in_executor(self._threads, guarded)
        except RuntimeError as error:
            raise StoreUnavailable(f"There is no thread to work in: {error}.") from error
        result = await done
        if (self._showing is None or self._showing.done()) and any(folder.behind for folder in self._opened()):
            self._showing = asyncio.create_task(supervised("writing views", self._follow))
        return result

    async def _run_on_files(self, work: Callable[[Database], T], *, writes: bool = True) -> T:
        return await self._run(lambda: self._own_file.run(work, writes=writes))

    def _ledgers_of(self, tenant: str) -> TenantLedgers:
        check_id(tenant)
        with self._lock:
            if tenant not in self._folders:
                self._folders[tenant] = TenantFolder(self._config(tenant))
            return self._folders[tenant]

    def _all_ledgers(self) -> Iterable[TenantLedgers]:
        return [self._ledgers_of(tenant) for tenant in (LOCAL.tenant, *self._tenants())]

    def _tenants(self) -> list[str]:
        found = []
        for item in os.scandir(self._path):
            tenant = item.name.removesuffix("@")
            if item.is_dir() and tenant != LOCAL.tenant and is_id(tenant) and self._config(tenant).hidden.is_dir():
                found.append(tenant)
        return sorted(set(found))

    def _config(self, tenant: str) -> FolderConfig:
        folder = self._path if tenant == LOCAL.tenant else self._path / _folder_name(tenant)
        return FolderConfig(folder, tenant, self._clock, self._max_bytes, self._problems)


def _folder_name(tenant: str) -> str:
    """Return the name of a tenant's folder, which must not look like the file of a conversation."""
    return f"{tenant}@" if ".json" in tenant else tenant
