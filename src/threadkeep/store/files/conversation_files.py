"""The files of one conversation: its journal, its view, and the ledger that is made from them.

Reading or writing takes a lock among threads and one of the journal among processes, and brings the ledger up to date:
lines that others wrote are applied, a line that a crash cut off is set aside, and what another program wrote into the
view is imported.
"""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from threading import Lock

from threadkeep.conversation.scope import Scope
from threadkeep.errors import (
    AlreadyExists,
    ConversationNotFound,
    InvalidInput,
    StoreBusy,
    StoreCorrupt,
    StoreDenied,
    StoreError,
    StoreFull,
    StoreReadOnly,
    UnknownRole,
)
from threadkeep.store import filesystem
from threadkeep.store.files.config import FolderConfig
from threadkeep.store.files.journal import Journal
from threadkeep.store.files.trash import Trashed
from threadkeep.store.files.view import Found, Importer, View, digest, parse, read, render
from threadkeep.store.filesystem import NEVER, Signature, translating_os_errors
from threadkeep.store.ledger.ledger import Ledger
from threadkeep.store.record import Record
from threadkeep.store.rules import check_entries

_NEW = os.O_RDWR | os.O_CREAT


class ConversationFiles:
    """The files of one conversation and its ledger."""

    def __init__(self, name: str, config: FolderConfig) -> None:
        self.name = name
        self._config = config
        self._journal = Journal(config.hidden / f"{name}.journal")
        self._mark = config.hidden / f"{name}.mark"
        self._view = View(config.folder / f"{name}.json", config.hidden)
        self._ledger: Ledger | None = None
        self._mutex = Lock()

    @property
    def ledger(self) -> Ledger:
        """The ledger, while it is read or written."""
        if self._ledger is None:
            raise ConversationNotFound
        return self._ledger

    @property
    def signatures(self) -> tuple[Signature | None, Signature | None]:
        """The signatures of journal and view as the ledger knows them."""
        return self._journal.seen, self._view.seen

    def is_gone(self) -> bool:
        return self._journal.signature() is None and self._view.signature() is None

    # Locking

    @contextmanager
    def reading(self, scope: Scope | None) -> Iterator[Ledger]:
        """Lock the conversation to read it, for its user or (none) for anybody."""
        with self._thread_lock():
            if self._ledger is None or self.signatures != (self._journal.signature(), self._view.signature()):
                self._catch_up(scope)
            self._check_owner(scope)
            yield self.ledger

    @contextmanager
    def writing(self, scope: Scope) -> Iterator["ConversationFiles"]:
        with self._thread_lock(), self._locked(scope):
            self._check_owner(scope)
            yield self

    @contextmanager
    def _thread_lock(self) -> Iterator[None]:
        if not self._mutex.acquire(timeout=filesystem.PATIENCE):
            raise StoreBusy
        try:
            yield
        finally:
            self._mutex.release()

    @contextmanager
    def _locked(self, scope: Scope | None) -> Iterator[None]:
        if self._journal.signature() is None:
            self._import()
        with translating_os_errors(), self._journal.locked(os.O_RDWR):
            self._replay(scope)
            self._cut_torn_end()
            if self._ledger is None:
                self._journal.path.unlink()
                raise ConversationNotFound
            self._check_view()
            yield

    def _catch_up(self, scope: Scope | None) -> None:
        """Bring the ledger up to date; where nothing may be written, without putting anything right."""
        try:
            with self._locked(scope):
                pass
        except (StoreReadOnly, StoreDenied, StoreFull) as error:
            if self._journal.signature() is None:
                raise
            self._config.report(self._journal.path, str(error))
            with translating_os_errors(), self._journal.locked(os.O_RDONLY):
                self._replay(scope)
            self._view.seen = self._view.signature()

    def _check_owner(self, scope: Scope | None) -> None:
        if scope is not None and self.ledger.scope != scope:
            raise ConversationNotFound

    # The journal

    def _replay(self, scope: Scope | None) -> None:
        """Apply what others wrote since the last time."""
        try:
            new = self._journal.read()
        except StoreCorrupt:
            first = self._journal.opening()
            if scope and first and Ledger(first).scope != scope:
                raise ConversationNotFound from None
            raise
        if new.anew:
            self._ledger, self._view.seen = None, NEVER
            if (mark := self._marked()) and not self._journal.holds(mark):
                self._journal.forget()
                raise StoreCorrupt(f"Lines of {self._journal.path} are missing. It was left as it is.")
        self._apply(new.records)

    def _marked(self) -> str:
        """Return how far the journal had come when the view was written; nothing if it is not known."""
        try:
            return self._mark.read_bytes().decode(errors="replace")
        except OSError:
            return ""

    def _apply(self, records: Sequence[Record]) -> None:
        for record in records:
            if self._ledger is not None:
                self._ledger.apply(record)
            elif record.opening is not None:
                self._ledger = Ledger(record)
            else:
                self._journal.forget()
                raise StoreCorrupt(f"{self._journal.path} does not begin with an opening. It was left as it is.")

    def _cut_torn_end(self) -> None:
        aside = self._journal.cut_torn_end(self._config.now())
        if aside is not None:
            self._config.report(
                self._journal.path, f"a step that was never acknowledged was cut off by a crash; it is kept in {aside}"
            )

    def _append(self, records: Sequence[Record]) -> None:
        self._apply(self._journal.append(records))

    def commit(self, record: Record) -> None:
        """Make the record durable and apply it; the view follows behind, because it grows with the conversation."""
        with translating_os_errors():
            self._append([record])

    def write_view(self) -> None:
        """Write the view if it is behind."""
        with self._thread_lock(), self._locked(None), translating_os_errors():
            if not self.ledger.is_shown:
                self._rewrite_view()

    # Beginning and end

    def create(self, opening: Record) -> Ledger:
        """Begin the conversation; `AlreadyExists` if it has begun already, or if another program wrote a view of it."""
        with self._thread_lock(), translating_os_errors():
            filesystem.make_folder(self._config.hidden)
            if self._journal.signature() is None:
                if self._view.signature() is not None:
                    self._import()
                else:
                    self._mark.unlink(missing_ok=True)
            data = render(Ledger(opening))
            with self._begin_journal([opening.model_copy(update={"view": digest(data)})]):
                self._view.seen = self._view.signature()
                self._replace_view(data)
            return self.ledger

    @contextmanager
    def _begin_journal(self, records: Sequence[Record]) -> Iterator[None]:
        """Begin the journal with these records, and hold it."""
        with self._journal.locked(_NEW):
            self._replay(None)
            self._cut_torn_end()
            if self._ledger is not None:
                raise AlreadyExists
            try:
                self._append(records)
                filesystem.sync_folder(self._config.hidden)
            except OSError:
                self._journal.path.unlink()
                self._forget()
                raise
            yield

    def delete(self, scope: Scope, trashed: Trashed, expected_entries: int | None) -> None:
        """Move all files into the trash, the view first: without a journal it would look like another program's."""
        with self.writing(scope), translating_os_errors():
            check_entries(self.ledger.tip, expected_entries)
            torn = filesystem.set_aside_files(self._journal.path, "torn")
            marks = [self._mark] if self._mark.exists() else []
            trashed.move_in([*self._view.files(), *torn, *marks], self._journal.path)
            self._forget()

    def restore(self, trashed: Trashed) -> None:
        """Move the journal back; `AlreadyExists` if it has begun anew, or another program wrote a view of it."""
        with self._thread_lock(), translating_os_errors():
            if self._journal.signature() is None and self._view.signature() is not None:
                raise AlreadyExists
            with self._journal.locked(_NEW):
                self._replay(None)
                self._cut_torn_end()
                if self._ledger is not None:
                    raise AlreadyExists
                # A process that waits for the lock notices that the file was replaced, and opens it again.
                os.replace(trashed.journal, self._journal.path)
                filesystem.sync_folder(self._config.hidden)
            self._forget()

    def _forget(self) -> None:
        self._journal.forget()
        self._view.seen = NEVER
        self._ledger = None

    # The view

    def _import(self) -> None:
        """Begin with what another program wrote; `StoreCorrupt` or `UnknownRole` if that is impossible."""
        self._journal.forget()
        self._ledger = None
        with translating_os_errors():
            found = self._view.read()
            if found is None:
                raise self._not_found()
            if self._marked():
                raise StoreCorrupt(f"{self._journal.path} is missing. Put back a copy; {self._view.path} has the text.")
            records = self._imported(found)
            filesystem.make_folder(self._config.hidden)
            with suppress(AlreadyExists), self._begin_journal(records):
                self._view.seen = found.signature

    def _not_found(self) -> ConversationNotFound | StoreCorrupt:
        aside = self._view.aside()
        if not aside:
            return ConversationNotFound()
        return StoreCorrupt(f"{self._view.path} was no JSON document; it is kept in {aside[-1]}.")

    def _imported(self, found: Found) -> list[Record]:
        """Return the records of a view without a journal. One that is no JSON is set aside, any other is left."""
        path, now = self._view.path, self._config.now()
        try:
            document = read(parse(found.data), now)
            importer = Importer(now, self._config.max_bytes)
            records = importer.conversation(self._config.importing, self.name, document, digest(found.data))
        except (StoreCorrupt, InvalidInput) as error:
            kind = UnknownRole if isinstance(error, UnknownRole) else StoreCorrupt
            raise kind(f"{path} was left as it is and cannot be imported: {error}") from None
        except ValueError as error:
            aside = self._view.set_aside(now)
            self._config.report(path, f"it is no JSON document ({error}); it is kept in {aside}")
            raise self._not_found() from None
        if document.rest:
            filesystem.make_folder(self._config.hidden)
            self._view.keep_original(found.data, now)
        return records

    def _check_view(self) -> None:
        """Import what another program wrote, and write the view anew where it is missing, old or damaged."""
        if self._view.signature() == self._view.seen:
            return
        try:
            found = self._view.read()
            self._view.seen = found and found.signature
            if found is None or digest(found.data) in self.ledger.views:
                if found is None or digest(found.data) != self.ledger.view or not self.ledger.is_shown:
                    self._rewrite_view()
            else:
                self._merge(found)
        except (OSError, StoreError) as error:
            self._view.seen = NEVER
            self._config.report(self._view.path, f"changes of another program could not be taken over: {error}")

    def _merge(self, found: Found) -> None:
        now = self._config.now()
        try:
            document = read(parse(found.data), now)
            importer = Importer(now, self._config.max_bytes)
            records = importer.change(self.ledger, document, digest(found.data))
        except (ValueError, StoreCorrupt, InvalidInput) as error:
            aside = self._view.set_aside(now)
            self._config.report(self._view.path, f"it was damaged ({error}) and is kept in {aside}; it is written anew")
            self._rewrite_view()
        else:
            if document.rest:
                self._view.keep_original(found.data, now)
            was_shown = self.ledger.is_shown
            self._append(records)
            if not was_shown:
                self._rewrite_view()

    def _rewrite_view(self) -> None:
        """Write the view of the ledger as it is, and note how far the journal had come then."""
        data = render(self.ledger)
        if digest(data) != self.ledger.view or not self.ledger.is_shown:
            self._append([Record(at=self._config.now(), view=digest(data))])
        self._replace_view(data)

    def _replace_view(self, data: bytes) -> None:
        """Write the view, and before it how far the journal has come; if that fails, the next look tries again."""
        try:
            filesystem.write_file(self._mark, self._journal.end.encode())
            self._view.write(data)
        except OSError as error:
            self._view.seen = NEVER
            self._config.report(self._view.path, f"it could not be written: {error}")
