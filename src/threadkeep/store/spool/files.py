"""Attachments in an outage: files are in the database alone, so whoever wants one is told at once that it is away."""

from collections.abc import Awaitable, Callable
from typing import Any

from threadkeep.store.file_tables import FileTables


def watched_files(files: FileTables, ask: Callable[..., Awaitable[Any]]) -> FileTables:
    """Return tables that ask for everything through `ask`, which refuses while the database is known to be away."""

    def watched(name: str) -> Callable[..., Awaitable[Any]]:
        async def verb(_: FileTables, *args: Any, **kwargs: Any) -> Any:
            return await ask(getattr(files, name), *args, **kwargs)

        return verb

    verbs = {name: watched(name) for name in (*FileTables.__abstractmethods__, "scrub")}
    tables: FileTables = type("WatchedFiles", (FileTables,), verbs)()
    return tables
