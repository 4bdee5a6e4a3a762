"""The words for search and each conversation's last activity: they follow the log in batches.

An append only notes that its conversation is behind. The words are computed here, because how text falls into words is
the same for every backend, and stored in batches: by whoever has appended enough, and always before a search.
"""

import asyncio
import logging
from collections.abc import Iterable
from itertools import groupby
from typing import Any

from threadkeep.errors import StoreCorrupt, StoreError
from threadkeep.store import words
from threadkeep.store.codec import decode
from threadkeep.store.postgres.database import Database

logger = logging.getLogger(__name__)

BATCH = 512
"""How many entries may be appended by one store before it indexes them without being asked."""
MOST_ENTRIES = 256
MOST_BYTES = 4 * 1024 * 1024
MOST_WORD_BYTES = 900_000
"""How many bytes of words of one entry are indexed; PostgreSQL allows a megabyte."""


class Index:
    """Brings the index up to date."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._added = 0
        self._running: asyncio.Task[None] | None = None

    def note(self, entries: int) -> None:
        """Count what was appended, and index it in the background once it is enough."""
        self._added += entries
        if self._added >= BATCH and self._running is None:
            self._added = 0
            self._running = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Wait for what is being indexed."""
        if self._running is not None:
            await self._running

    async def _run(self) -> None:
        try:
            await self.catch_up()
        except StoreError as error:
            logger.warning("the search index lags behind: %s", error)
        finally:
            self._running = None

    async def catch_up(self, tenant: int | None = None, owner: int | None = None) -> None:
        """Index everything of one user, or of everybody, that was appended before this call."""
        while await self._step(tenant, owner):
            pass

    async def _step(self, tenant: int | None, owner: int | None) -> bool:
        """Index a batch and return whether there may be more."""
        rows = await self._db.pool.call("unindexed", tenant, owner, MOST_ENTRIES, MOST_BYTES)
        if not rows:
            return False
        found = [list(group) for _, group in groupby(rows, key=lambda row: row["conversation"])]
        spoken = [(row["conversation"], row["seq"], text) for row in rows if (text := self._words(row))]
        await self._db.pool.call(
            "catch_up",
            [group[0]["tenant"] for group in found],
            [group[0]["owner"] for group in found],
            [group[0]["conversation"] for group in found],
            [group[0]["indexed"] for group in found],
            [group[-1]["seq"] or group[-1]["indexed"] for group in found],
            *([list(column) for column in zip(*spoken, strict=True)] or ([], [], [])),
        )
        was_cut = any((group[-1]["seq"] or group[-1]["last"]) < group[-1]["last"] for group in found)
        return was_cut or len(rows) >= MOST_ENTRIES

    def _words(self, row: Any) -> str:
        """Return the words of an entry with spaces between them; nothing if it has none."""
        if row["seq"] is None or row["kind"] >= 8:
            return ""
        try:
            body = decode(self._db.translator.row({**row, "id": bytes(16), "tokens": None}))
        except StoreCorrupt as error:
            logger.warning("entry %s of conversation %s cannot be found: %s", row["seq"], row["conversation"], error)
            return ""
        return " ".join(_bounded(words.words(words.searchable(body))))


def _bounded(found: Iterable[str]) -> list[str]:
    kept, room = [], MOST_WORD_BYTES
    for word in found:
        room -= len(word.encode())
        if room < 0:
            break
        kept.append(word)
    return kept
