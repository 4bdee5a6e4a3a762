"""The one writer of an SQLite file in this process: it groups the work of all callers into commits.

Callers that ask in the same round of the event loop, or while a commit is under way, share one commit and one fsync;
nobody waits for a timer. Where the disk answers fast, a commit costs less than waking a thread, so it is made right
in the event loop; where it does not, or another process holds the file, it is made in a thread beside it.
"""

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple, TypeVar

import apsw

from threadkeep.errors import StoreUnavailable
from threadkeep.store.sqlite.connection import BUSY_MILLISECONDS, Database, translate

T = TypeVar("T")

SLOW_SECONDS = 0.002
"""Commits that take longer on average are made in the thread."""
CHECKPOINT_PAGES = 1000
LARGEST_GROUP = 256


class _Job(NamedTuple):
    work: Callable[[], Any]
    done: asyncio.Future[Any]


class Writer:
    """Runs work inside transactions of one connection, many at a time, and answers when the commit is on disk.

    `undone` is called after work was rolled back, so that nothing that was read in it is remembered.
    """

    def __init__(self, connection: Database, undone: Callable[[], None]) -> None:
        self.connection = connection
        self._undone = undone
        self.commits = 0
        self._loop = asyncio.get_running_loop()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="threadkeep-writer")
        self._jobs: list[_Job] = []
        self._scheduled = False
        self._in_thread: asyncio.Future[None] | None = None
        self._seconds = 0.0
        self._pages = 0
        self._checkpoint_at = CHECKPOINT_PAGES
        self._closed = False
        connection.set_wal_hook(self._count_pages)

    async def run(self, work: Callable[[], T]) -> T:
        """Do the work in a transaction shared with others; return its result when it is durable, or raise its error."""
        if self._closed:
            raise StoreUnavailable("The store is closed.")
        job = _Job(work, self._loop.create_future())
        self._jobs.append(job)
        self._schedule()
        result: T = await job.done
        return result

    async def close(self) -> None:
        """Finish what was accepted, then close the connection."""
        self._closed = True
        while self._jobs or self._scheduled or self._in_thread:
            await asyncio.sleep(0) if self._in_thread is None else await asyncio.wait([self._in_thread])
        self._thread.shutdown(wait=True)
        self.connection.close()

    def _schedule(self) -> None:
        if self._jobs and not self._scheduled and self._in_thread is None:
            self._scheduled = True
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._scheduled = False
        group, self._jobs = self._jobs[:LARGEST_GROUP], self._jobs[LARGEST_GROUP:]
        if self._seconds > SLOW_SECONDS or self._pages >= self._checkpoint_at or not self._commit_at_once(group):
            self._in_thread = self._loop.create_task(self._commit_in_thread(group))
        self._schedule()

    def _commit_at_once(self, group: list[_Job]) -> bool:
        """Commit in the event loop, unless another process is writing."""
        self.connection.set_busy_timeout(0)
        try:
            self.connection.execute("BEGIN IMMEDIATE")
        except apsw.BusyError:
            return False
        except apsw.Error as error:
            self._answer(group, [translate(error)] * len(group))
        else:
            self._answer(group, self._perform(group))
        return True

    async def _commit_in_thread(self, group: list[_Job]) -> None:
        try:
            self._answer(group, await self._loop.run_in_executor(self._thread, self._commit_waiting, group))
        finally:
            self._in_thread = None
            self._schedule()

    def _commit_waiting(self, group: list[_Job]) -> list[Any]:
        """Commit in the thread: wait for other processes, and move the write-ahead log into the file when it is long."""
        try:
            self.connection.set_busy_timeout(BUSY_MILLISECONDS)
            if self._pages >= self._checkpoint_at:
                self._checkpoint_at = self._pages + CHECKPOINT_PAGES
                self.connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            self.connection.execute("BEGIN IMMEDIATE")
        except apsw.Error as error:
            return [translate(error)] * len(group)
        return self._perform(group)

    def _perform(self, group: list[_Job]) -> list[Any]:
        """Do each work in its own savepoint of the open transaction and commit; return a result or an error for each."""
        started = time.perf_counter()
        alone = len(group) == 1
        answers: list[Any] = []
        try:
            answers = [self._attempt(job.work, alone) for job in group]
            if self.connection.in_transaction:
                self.connection.execute("COMMIT")
                self.commits += 1
        except apsw.Error as error:
            answers = [translate(error)] * len(group)
        finally:
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")
            if any(isinstance(answer, Exception) for answer in answers):
                self._undone()
        took = (time.perf_counter() - started) / max(1, len(group) // 8)
        self._seconds += 0.1 * (took - self._seconds)
        return answers

    def _attempt(self, work: Callable[[], Any], alone: bool) -> Any:
        """Return what the work returns, or the error that it raised after undoing what it did."""
        if not alone:
            self.connection.execute("SAVEPOINT work")
        try:
            result = work()
        except apsw.Error:
            raise
        except Exception as error:
            self.connection.execute("ROLLBACK" if alone else "ROLLBACK TO work")
            result = error
        if not alone:
            self.connection.execute("RELEASE work")
        return result

    def _answer(self, group: list[_Job], answers: list[Any]) -> None:
        for job, answer in zip(group, answers, strict=True):
            if job.done.done():
                continue
            if isinstance(answer, Exception):
                job.done.set_exception(answer)
            else:
                job.done.set_result(answer)

    def _count_pages(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        self._pages = pages
        if pages < CHECKPOINT_PAGES:
            self._checkpoint_at = CHECKPOINT_PAGES
        return apsw.SQLITE_OK
