"""The one writer of an SQLite file in this process: it groups the work of all callers into commits.

Callers that ask in the same round of the event loop, or while a commit is under way, share one commit and one fsync.
A caller that is alone does not even wait for the round to end. Where the disk answers fast, a commit costs less than
waking a thread, so it is made right in the event loop; where it does not, or another process holds the file, it is made
in a thread beside it.
"""

import asyncio
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, Protocol, TypeVar, cast

import apsw

from threadkeep.errors import StoreUnavailable
from threadkeep.store.sqlite.pair import Pair
from threadkeep.store.sqlite.wal import Checkpoints, start_thread
from threadkeep.store.sqlite_file import BUSY_MILLISECONDS, SqliteDatabase, to_store_error

T = TypeVar("T")
Work = Callable[[], Any]

SLOW_SECONDS = 0.002
"""Commits that take longer on average are made in the thread."""
LARGEST_GROUP = 256
ALONE_AT_MOST = 16
"""How often a caller may commit in one round of the event loop before others get their chance."""


def _patience(seconds: float) -> Callable[[int], bool]:
    """Return what waits a little for another process and says whether to look again. SQLite's own pauses grow so long
    that a busy neighbour starves us."""
    since = 0.0

    def wait(calls: int) -> bool:
        nonlocal since
        since = since if calls else time.monotonic()
        time.sleep(0.0005)
        return time.monotonic() - since < seconds

    return wait


class _SpoiledError(Exception):
    """Work failed after it had written something."""

    def __init__(self, reason: Exception) -> None:
        super().__init__(str(reason))
        self.reason = reason


class _Job(NamedTuple):
    work: Work
    done: asyncio.Future[Any]


class Transactions(ABC):
    """Runs work inside transactions of one connection."""

    connection: SqliteDatabase

    @abstractmethod
    async def run(self, work: Callable[[], T]) -> T:
        """Do the work in a transaction, maybe with others'; return its result once durable, or raise its error."""

    @abstractmethod
    async def close(self) -> None:
        """Finish what was accepted, then close the connection."""


class RunOnDatabase(Protocol):
    """Runs work on a connection: in a transaction if it writes."""

    def __call__(self, work: Callable[[SqliteDatabase], T], *, writes: bool = True) -> Awaitable[T]:
        """Return what the work returns, once it is durable."""


class Writer(Transactions):
    """Groups the work of many callers, and answers when the commit is on disk.

    `begun` is called at the beginning of each transaction; `undone` after one was rolled back, so that nothing that was
    read in it is remembered.
    """

    def __init__(self, connection: SqliteDatabase, begun: Callable[[], None], undone: Callable[[], None]) -> None:
        self.connection = connection
        self.commits = 0
        self._begun = begun
        self._undone = undone
        self._loop = asyncio.get_running_loop()
        self._thread = start_thread("threadkeep-writer")
        self._jobs: list[_Job] = []
        self._flushing: asyncio.Handle | None = None
        self._in_thread: asyncio.Task[None] | None = None
        self._round: list[asyncio.Task[Any] | None] = []
        self._crowded = False
        self._patience = -1
        self._seconds = 0.0
        self.checkpoints = Checkpoints(connection)
        self._pair = Pair(connection)
        self._closed = False

    async def run(self, work: Callable[[], T]) -> T:
        if self._closed:
            raise StoreUnavailable("The store is closed.")
        if self._is_alone():
            answers = self._commit_at_once([work])
            if answers is not None:
                if isinstance(answers[0], Exception):
                    raise answers[0]
                return cast(T, answers[0])
        job = _Job(work, self._loop.create_future())
        self._jobs.append(job)
        self._schedule()
        result: T = await job.done
        return result

    async def close(self) -> None:
        self._closed = True
        while self._jobs or self._flushing or self._in_thread:
            await (asyncio.wait([self._in_thread]) if self._in_thread else asyncio.sleep(0))
        self._thread.shutdown(wait=True)
        self.checkpoints.close()
        self._pair.close()
        self.connection.close()

    def _is_alone(self) -> bool:
        """Whether no other task has asked in this round, nor usually does."""
        if self._crowded or self._jobs or self._flushing or not self._is_fast():
            return False
        task = asyncio.current_task()
        if not self._round:
            self._loop.call_soon(self._round.clear)
        elif self._round[0] is not task or len(self._round) >= ALONE_AT_MOST:
            return False
        self._round.append(task)
        return True

    def _is_fast(self) -> bool:
        """Whether a commit may be made in the event loop now."""
        return self._in_thread is None and self._seconds < SLOW_SECONDS and not self.checkpoints.is_due

    def _schedule(self) -> None:
        """See to it that who waits gets a commit in the next round."""
        if self._jobs and self._in_thread is None and self._flushing is None:
            self._flushing = self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = None
        group, self._jobs = self._jobs[:LARGEST_GROUP], self._jobs[LARGEST_GROUP:]
        self._crowded = len(group) > 1
        answers = self._commit_at_once([job.work for job in group]) if self._is_fast() else None
        if answers is None:
            self._in_thread = self._loop.create_task(self._commit_in_thread(group))
        else:
            _answer(group, answers)
        self._schedule()

    def _commit_at_once(self, works: Sequence[Work]) -> list[Any] | None:
        """Commit in the event loop and return results and errors; None if another process is writing."""
        try:
            self._begin(0)
        except apsw.BusyError:
            return None
        except Exception as error:
            return self._failed(works, error)
        return self._perform(works)

    async def _commit_in_thread(self, group: list[_Job]) -> None:
        works = [job.work for job in group]
        try:
            answers = await self._loop.run_in_executor(self._thread, self._commit_patiently, works)
        except Exception as error:
            answers = self._failed(works, error)
        _answer(group, answers)
        self._in_thread = None
        self._schedule()

    def _commit_patiently(self, works: Sequence[Work]) -> list[Any]:
        """Commit in the thread: wait for other processes, and end a checkpoint if there is one."""
        try:
            if self.checkpoints.is_due:
                self.checkpoints.copy_the_rest()
            self._begin(BUSY_MILLISECONDS)
        except Exception as error:
            return self._failed(works, error)
        return self._perform(works)

    def _failed(self, works: Sequence[Work], error: Exception) -> list[Any]:
        """Return an error for each: whatever goes wrong, nobody is left without an answer."""
        return [to_store_error(error, self.connection)] * len(works)

    def _begin(self, milliseconds: int) -> None:
        """Begin a transaction; wait so long for other processes."""
        if self.connection.in_transaction:
            self.connection.execute("ROLLBACK")
        if milliseconds != self._patience:
            if milliseconds:
                self.connection.set_busy_handler(_patience(milliseconds / 1000))
            else:
                self.connection.set_busy_timeout(0)
            self._patience = milliseconds
        self.connection.execute("BEGIN IMMEDIATE")
        self.checkpoints.make_room()

    def _perform(self, works: Sequence[Work]) -> list[Any]:
        """Do all works in the open transaction and commit; return a result or an error for each."""
        started = time.perf_counter()
        try:
            self._begun()
            before = self.connection.total_changes()
            answers = [self._attempt(work) for work in works]
            if self.connection.total_changes() == before:
                self.connection.execute("COMMIT")
            else:
                self._pair.advance()
                self.connection.execute("COMMIT")
                self._pair.note()
            self.commits += 1
        except _SpoiledError as spoiled:
            self._undo()
            answers = [spoiled.reason] if len(works) == 1 else [self._perform_alone(work) for work in works]
        except Exception as error:
            answers = self._failed(works, error)
            self._undo()
        took = (time.perf_counter() - started) / max(1, len(works) // 8)
        self._seconds += 0.1 * (took - self._seconds)
        return answers

    def _attempt(self, work: Work) -> Any:
        """Return what the work returns, or its error. Work checks before it writes, so there is nothing to undo.

        Work that fails after it has written spoils the transaction, and all others are done again without it.
        """
        before = self.connection.total_changes()
        try:
            return work()
        except apsw.Error:
            raise
        except Exception as error:
            if self.connection.total_changes() != before:
                raise _SpoiledError(error) from error
            return error

    def _perform_alone(self, work: Work) -> Any:
        """Do one work in a transaction of its own."""
        try:
            self._begin(self._patience)
        except Exception as error:
            return to_store_error(error, self.connection)
        return self._perform([work])[0]

    def _undo(self) -> None:
        """Roll back; if not even that is possible, it is tried again before the next transaction."""
        self._undone()
        with suppress(apsw.Error):
            if self.connection.in_transaction:
                self.connection.execute("ROLLBACK")


def _answer(group: list[_Job], answers: list[Any]) -> None:
    for job, answer in zip(group, answers, strict=True):
        if job.done.done():
            continue
        if isinstance(answer, Exception):
            job.done.set_exception(answer)
        else:
            job.done.set_result(answer)
