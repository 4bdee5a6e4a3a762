"""Writing to the log in SQLite. Every function here runs inside a transaction of the writer: all or nothing."""

import json
from collections.abc import Sequence

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.cursor import MAX_SEQ
from threadkeep.conversation.entry import Body, Entry, HeadChoice, Update
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import Lease, TurnChange, TurnState
from threadkeep.errors import (
    AlreadyExists,
    DraftMismatch,
    InvalidParent,
    KeyReused,
    LeaseLost,
    StaleHead,
    StaleVersion,
)
from threadkeep.store.base import ROOT, Append, Appended, Created
from threadkeep.store.codec import Row, decode_id, encode, encode_id
from threadkeep.store.moments import microseconds
from threadkeep.store.placement import Placed, Tip, place, stamper
from threadkeep.store.sqlite.milestones import set_milestones
from threadkeep.store.sqlite.reading import Place, Reader

_INSERT = """
    INSERT INTO entry
        (tenant, conversation, seq, parent, kind, turn, created_at, id, tokens, head, newest, content, parts)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
"""
REMEMBERED = 10_000
_HERE = "WHERE tenant = ? AND conversation = ?"


class Log:
    """The log of one file, to be written."""

    def __init__(self, reader: Reader, clock: Clock) -> None:
        self.reader = reader
        self.db = reader.db
        self.clock = clock
        self.added = 0
        self._seen = -1
        self._places: dict[tuple[str, str, str], Place] = {}
        self._tips: dict[int, Tip] = {}

    def forget(self) -> None:
        """Remember nothing of what was read: it may have been undone, or changed by another process."""
        self.reader.forget()
        self._places.clear()
        self._tips.clear()

    def begin(self) -> None:
        """Begin a transaction: forget what was remembered if somebody else has written since."""
        seen = self.db.value("PRAGMA data_version")
        if seen != self._seen or len(self._tips) > REMEMBERED or len(self._places) > REMEMBERED:
            self.forget()
            self._seen = seen

    def end(self, scope: Scope, conversation: str) -> tuple[Place, Tip]:
        """Return where a conversation is stored and the end of its log; remembered as long as nobody else writes."""
        names = (scope.tenant, scope.user, conversation)
        here = self._places.get(names) or self._places.setdefault(names, self.reader.place(scope, conversation))
        tip = self._tips.get(here.conversation)
        return here, self.reader.tip(here) if tip is None else tip

    def _raise_version(self, here: Place) -> None:
        self.db.execute("UPDATE conversation SET version = version + 1 WHERE key = ?", (here.conversation,))
        self._places.clear()

    # Conversations

    def create(self, scope: Scope, id: str, new: NewConversation, key: IdempotencyKey | None) -> Created:
        """Create a conversation, or find it by its key."""
        tenant, user = self._scope(scope)
        if (found := self.replayed(scope, key)) is not None:
            return Created(conversation=self.reader.conversation(scope, found[0]), replayed=True)
        now = microseconds(self.clock())
        if self.db.value("SELECT 1 FROM conversation WHERE tenant = ? AND id = ?", (tenant, encode_id(id))):
            raise AlreadyExists
        self.db.execute(
            "INSERT INTO conversation (tenant, user, id, version, created_at, updated_at, bytes, status, archived, "
            "assistant, title, model, metadata, system) VALUES (?, ?, ?, 1, ?, ?, 0, 'active', 0, ?, ?, ?, ?, ?)",
            (
                tenant,
                user,
                encode_id(id),
                now,
                now,
                new.assistant,
                new.title,
                new.model,
                _json(new.metadata),
                new.system,
            ),
        )
        here = Place(tenant, self.db.last_insert_rowid(), id, 1)
        self.remember(scope, here, key, 0, 0)
        return Created(conversation=self.reader.conversation(scope, here))

    def _scope(self, scope: Scope) -> tuple[int, int]:
        """Return the keys of tenant and user, made when they first store something."""
        found = self.reader.scope(scope)
        if found is not None:
            return found
        self.db.execute("INSERT OR IGNORE INTO tenant (name) VALUES (?)", (scope.tenant,))
        tenant = self.db.value("SELECT key FROM tenant WHERE name = ?", (scope.tenant,))
        self.db.execute("INSERT INTO user (tenant, name) VALUES (?, ?)", (tenant, scope.user))
        # Not through the reader, which remembers what it finds: this transaction may still be undone.
        return tenant, self.db.last_insert_rowid()

    def update(self, scope: Scope, conversation: str, change: Update, expected_version: int | None) -> Conversation:
        """Change a conversation as a whole."""
        here, tip = self.end(scope, conversation)
        check_version(here, expected_version)
        self.db.execute(
            "UPDATE conversation SET title = coalesce(?, title), metadata = coalesce(?, metadata), "
            "status = coalesce(?, status), archived = coalesce(?, archived), model = coalesce(?, model) WHERE key = ?",
            (
                change.title,
                None if change.metadata is None else _json(change.metadata),
                change.status,
                change.archived,
                change.model,
                here.conversation,
            ),
        )
        self._raise_version(here)
        self.put(here, tip, [change], tip.head, None)
        return self.reader.conversation(scope, here)

    def choose_head(self, scope: Scope, conversation: str, head: int, expected_version: int | None) -> Conversation:
        """Make another entry the head."""
        here, tip = self.end(scope, conversation)
        check_version(here, expected_version)
        if head != ROOT:
            self.reader.check_on_branch(here, head)
        self._raise_version(here)
        self.put(here, tip._replace(head=head), [HeadChoice()], head, None)
        return self.reader.conversation(scope, here)

    # Idempotency

    def replayed(self, scope: Scope, key: IdempotencyKey | None) -> tuple[Place, int, int] | None:
        """Return the conversation and the first and last entry that a repeated key made, if it is one."""
        keys = self.reader.scope(scope)
        if key is None or keys is None:
            return None
        found = self.db.row(
            "SELECT k.digest, c.tenant, c.key, c.id, c.version, k.first, k.last FROM key k "
            "JOIN conversation c ON c.key = k.conversation WHERE k.tenant = ? AND k.name = ? AND c.id IS NOT NULL",
            (keys[0], key.name(scope)),
        )
        if found is None:
            return None
        if found[0] != key.digest:
            raise KeyReused
        return Place(found[1], found[2], decode_id(found[3]), found[4]), found[5], found[6]

    def remember(self, scope: Scope, here: Place, key: IdempotencyKey | None, first: int, last: int) -> None:
        """Keep what a key made."""
        if key is not None:
            self.db.execute(
                "INSERT OR REPLACE INTO key VALUES (?, ?, ?, ?, ?, ?)",
                (here.tenant, key.name(scope), key.digest, here.conversation, first, last),
            )

    # Entries

    def append(self, scope: Scope, conversation: str, append: Append, rows: Sequence[Row]) -> Appended:
        """Append entries; `rows` are the bodies of the append, encoded."""
        here, tip = self.end(scope, conversation)
        if (found := self.replayed(scope, append.key)) is not None:
            return Appended(entries=self.reader.between(*found), replayed=True)
        check_version(here, append.expected_version)
        parent = self.parent(here, tip, append.parent, append.expected_head)
        turn = self.check_lease(here, append.lease) if append.lease else None
        bodies: list[Body] = list(append.bodies)
        if append.lease is not None:
            self._finish_draft(here, bodies, append.settle is not None)
        if append.settle is not None:
            bodies.append(append.settle)
            rows = [*rows, encode(append.settle)]
            self._settle(here, turn, append.settle)
        placed = self.put(here, tip, bodies, parent, turn, rows)
        if any(isinstance(body, StateChange) for body in bodies):
            self._raise_version(here)
        if placed.entries:
            self.remember(scope, here, append.key, placed.entries[0].seq, placed.entries[-1].seq)
        return Appended(entries=placed.entries, replayed=False)

    def parent(self, here: Place, tip: Tip, parent: int | None, expected_head: int | None) -> int:
        """Return the entry to continue, after checking what the caller expects."""
        if expected_head is not None and expected_head != tip.head:
            raise StaleHead(tip.head or None)
        if parent is None or parent == tip.head:
            return tip.head
        if parent != ROOT and not self.reader.is_on_branch(here, parent):
            raise InvalidParent
        return parent

    def put(
        self,
        here: Place,
        tip: Tip,
        bodies: Sequence[Body],
        parent: int,
        turn: int | None,
        rows: Sequence[Row] | None = None,
    ) -> Placed:
        """Store bodies at the end of the log."""
        last = tip.last
        stamp = stamper(here.id, turn, self.clock())
        placed = place(tip, bodies, parent, stamp, lambda parent: self.reader.follower(here, parent))
        for entry, row in zip(placed.entries, rows or [encode(body) for body in bodies], strict=True):
            self._insert(here, entry, row, tip)
            if entry.continues_branch:
                tip = Tip(entry.seq, entry.seq, entry.seq)
        if placed.jump is not None:
            jump = placed.jump
            self.db.execute(
                "INSERT INTO jump VALUES (?, ?, ?, ?, ?, ?)",
                (*here[:2], jump.first, jump.parent, jump.left, jump.beside),
            )
        set_milestones(self.db, here, last, placed.tip.last)
        self.added += len(placed.entries)
        self._tips[here.conversation] = placed.tip
        return placed

    def _insert(self, here: Place, entry: Entry, row: Row, tip: Tip) -> None:
        around = (None, None) if entry.continues_branch else (tip.head, tip.newest)
        pack = self.reader.packer.pack
        self.db.execute(
            _INSERT,
            (
                here.tenant,
                here.conversation,
                entry.seq,
                entry.parent or 0,
                row.kind,
                entry.turn,
                microseconds(entry.created_at),
                row.id,
                row.tokens,
                *around,
                pack(row.content),
                pack(row.parts or ""),
            ),
        )

    # What a lease allows

    def check_lease(self, here: Place, lease: Lease) -> int:
        """Return the number of the turn if the lease is its present one."""
        if lease.conversation != here.id or not (0 < lease.turn <= MAX_SEQ and 0 < lease.fence <= MAX_SEQ):
            raise LeaseLost
        found = self.db.value(
            f"SELECT 1 FROM turn {_HERE} AND number = ? AND state = 'running' AND fence = ? AND owner = ?",
            (*here[:2], lease.turn, lease.fence, lease.owner),
        )
        if found is None:
            raise LeaseLost
        return lease.turn

    def _finish_draft(self, here: Place, bodies: Sequence[Body], settling: bool) -> None:
        """Remove the text of the message being written if it is among the bodies."""
        open_draft = self.db.value(f"SELECT message FROM draft {_HERE}", here[:2])
        if open_draft is None:
            return
        finished = [body for body in bodies if isinstance(body, Message) and body.id == open_draft]
        if not finished:
            if settling:
                raise DraftMismatch("A message is still being written.")
            return
        written = self.db.value(f'SELECT max("end") FROM chunk {_HERE}', here[:2])
        if len(finished[0].content) < written:
            raise DraftMismatch
        self.db.execute(f"DELETE FROM chunk {_HERE}", here[:2])
        self.db.execute(f"DELETE FROM draft {_HERE}", here[:2])

    def _settle(self, here: Place, turn: int | None, change: TurnChange) -> None:
        if change.state is TurnState.WAITING:
            sql = f"UPDATE turn SET state = 'waiting', owner = NULL, until = NULL {_HERE} AND number = ?"
        else:
            sql = f"DELETE FROM turn {_HERE} AND number = ?"
        self.db.execute(sql, (*here[:2], turn))


def check_version(here: Place, expected: int | None) -> None:
    """Refuse a change that was made for another version."""
    if expected is not None and expected != here.version:
        raise StaleVersion(here.version)


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
