"""The bin of a folder: conversations that were deleted, each with all its files in a folder of its own.

The name of that folder tells when it was deleted, which one it is, and in which order. What counts is the journal: it
goes into the bin last and comes out first, so that a crash in between leaves a conversation either here or there. Files
that are here without their journal were left behind by such a crash. Whoever uses a bin holds the lock of its folder.
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
from threadkeep.store.files import disk
from threadkeep.store.files.journal import Journal
from threadkeep.store.files.surroundings import Surroundings
from threadkeep.store.ledger.ledger import Ledger
from threadkeep.store.moments import microseconds
from threadkeep.store.record import Record


class Binned(NamedTuple):
    """A deleted conversation: its number in the order of deletion, when it was deleted, and where its files are."""

    number: int
    deleted_at: int
    conversation: str
    path: Path

    @property
    def journal(self) -> Path:
        """The journal."""
        return self.path / f"{self.conversation}.journal"

    def fill(self, beside: Sequence[Path], journal: Path) -> None:
        """Move the files of a conversation in here."""
        disk.make_folder(self.path)
        for path in beside:
            os.rename(path, self.path / path.name)
        for folder in {self.path, *(path.parent for path in beside)}:
            disk.sync_folder(folder)
        os.rename(journal, self.journal)
        disk.sync_folder(self.path)
        disk.sync_folder(journal.parent)

    def first(self) -> Record | None:
        """Return the record that the journal begins with; none if there is no journal."""
        journal = Journal(self.journal)
        with suppress(ConversationNotFound), journal.held(os.O_RDONLY):
            return journal.first()
        return None

    def remove(self) -> None:
        """Remove it for good, the journal last."""
        for path in sorted(self.path.iterdir(), key=lambda path: path == self.journal):
            path.unlink()
        self.path.rmdir()
        disk.sync_folder(self.path.parent)


class Bin:
    """The deleted conversations of one folder."""

    def __init__(self, around: Surroundings) -> None:
        self._around = around
        self._path = around.hidden / "deleted"

    def all(self) -> list[Binned]:
        """Return what is in the bin, in the order of deletion."""
        try:
            names = os.listdir(self._path)
        except FileNotFoundError:
            return []
        return sorted(binned for name in names if (binned := _parse(self._path / name)) is not None)

    def place(self, conversation: str, now: datetime) -> Binned:
        """Return a new place in the bin."""
        number = max((binned.number for binned in self.all()), default=0) + 1
        at = microseconds(now)
        return Binned(number, at, conversation, self._path / f"{number:08d}-{at:016d}-{conversation}")

    def holds(self, conversation: str) -> bool:
        """Whether something was deleted under this id."""
        return any(binned.conversation == conversation for binned in self.all())

    def find(self, scope: Scope, conversation: str) -> tuple[Binned, Ledger] | None:
        """Return the conversation of this user that was deleted last under this id, and how it began."""
        for binned in reversed(self.all()):
            first = binned.first() if binned.conversation == conversation else None
            if first is not None and (began := Ledger(first)).scope == scope:
                return binned, began
        return None

    def put_back(self, binned: Binned) -> None:
        """Put back what belongs to a journal that has come out; if that is gone again, remove it all."""
        if disk.signature(self._around.hidden / binned.journal.name) is not None:
            for path in list(binned.path.iterdir()):
                home = self._home(binned, path)
                if not home.exists():
                    os.rename(path, home)
            disk.sync_folder(self._around.hidden)
            disk.sync_folder(self._around.folder)
        binned.remove()

    def _home(self, binned: Binned, path: Path) -> Path:
        """Return where a file was: a view, and what was set aside of it, are for everybody to see."""
        name = f"{binned.conversation}.json"
        is_seen = path.name == name or path.name.startswith(f"{name}.corrupt-")
        return (self._around.folder if is_seen else self._around.hidden) / path.name


def _parse(path: Path) -> Binned | None:
    number, _, rest = path.name.partition("-")
    deleted_at, _, conversation = rest.partition("-")
    try:
        return Binned(int(number), int(deleted_at), check_id(conversation), path)
    except (ValueError, InvalidId):
        return None
