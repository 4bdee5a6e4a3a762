"""Moving the write-ahead log into the file when it has grown long or nobody writes, without holding commits up.

Most of it is copied beside the writer, in a thread with a connection of its own. What was committed meanwhile is
little, and the writer copies it itself between two commits; only when everything is copied can the log begin anew.
"""

from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress

import apsw

from threadkeep.store.sqlite_file import Database

LONG_PAGES = 4000


def start_thread(name: str) -> ThreadPoolExecutor:
    """Return one thread that runs already: later there may be no memory to start it."""
    thread = ThreadPoolExecutor(1, thread_name_prefix=name)
    thread.submit(int).result()
    return thread


class Checkpoints:
    """The checkpoints of one file. Its writer asks after each commit whether the rest `is_due`."""

    def __init__(self, writer: Database) -> None:
        self._writer = writer
        self._thread = start_thread("threadkeep-checkpoint")
        self._copying: Future[None] | None = None
        self._empties = False
        self.pages = 0
        self.copied = 0
        self._next = LONG_PAGES
        writer.set_wal_hook(self._note)

    @property
    def is_due(self) -> bool:
        """Whether most is copied, and the writer should copy the rest."""
        return self._empties or (self._copying is not None and self._copying.done())

    def begin(self) -> None:
        """Copy what is there by now, in the thread."""
        if self._copying is None or self._copying.done():
            self._copying = self._thread.submit(self._copy)

    def empty(self) -> None:
        """Have the writer make the log empty when it comes next: it may hold what was removed for good."""
        self._empties = True

    def copy_the_rest(self) -> None:
        """Copy what the thread has left, as far as nobody reads it; another process may be doing so now."""
        self._copying = None
        self._next = self.pages + LONG_PAGES
        with suppress(apsw.BusyError, apsw.LockedError):
            if self._empties:
                self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
                self._empties, self.pages, self.copied = False, 0, 0
            else:
                self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    def close(self) -> None:
        """Wait for the thread."""
        self._thread.shutdown(wait=True)

    def _note(self, _connection: apsw.Connection, _name: str, pages: int) -> int:
        """Hear after each commit how long the log is."""
        self.copied = self.copied if pages > self.pages else 0
        self.pages = pages
        if pages < LONG_PAGES:
            self._next = LONG_PAGES
        elif pages >= self._next and self._copying is None:
            self.begin()
        return apsw.SQLITE_OK

    def _copy(self) -> None:
        """Copy what is there by now. What goes wrong comes again when the writer copies, and is told then."""
        with suppress(apsw.Error):
            connection = Database(self._writer.filename, flags=apsw.SQLITE_OPEN_READWRITE)
            try:
                # A connection that has read nothing does not know of the log.
                connection.pragma("user_version")
                _, self.copied = connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            finally:
                connection.close()
