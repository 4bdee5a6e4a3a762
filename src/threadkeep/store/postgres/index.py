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
from threadkeep.store.codec import decode
from threadkeep.store.postgres.database import Database
from threadkeep.text import words

logger = logging.getLogger(__name__)

PAUSE_SECONDS = 1.0
"""For how long nobody has appended when indexing begins by itself."""
BACKLOG = 5000
"""How many entries may be appended by one store before it indexes them although there was no pause."""
MOST_ENTRIES = 64
MOST_BYTES = 4 * 1024 * 1024
MOST_WORD_BYTES = 900_000
"""How many bytes of words of one entry are indexed; PostgreSQL allows a megabyte."""


class Index:
    """Brings the index up to date."""

    def __init__(self, database: Database) -> None:
        self._db = database
        self._added = 0
        self._last_added = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._running: asyncio.Task[None] | None = None

    def note(self, entries: int) -> None:
        """Count what was appended, and index it in the background later."""
        loop = asyncio.get_running_loop()
        self._added += entries
        self._last_added = loop.time()
        if self._timer is None:
            self._timer = loop.call_later(PAUSE_SECONDS, self._look)

    def _look(self) -> None:
        """Begin to index if there was a pause or there is much to index; else look again later."""
        loop = asyncio.get_running_loop()
        self._timer = None
        if self._running is not None or (
            self._added < BACKLOG and loop.time() < self._last_added + 0.9 * PAUSE_SECONDS
        ):
            self._timer = loop.call_later(PAUSE_SECONDS, self._look)
        else:
            self._added = 0
            self._running = loop.create_task(self._run())

    async def close(self) -> None:
        """Stop indexing; what is not indexed yet will be by the next one who looks for it."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait((self._running,))

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
        places = [[group[0][name] for group in found] for name in ("tenant", "owner", "conversation")]
        upto = [group[-1]["seq"] or group[-1]["indexed"] for group in found]
        columns = [list(column) for column in zip(*spoken, strict=True)] or ([], [], [])
        await self._db.pool.call("catch_up", *places, upto, *columns)
        await self._db.pool.call("caught_up", *places)
        was_cut = any((group[-1]["seq"] or group[-1]["last"]) < group[-1]["last"] for group in found)
        return was_cut or len(rows) >= MOST_ENTRIES

    def _words(self, row: Any) -> str:
        """Return the words of an entry with spaces between them; nothing if it has none."""
        if row["seq"] is None or row["kind"] >= 8:
            return ""
        try:
            text = self._text(row)
        except StoreCorrupt as error:
            logger.warning("entry %s of conversation %s cannot be found: %s", row["seq"], row["conversation"], error)
            return ""
        return " ".join(_bounded(words.words(text)))

    def _text(self, row: Any) -> str:
        """Return what can be found of a message. Most are plain text, which is seen without building the message."""
        columns = {name: row[name] for name in ("kind", "content", "parts")}
        found = self._db.translator.row({**columns, "id": bytes(16), "tokens": None})
        return words.searchable(decode(found)) if found.parts else found.content[: words.INDEXED_CHARACTERS]


def _bounded(found: Iterable[str]) -> list[str]:
    kept, room = [], MOST_WORD_BYTES
    for word in found:
        room -= len(word.encode())
        if room < 0:
            break
        kept.append(word)
    return kept
