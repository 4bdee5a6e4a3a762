"""Deleting in SQLite: hiding a conversation, bringing it back, removing it for good. Runs inside transactions.

A hidden conversation has lost its id, by which everybody looks for it, and keeps all its rows.
"""

from datetime import datetime

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.ids import check_id
from threadkeep.conversation.scope import Scope
from threadkeep.errors import AlreadyExists, ConversationNotFound
from threadkeep.store.codec import encode_id, microseconds
from threadkeep.store.sqlite import index
from threadkeep.store.sqlite.place import Place
from threadkeep.store.sqlite.writing import Log

STEP = 200
"""How many entries, and how many keys, one step of a purge removes."""
_HERE = "WHERE tenant = ? AND conversation = ?"


class Deletion:
    """The conversations of one file, to be deleted."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.db = log.db

    def hide(self, scope: Scope, conversation: str) -> None:
        """Take the id away."""
        here = self.log.reader.place(scope, conversation)
        self.db.execute(
            "UPDATE conversation SET id = NULL, deleted_id = id, deleted_at = ? WHERE key = ?",
            (microseconds(self.log.clock()), here.conversation),
        )
        self.log.forget()

    def restore(self, scope: Scope, conversation: str) -> Conversation:
        """Give the id back."""
        check_id(conversation)
        keys, id = self.log.reader.scope(scope) or (0, 0), encode_id(conversation)
        found = self.db.row(
            "SELECT key, version FROM conversation WHERE tenant = ? AND deleted_id = ? AND user = ? "
            "ORDER BY key DESC LIMIT 1",
            (keys[0], id, keys[1]),
        )
        if found is None:
            raise ConversationNotFound
        if self.db.value("SELECT 1 FROM conversation WHERE tenant = ? AND id = ?", (keys[0], id)):
            raise AlreadyExists
        self.db.execute(
            "UPDATE conversation SET id = deleted_id, deleted_id = NULL, deleted_at = NULL WHERE key = ?", found[:1]
        )
        self.log.forget()
        return self.log.reader.conversation(scope, Place(keys[0], found[0], conversation, found[1]))

    def purge(self, moment: datetime) -> int | None:
        """Take one step: remove a part of what was deleted first, up to that moment. Return how many conversations that
        finished; None if nothing is left to remove."""
        found = self.db.row(
            "SELECT tenant, key FROM conversation WHERE deleted_at <= ? ORDER BY deleted_at LIMIT 1",
            (microseconds(moment),),
        )
        if found is None:
            return None
        if self._remove_entries(found) or self._remove_keys(found):
            self.db.execute("UPDATE conversation SET deleted_id = NULL WHERE key = ?", found[1:])
            return 0
        for table in ("jump", "turn", "draft", "chunk"):
            self.db.execute(f"DELETE FROM {table} {_HERE}", found)
        self.db.execute("DELETE FROM conversation WHERE key = ?", found[1:])
        return 1

    def _remove_entries(self, here: tuple[int, int]) -> bool:
        """Remove the first entries, their words and jumps; return whether more may be left."""
        rows = self.db.rows(f"SELECT position, seq FROM entry {_HERE} ORDER BY seq LIMIT {STEP}", here)
        positions = [row[:1] for row in rows]
        user = self.db.value("SELECT user FROM conversation WHERE key = ?", here[1:])
        index.remove(self.log.reader, user, here, (position for (position,) in positions))
        self.db.executemany("DELETE FROM entry WHERE position = ?", positions)
        if rows:
            self.db.execute(f"DELETE FROM jump {_HERE} AND first <= ?", (*here, rows[-1][1]))
        # Positions at the end of the table are given again, and must be indexed again then.
        self.db.execute("UPDATE caught_up SET position = min(position, (SELECT coalesce(max(position), 0) FROM entry))")
        return len(rows) == STEP

    def _remove_keys(self, here: tuple[int, int]) -> bool:
        """Remove some idempotency keys; return whether more may be left."""
        rows = self.db.rows(f"SELECT tenant, name FROM key {_HERE} LIMIT {STEP}", here)
        self.db.executemany("DELETE FROM key WHERE tenant = ? AND name = ?", rows)
        return len(rows) == STEP
