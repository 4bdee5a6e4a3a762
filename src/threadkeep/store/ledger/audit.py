"""The audit log for stores without a database: the rows of a tenant in a list, in memory or as the lines of a file."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from itertools import islice
from typing import Any

from threadkeep.store.audit import START, AuditLog, Head, Row, Wanted, chained

Run = Callable[[Callable[[], Any]], Awaitable[Any]]
"""Runs work that may wait for the disk."""


class Rows:
    """The rows of one tenant, in memory."""

    def __init__(self) -> None:
        self.rows: list[Row] = []

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Keep others from changing the rows, which are those of now."""
        yield

    def refresh(self) -> None:
        """Learn what others added."""

    def add(self, row: Row) -> None:
        self.rows.append(row)

    def replace(self, rows: list[Row]) -> None:
        self.rows = rows


class LedgerAudit(AuditLog):
    """Acts in lists. `rows_of` returns the rows of a tenant."""

    def __init__(self, secret: bytes, rows_of: Callable[[str], Rows], run: Run) -> None:
        super().__init__(secret)
        self._rows_of = rows_of
        self._run = run

    def add(self, tenant: str, row: Row) -> None:
        """Add a row, in a thread that may wait."""
        kept = self._rows_of(tenant)
        with kept.locked():
            kept.add(chained(tenant, _head(kept.rows), row))

    async def _append(self, tenant: str, row: Row) -> None:
        await self._run(lambda: self.add(tenant, row))

    async def _rows(self, tenant: str, wanted: Wanted, limit: int) -> list[Row]:
        def look() -> list[Row]:
            kept = self._rows_of(tenant)
            kept.refresh()
            rows = reversed(kept.rows) if wanted.newest_first else iter(kept.rows)
            return list(islice(filter(wanted.has, rows), limit))

        found: list[Row] = await self._run(look)
        return found

    async def _prune(self, tenant: str, through: int, head: Head, row: Row) -> bool:
        def change() -> bool:
            kept = self._rows_of(tenant)
            with kept.locked():
                if _head(kept.rows) != head:
                    return False
                kept.replace([*(old for old in kept.rows if old.seq > through), chained(tenant, head, row)])
                return True

        return bool(await self._run(change))


def _head(rows: list[Row]) -> Head:
    return Head(seq=rows[-1].seq, hash=rows[-1].hash) if rows else START
