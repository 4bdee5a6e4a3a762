"""The folder of one tenant: a shelf of books, and the keys that conversations were created with."""

import os
from collections import OrderedDict
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from threading import Lock

from threadkeep.conversation.ids import check_id
from threadkeep.conversation.scope import Scope
from threadkeep.errors import (
    ConversationNotFound,
    InvalidId,
    InvalidInput,
    StoreCorrupt,
    StoreDenied,
    StoreError,
    StoreTooNew,
)
from threadkeep.store.files import disk
from threadkeep.store.files.bin import Bin, Binned
from threadkeep.store.files.book import Book
from threadkeep.store.files.disk import Signature
from threadkeep.store.files.surroundings import Surroundings
from threadkeep.store.ledger.ledger import Ledger
from threadkeep.store.ledger.store import Shelf
from threadkeep.store.moments import microseconds
from threadkeep.store.os_errors import translated
from threadkeep.store.record import Record

OPEN_BOOKS = 256
"""How many conversations are kept in memory; the others are read again when they are needed."""

Seen = tuple[Signature | None, Signature | None]


class Folder(Shelf):
    """The conversations in one folder."""

    def __init__(self, around: Surroundings) -> None:
        super().__init__()
        self._around = around
        self._bin = Bin(around)
        self._books: OrderedDict[str, Book] = OrderedDict()
        self._noted: dict[str, Seen] = {}
        self.behind: set[str] = set()
        self._lock = Lock()

    def _book(self, conversation: str) -> Book:
        """Return a book; of those that were not used for long, let one go. Two of one conversation do no harm."""
        with self._lock:
            book = self._books.pop(conversation, None) or Book(conversation, self._around)
            self._books[conversation] = book
            if len(self._books) > OPEN_BOOKS:
                self._books.popitem(last=False)
            return book

    def _note(self, book: Book) -> None:
        if self._noted.get(book.name) != book.seen:
            self.catalog.note(book.ledger)
            self._noted[book.name] = book.seen

    def _drop_if_gone(self, conversation: str) -> None:
        """Forget a conversation that another process deleted, unless it was made anew meanwhile."""
        if self._book(conversation).is_gone():
            self._drop(conversation)

    def _drop(self, conversation: str) -> None:
        self.catalog.remove(conversation)
        self._noted.pop(conversation, None)

    # Holding

    @contextmanager
    def reading(self, scope: Scope, conversation: str) -> Iterator[Ledger]:
        book = self._book(conversation)
        with book.reading(scope) as ledger:
            self._note(book)
            yield ledger

    @contextmanager
    def writing(self, scope: Scope, conversation: str) -> Iterator[Book]:
        with self._book(conversation).writing(scope) as book:
            yield book
            self._note(book)
            if not book.ledger.is_shown:
                self.behind.add(conversation)

    def show(self) -> None:
        """Write the views that are behind."""
        behind, self.behind = self.behind, set()
        for conversation in behind:
            book = self._book(conversation)
            try:
                book.show()
            except ConversationNotFound:
                continue
            except StoreError as error:
                self._around.report(self._around.folder / f"{conversation}.json", str(error))

    @contextmanager
    def creating(self) -> Iterator[None]:
        with translated():
            disk.make_folder(self._around.hidden / "keys")
            with disk.locked(self._around.hidden / "lock", os.O_RDWR | os.O_CREAT):
                yield

    # Creating and deleting

    def created_with(self, key: str) -> str | None:
        try:
            return check_id(self._key(key).read_text())
        except (FileNotFoundError, InvalidId, UnicodeDecodeError):
            return None

    def create(self, opening: Record) -> Ledger:
        book = self._book(Ledger(opening).id)
        if opening.key is not None:
            # The key's file comes first: without the conversation it means nothing, and is written over.
            self._keep_key(opening.key.name, book.name)
        ledger = book.create(opening)
        self._note(book)
        return ledger

    def delete(self, scope: Scope, conversation: str, now: datetime) -> None:
        book = self._book(conversation)
        with book.reading(scope) as ledger:
            key = ledger.created_with
        book.delete(scope, self._bin.place(conversation, now))
        if key is not None and self.created_with(key) == conversation:
            self._key(key).unlink(missing_ok=True)
        self._drop(conversation)

    def restore(self, scope: Scope, conversation: str) -> None:
        if not self._bin.holds(conversation):
            raise ConversationNotFound
        with self.creating():
            found = self._bin.find(scope, conversation)
            if found is None:
                raise ConversationNotFound
            binned, began = found
            if began.created_with is not None and not self._is_used(scope, began.created_with):
                self._keep_key(began.created_with, conversation)
            self._book(conversation).restore(binned)
            self._bin.put_back(binned)

    def purge(self, moment: datetime) -> int:
        return sum(self._purge(binned, microseconds(moment)) for binned in self._bin.all())

    def _purge(self, binned: Binned, moment: int) -> int:
        with self.creating():
            if binned.journal.exists():
                if binned.deleted_at > moment:
                    return 0
                binned.remove()
                return 1
            if binned.path.exists():
                self._bin.put_back(binned)
            return 0

    def _is_used(self, scope: Scope, key: str) -> bool:
        """Whether there is a conversation that was created with this key."""
        conversation = self.created_with(key)
        if conversation is None:
            return False
        try:
            with self.reading(scope, conversation) as ledger:
                return ledger.created_with == key
        except ConversationNotFound:
            return False

    def _keep_key(self, key: str, conversation: str) -> None:
        disk.write_file(self._key(key), conversation.encode())
        disk.sync_folder(self._around.hidden / "keys")

    def _key(self, name: str) -> Path:
        return self._around.hidden / "keys" / name

    # The catalog

    def refresh(self) -> None:
        found = self._found()
        for conversation, seen in found.items():
            if self._noted.get(conversation) != seen:
                self._refresh(conversation, seen)
        for conversation in self._noted.keys() - found.keys():
            self._drop_if_gone(conversation)

    def _refresh(self, conversation: str, seen: Seen) -> None:
        book = self._book(conversation)
        try:
            with book.reading(None):
                self._note(book)
        except ConversationNotFound:
            self._drop_if_gone(conversation)
        except (StoreCorrupt, StoreTooNew, StoreDenied, InvalidInput) as error:
            self._drop(conversation)
            self._noted[conversation] = seen
            self._around.report(self._around.folder / f"{conversation}.json", str(error))

    def _found(self) -> dict[str, Seen]:
        """Return every conversation that has a journal or a view, and their signatures."""
        journals = _files(self._around.hidden, ".journal")
        views = _files(self._around.folder, ".json")
        return {name: (journals.get(name), views.get(name)) for name in sorted(journals.keys() | views.keys())}


def _files(folder: Path, ending: str) -> dict[str, Signature]:
    """Return the files of a folder that are named by an id and this ending."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return {}
    ids = (name.removesuffix(ending) for name in names if name.endswith(ending))
    found = ((name, disk.signature(folder / f"{name}{ending}")) for name in ids if _is_id(name))
    return {name: signature for name, signature in found if signature is not None}


def _is_id(name: str) -> bool:
    try:
        check_id(name)
    except InvalidId:
        return False
    return True
