"""The folder of one tenant: its conversations as ledgers, and the keys that conversations were created with."""

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
from threadkeep.store import filesystem
from threadkeep.store.codec import microseconds
from threadkeep.store.files.config import FolderConfig
from threadkeep.store.files.conversation_files import ConversationFiles
from threadkeep.store.files.trash import Trash, Trashed
from threadkeep.store.filesystem import Signature, translating_os_errors
from threadkeep.store.ledger.ledger import Ledger
from threadkeep.store.ledger.store import TenantLedgers
from threadkeep.store.record import Record

OPEN_CONVERSATIONS = 256
"""How many conversations are kept in memory; the others are read again when they are needed."""

Seen = tuple[Signature | None, Signature | None]


class TenantFolder(TenantLedgers):
    """The conversations in one folder."""

    def __init__(self, config: FolderConfig) -> None:
        super().__init__()
        self._config = config
        self._trash = Trash(config)
        self._open: OrderedDict[str, ConversationFiles] = OrderedDict()
        self._noted: dict[str, Seen] = {}
        self.behind: set[str] = set()
        self._lock = Lock()

    def _files(self, conversation: str) -> ConversationFiles:
        """Return the files of a conversation; the least recently used are dropped. Two objects for one do no harm."""
        with self._lock:
            files = self._open.pop(conversation, None) or ConversationFiles(conversation, self._config)
            self._open[conversation] = files
            if len(self._open) > OPEN_CONVERSATIONS:
                self._open.popitem(last=False)
            return files

    def release(self) -> None:
        """Keep no conversation in memory."""
        with self._lock:
            self._open.clear()

    def _note(self, files: ConversationFiles) -> None:
        if self._noted.get(files.name) != files.signatures:
            self.catalog.note(files.ledger)
            self._noted[files.name] = files.signatures

    def _drop_if_gone(self, conversation: str) -> None:
        """Forget a conversation that another process deleted, unless it was made anew meanwhile."""
        if self._files(conversation).is_gone():
            self._drop(conversation)

    def _drop(self, conversation: str) -> None:
        self.catalog.remove(conversation)
        self._noted.pop(conversation, None)

    # Locking

    @contextmanager
    def reading(self, scope: Scope, conversation: str) -> Iterator[Ledger]:
        files = self._files(conversation)
        with files.reading(scope) as ledger:
            self._note(files)
            yield ledger

    @contextmanager
    def writing(self, scope: Scope, conversation: str) -> Iterator[ConversationFiles]:
        with self._files(conversation).writing(scope) as files:
            yield files
            self._note(files)
            if not files.ledger.is_shown:
                self.behind.add(conversation)

    def write_views(self) -> None:
        behind, self.behind = self.behind, set()
        for conversation in behind:
            files = self._files(conversation)
            try:
                files.write_view()
            except ConversationNotFound:
                continue
            except StoreError as error:
                self._config.report(self._config.folder / f"{conversation}.json", str(error))

    @contextmanager
    def lock(self) -> Iterator[None]:
        with translating_os_errors():
            filesystem.make_folder(self._config.hidden / "keys")
            with filesystem.locked(self._config.hidden / "lock", os.O_RDWR | os.O_CREAT):
                yield

    # Creating and deleting

    def created_with(self, key: str) -> str | None:
        try:
            return check_id(self._key(key).read_text())
        except (FileNotFoundError, InvalidId, UnicodeDecodeError):
            return None

    def create(self, opening: Record) -> Ledger:
        files = self._files(Ledger(opening).id)
        if opening.key is not None:
            # The key's file comes first: without the conversation it means nothing, and is written over.
            self._keep_key(opening.key.name, files.name)
        ledger = files.create(opening)
        self._note(files)
        return ledger

    def delete(self, scope: Scope, conversation: str, now: datetime, expected_entries: int | None) -> None:
        files = self._files(conversation)
        with files.reading(scope) as ledger:
            key = ledger.created_with
        files.delete(scope, self._trash.new_folder(conversation, now), expected_entries)
        if key is not None and self.created_with(key) == conversation:
            self._key(key).unlink(missing_ok=True)
        self._drop(conversation)

    def restore(self, scope: Scope, conversation: str) -> None:
        if not self._trash.holds(conversation):
            raise ConversationNotFound
        with self.lock():
            found = self._trash.find(scope, conversation)
            if found is None:
                raise ConversationNotFound
            trashed, began = found
            if began.created_with is not None and not self._is_used(scope, began.created_with):
                self._keep_key(began.created_with, conversation)
            self._files(conversation).restore(trashed)
            self._trash.put_back(trashed)

    def purge(self, moment: datetime, owner: Scope | None) -> int:
        found = [trashed for trashed in self._trash.all() if owner is None or trashed.belongs_to(owner)]
        return sum(self._purge(trashed, microseconds(moment)) for trashed in found)

    def _purge(self, trashed: Trashed, moment: int) -> int:
        with self.lock():
            if trashed.journal.exists():
                if trashed.deleted_at > moment:
                    return 0
                trashed.remove()
                return 1
            if trashed.path.exists():
                self._trash.put_back(trashed)
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
        filesystem.write_file(self._key(key), conversation.encode())
        filesystem.sync_folder(self._config.hidden / "keys")

    def _key(self, name: str) -> Path:
        return self._config.hidden / "keys" / name

    # The catalog

    def deleted_files(self) -> set[str]:
        if unread := self._noted.keys() - self.catalog.ids():
            raise StoreCorrupt(f"It is not known which files {min(unread)} uses: its journal cannot be read.")
        with self.lock():
            return self._trash.files()

    def refresh(self) -> None:
        found = self._found()
        for conversation, seen in found.items():
            if self._noted.get(conversation) != seen:
                self._refresh(conversation, seen)
        for conversation in self._noted.keys() - found.keys():
            self._drop_if_gone(conversation)

    def _refresh(self, conversation: str, seen: Seen) -> None:
        files = self._files(conversation)
        try:
            with files.reading(None):
                self._note(files)
        except ConversationNotFound:
            self._drop_if_gone(conversation)
        except (StoreCorrupt, StoreTooNew, StoreDenied, InvalidInput) as error:
            self._drop(conversation)
            self._noted[conversation] = seen
            self._config.report(self._config.folder / f"{conversation}.json", str(error))

    def _found(self) -> dict[str, Seen]:
        """Return every conversation that has a journal or a view, and their signatures."""
        journals = _ids_in(self._config.hidden, ".journal")
        views = _ids_in(self._config.folder, ".json")
        return {name: (journals.get(name), views.get(name)) for name in sorted(journals.keys() | views.keys())}


def _ids_in(folder: Path, ending: str) -> dict[str, Signature]:
    """Return the files of a folder that are named by an id and this ending."""
    try:
        names = os.listdir(folder)
    except FileNotFoundError:
        return {}
    ids = (name.removesuffix(ending) for name in names if name.endswith(ending))
    found = ((name, filesystem.signature(folder / f"{name}{ending}")) for name in ids if is_id(name))
    return {name: signature for name, signature in found if signature is not None}


def is_id(name: str) -> bool:
    try:
        check_id(name)
    except InvalidId:
        return False
    return True
