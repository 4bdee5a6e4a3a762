"""The trash of a folder: conversations that were deleted, each with all its files in a folder of its own.

The name of that folder has the time of deletion, the id and a running number. The journal decides where a conversation
is: it is moved in last and out first, so that after a crash a conversation is either deleted or not. Files in the trash
without their journal were left behind by such a crash. Callers hold the lock of the folder.
"""

import os
from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from threadkeep.conversation.ids import check_id
from threadkeep.conversation.scope import Scope
from threadkeep.errors import ConversationNotFound, InvalidId
from threadkeep.store import filesystem
from threadkeep.store.codec import microseconds
from threadkeep.store.file_tables import attached_files
from threadkeep.store.files.config import FolderConfig
from threadkeep.store.files.journal import Journal
from threadkeep.store.ledger.ledger import Ledger
from threadkeep.store.record import Record


class Trashed(NamedTuple):
    """A deleted conversation: its number in the order of deletion, when it was deleted, and where its files are."""

    number: int
    deleted_at: int
    conversation: str
    path: Path

    @property
    def journal(self) -> Path:
        return self.path / f"{self.conversation}.journal"

    def move_in(self, files: Sequence[Path], journal: Path) -> None:
        """Move the files of a conversation in here."""
        filesystem.make_folder(self.path)
        for path in files:
            os.rename(path, self.path / path.name)
        for folder in {self.path, *(path.parent for path in files)}:
            filesystem.sync_folder(folder)
        os.rename(journal, self.journal)
        filesystem.sync_folder(self.path)
        filesystem.sync_folder(journal.parent)

    def opening(self) -> Record | None:
        """Return the record that the journal begins with; none if there is no journal."""
        journal = Journal(self.journal)
        with suppress(ConversationNotFound), journal.locked(os.O_RDONLY):
            return journal.opening()
        return None

    def belongs_to(self, scope: Scope) -> bool:
        """Whether its journal says that it is this user's."""
        first = self.opening()
        return first is not None and Ledger(first).scope == scope

    def remove(self) -> None:
        """Remove it for good, the journal last."""
        for path in sorted(self.path.iterdir(), key=lambda path: path == self.journal):
            path.unlink()
        self.path.rmdir()
        filesystem.sync_folder(self.path.parent)


class Trash:
    """The deleted conversations of one folder."""

    def __init__(self, config: FolderConfig) -> None:
        self._config = config
        self._path = config.hidden / "deleted"

    def all(self) -> list[Trashed]:
        try:
            names = os.listdir(self._path)
        except FileNotFoundError:
            return []
        return sorted(trashed for name in names if (trashed := _parse(self._path / name)) is not None)

    def new_folder(self, conversation: str, now: datetime) -> Trashed:
        """Return a folder that is not used yet."""
        number = max((trashed.number for trashed in self.all()), default=0) + 1
        at = microseconds(now)
        return Trashed(number, at, conversation, self._path / f"{number:08d}-{at:016d}-{conversation}")

    def files(self) -> set[str]:
        """Return the files that deleted conversations use."""
        found = set[str]()
        for trashed in self.all():
            journal = Journal(trashed.journal)
            with suppress(ConversationNotFound), journal.locked(os.O_RDONLY):
                bodies = (body for record in journal.read().records for body in record.bodies)
                found.update(file for body in bodies for file in attached_files(body))
        return found

    def holds(self, conversation: str) -> bool:
        """Whether something was deleted under this id."""
        return any(trashed.conversation == conversation for trashed in self.all())

    def find(self, scope: Scope, conversation: str) -> tuple[Trashed, Ledger] | None:
        """Return the conversation of this user that was deleted last under this id, and how it began."""
        for trashed in reversed(self.all()):
            first = trashed.opening() if trashed.conversation == conversation else None
            if first is not None and (began := Ledger(first)).scope == scope:
                return trashed, began
        return None

    def put_back(self, trashed: Trashed) -> None:
        """Put back what belongs to a journal that has come out; if that is gone again, remove it all."""
        if filesystem.signature(self._config.hidden / trashed.journal.name) is not None:
            for path in list(trashed.path.iterdir()):
                home = self._original_path(trashed, path)
                if not home.exists():
                    os.rename(path, home)
            filesystem.sync_folder(self._config.hidden)
            filesystem.sync_folder(self._config.folder)
        trashed.remove()

    def _original_path(self, trashed: Trashed, path: Path) -> Path:
        """Return where a file was: a view, and what was set aside of it, are for everybody to see."""
        name = f"{trashed.conversation}.json"
        is_public = path.name == name or path.name.startswith(f"{name}.corrupt-")
        return (self._config.folder if is_public else self._config.hidden) / path.name


def _parse(path: Path) -> Trashed | None:
    number, _, rest = path.name.partition("-")
    deleted_at, _, conversation = rest.partition("-")
    try:
        return Trashed(int(number), int(deleted_at), check_id(conversation), path)
    except (ValueError, InvalidId):
        return None
