"""Attachments in an outage. Files are only in the database: those that were used here lately, within a bound, can still
be read; reading others and saving fails at once with `StoreUnavailable`."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime
from typing import Any

from threadkeep.conversation.scope import Scope
from threadkeep.store.file_tables import FileTables, StoredFile
from threadkeep.store.spool.outage import OUTAGES

MOST_BYTES = 32 * 1024 * 1024
"""How much of files is remembered."""
ENTRY_OVERHEAD = 500


def watched_files(files: FileTables, ask: Callable[..., Awaitable[Any]]) -> FileTables:
    """Return tables that ask for everything through `ask`, which refuses while the database is known to be away."""

    def watched(name: str) -> Callable[..., Awaitable[Any]]:
        async def verb(self: FileTables, *args: Any, **kwargs: Any) -> Any:
            return await ask(getattr(files, name), *args, **kwargs)

        return verb

    verbs = {name: watched(name) for name in (*_Remembering.__abstractmethods__, "scrub")}
    tables: FileTables = type("WatchedFiles", (_Remembering,), verbs)(files, ask)
    return tables


class _Remembering(FileTables):
    """Remembers what was read and written last, and answers with it while the database is away."""

    def __init__(self, files: FileTables, ask: Callable[..., Awaitable[Any]]) -> None:
        self._files = files
        self._ask = ask
        self._found: OrderedDict[tuple[object, ...], Any] = OrderedDict()
        self._size = 0

    async def find(self, scope: Scope, id: str) -> StoredFile | None:
        found: StoredFile | None = await self._remembered((scope, id), self._ask(self._files.find, scope, id))
        return found

    async def get(self, tenant: str, blob: str, number: int) -> bytes | None:
        asking = self._ask(self._files.get, tenant, blob, number)
        found: bytes | None = await self._remembered((tenant, blob, number), asking)
        return found

    async def put(self, tenant: str, blob: str, number: int, data: bytes) -> None:
        await self._ask(self._files.put, tenant, blob, number, data)
        self._note((tenant, blob, number), data)

    async def finish(self, scope: Scope, file: StoredFile) -> tuple[StoredFile, bool] | None:
        finished: tuple[StoredFile, bool] | None = await self._ask(self._files.finish, scope, file)
        if finished is not None:
            self._note((scope, finished[0].id), finished[0])
        return finished

    async def drop(self, tenant: str, ids: Sequence[str], before: datetime | None) -> int:
        self._found.clear()
        self._size = 0
        dropped: int = await self._ask(self._files.drop, tenant, ids, before)
        return dropped

    async def _remembered(self, key: tuple[object, ...], asking: Awaitable[Any]) -> Any:
        try:
            found = await asking
        except OUTAGES:
            if key not in self._found:
                raise
            return self._found[key]
        self._note(key, found)
        return found

    def _note(self, key: tuple[object, ...], found: Any) -> None:
        self._size -= _size(self._found.pop(key, None))
        if found is not None:
            self._found[key] = found
            self._size += _size(found)
        while self._size > MOST_BYTES:
            self._size -= _size(self._found.popitem(last=False)[1])


def _size(found: Any) -> int:
    return 0 if found is None else ENTRY_OVERHEAD + (len(found) if isinstance(found, bytes) else 0)
