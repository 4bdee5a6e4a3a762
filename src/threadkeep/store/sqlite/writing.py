"""Writing to the log in SQLite: the end of a log as the rules want it, and the commit of a record.

Every function here runs inside a transaction of the writer: all or nothing.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Entry, Update
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import TurnChange
from threadkeep.errors import AlreadyExists, StoreCorrupt
from threadkeep.store.base import Created
from threadkeep.store.codec import STATE, Row, encode_id, microseconds
from threadkeep.store.record import Chunk, DraftEnd, KeyUse, OpenTurn, Record, Replay, Tip, place_entries
from threadkeep.store.rules import Verb, entries_of, finishes, key_use, version_after
from threadkeep.store.sqlite.checksums import CONVERSATION, ENTRY, SETTINGS, checksum, entry_checksum
from threadkeep.store.sqlite.place import Place
from threadkeep.store.sqlite.reading import Reader

T = TypeVar("T")
REMEMBERED = 10_000
_HERE = "WHERE tenant = ? AND conversation = ?"
_INSERT = f"INSERT INTO entry ({ENTRY}, crc, messages) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"


@dataclass(slots=True, kw_only=True)
class SqliteEnd:
    """The end of a log. It changes with what is committed."""

    scope: Scope
    place: Place
    version: int
    tip: Tip
    messages: int
    open_turns: dict[int, OpenTurn]
    draft: DraftEnd | None
    reader: Reader

    @property
    def id(self) -> str:
        """The conversation's id."""
        return self.place.id

    def replay(self, key: KeyUse) -> Replay | None:
        """Return what a key made."""
        found = self.reader.key(self.place.tenant, bytes.fromhex(key.name))
        return found[1] if found else None

    def is_on_branch(self, seq: int) -> bool:
        """Whether this is the number of an entry that continues a branch."""
        return seq == self.tip.head or self.reader.is_on_branch(self.place, seq)

    def queued(self, turn: int) -> TurnChange:
        """Return the entry that tells of a queued turn."""
        body = self.reader.entry(self.place, turn).body
        if not isinstance(body, TurnChange):
            raise StoreCorrupt(f"Entry {turn} opened a queued turn, but does not say so.")
        return body


class Log:
    """The log of one file, to be written."""

    def __init__(self, reader: Reader, clock: Clock) -> None:
        self.reader = reader
        self.db = reader.db
        self.clock = clock
        self.added = 0
        self._seen = -1
        self._ends: dict[tuple[str, str, str], SqliteEnd] = {}

    def forget(self) -> None:
        """Remember nothing of what was read: it may have been undone, or changed by another process."""
        self.reader.forget()
        self._ends.clear()

    def begin(self) -> None:
        """Begin a transaction: forget what was remembered if somebody else has written since."""
        seen = self.db.value("PRAGMA data_version")
        if seen != self._seen or len(self._ends) > REMEMBERED:
            self.forget()
            self._seen = seen

    # Conversations

    def create(
        self, scope: Scope, id: str, new: NewConversation, key: IdempotencyKey | None, at: datetime | None
    ) -> Created:
        """Create a conversation, or find it by its key."""
        tenant, user = self._scope(scope)
        use = key_use(scope, key)
        found = self.reader.key(tenant, bytes.fromhex(use.name)) if use else None
        if use and found:
            entries_of(found[1], use)
            return Created(conversation=self.reader.conversation(scope, found[0]), replayed=True)
        if self.db.value("SELECT 1 FROM conversation WHERE tenant = ? AND id = ?", (tenant, encode_id(id))):
            raise AlreadyExists
        now = microseconds(at or self.clock())
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
        self._seal(here)
        if use:
            self._keep_key(here, use, 0, 0)
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

    # The log

    def write(self, scope: Scope, conversation: str, verb: Verb[T]) -> T:
        """Commit what is decided about the end of a log, and answer."""
        end = self._end(scope, conversation)
        decision = verb.decide(end)
        if decision.record is not None:
            return decision.answer(self._commit(end, decision.record, decision.rows))
        return decision.answer(self.reader.between(end.place, *decision.again) if decision.again else ())

    def _end(self, scope: Scope, conversation: str) -> SqliteEnd:
        """Return the end of a log; it is remembered as long as nobody else writes."""
        names = (scope.tenant, scope.user, conversation)
        end = self._ends.get(names)
        if end is None:
            here = self.reader.place(scope, conversation)
            tip = self.reader.tip(here)
            end = SqliteEnd(
                scope=scope,
                place=here,
                version=here.version,
                tip=tip,
                messages=self.reader.messages_up_to(here, tip.last),
                open_turns={turn.number: turn for turn in self.reader.open_turns(here)},
                draft=self.reader.written(here),
                reader=self.reader,
            )
            self._ends[names] = end
        return end

    def _commit(self, end: SqliteEnd, record: Record, rows: Sequence[Row]) -> tuple[Entry, ...]:
        """Store what a record tells and return its entries."""
        last, tip = end.tip.last, end.tip if record.head is None else end.tip._replace(head=record.head)
        placed = place_entries(tip, record, end.id, lambda parent: self.reader.follower(end.place, parent))
        messages = end.messages
        for entry, row in zip(placed.entries, rows, strict=True):
            tip = tip.after(entry)
            messages += row.kind < STATE
            self._insert(end.place, entry, row, tip, messages)
        end.tip, end.messages = placed.tip, messages
        for jump in placed.jumps:
            columns = (*end.place[:2], jump.first, jump.parent, jump.left, jump.beside)
            self.db.execute("INSERT INTO jump VALUES (?, ?, ?, ?, ?, ?, ?)", (*columns, checksum(*columns)))
        version = version_after(end.version, record)
        if version != end.version or any(isinstance(body, Update) for body in record.bodies):
            end.version = version
            self._change(end, record)
        for turn in record.turns:
            self._keep_turn(end, turn)
        if record.chunk is not None:
            self._keep_chunk(end, record.chunk, record)
        elif end.draft and finishes(record, end.draft):
            end.draft = None
            self.db.execute(f"DELETE FROM chunk {_HERE}", end.place[:2])
            self.db.execute(f"DELETE FROM draft {_HERE}", end.place[:2])
        if record.key is not None:
            self._keep_key(end.place, record.key, last + 1, placed.tip.last)
        self.added += len(placed.entries)
        return placed.entries

    def _insert(self, here: Place, entry: Entry, row: Row, tip: Tip, messages: int) -> None:
        around = (None, None) if entry.continues_branch else (tip.head, tip.newest)
        pack = self.reader.packer.pack
        columns = (
            *here[:2],
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
        )
        self.db.execute(_INSERT, (*columns, entry_checksum(*columns), messages))

    def _change(self, end: SqliteEnd, record: Record) -> None:
        """Keep the version, and change the conversation as a whole as the record says."""
        # What is damaged must not be sealed anew.
        self.reader.conversation(end.scope, end.place)
        self.db.execute("UPDATE conversation SET version = ? WHERE key = ?", (end.version, end.place.conversation))
        for change in (body for body in record.bodies if isinstance(body, Update)):
            self.db.execute(
                "UPDATE conversation SET title = coalesce(?, title), metadata = coalesce(?, metadata), "
                "status = coalesce(?, status), archived = coalesce(?, archived), model = coalesce(?, model), "
                "assistant = coalesce(?, assistant) WHERE key = ?",
                (
                    change.title,
                    None if change.metadata is None else _json(change.metadata),
                    change.status,
                    change.archived,
                    change.model,
                    change.assistant,
                    end.place.conversation,
                ),
            )
        self._seal(end.place)

    def _seal(self, here: Place) -> None:
        """Keep the checksum of a conversation that was changed."""
        self.db.execute(
            f"UPDATE conversation SET crc = checksum({CONVERSATION}), settings_crc = checksum(key, {SETTINGS}) "
            "WHERE key = ?",
            here[1:2],
        )

    def _keep_turn(self, end: SqliteEnd, turn: OpenTurn) -> None:
        if not turn.state.is_open:
            del end.open_turns[turn.number]
            self.db.execute(f"DELETE FROM turn {_HERE} AND number = ?", (*end.place[:2], turn.number))
            return
        end.open_turns[turn.number] = turn
        until = None if turn.until is None else microseconds(turn.until)
        self.db.execute(
            "INSERT OR REPLACE INTO turn VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (*end.place[:2], turn.number, turn.state, turn.owner, until, turn.fence, turn.taken),
        )

    def _keep_chunk(self, end: SqliteEnd, chunk: Chunk, record: Record) -> None:
        draft = end.draft
        if draft is None:
            draft = DraftEnd(chunk.message, chunk.turn, 0, 0)
            self.db.execute(
                "INSERT INTO draft VALUES (?, ?, ?, ?, ?)",
                (*end.place[:2], chunk.turn, chunk.message, microseconds(record.at)),
            )
        characters, size = draft.characters + len(chunk.text), draft.bytes + len(chunk.text.encode())
        columns = (*end.place[:2], draft.characters, characters, size, chunk.text)
        self.db.execute("INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?)", (*columns, checksum(*columns)))
        end.draft = DraftEnd(chunk.message, chunk.turn, characters, size)

    def _keep_key(self, here: Place, key: KeyUse, first: int, last: int) -> None:
        columns = (here.tenant, bytes.fromhex(key.name), bytes.fromhex(key.digest), here.conversation, first, last)
        self.db.execute("INSERT OR REPLACE INTO key VALUES (?, ?, ?, ?, ?, ?, ?)", (*columns, checksum(*columns)))


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
