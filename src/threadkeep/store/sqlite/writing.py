"""Writing to the log in SQLite: the end of a log as the rules want it, and the commit of a record.

Every function here runs inside a transaction of the writer: all or nothing.
"""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, TypeVar

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Entry, Update
from threadkeep.conversation.facts import ConversationFacts, Status
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Turn, TurnChange
from threadkeep.errors import AlreadyExists, ConversationNotFound, LeaseLost, ThreadkeepError
from threadkeep.store.caps import Caps, Load
from threadkeep.store.checks import size_of
from threadkeep.store.codec import STATE, Row, encode_facts, encode_id, microseconds
from threadkeep.store.file_tables import attached_files
from threadkeep.store.record import DraftEnd, EntryPlace, KeyPlace, KeyUse, Record, Tip, place_entries
from threadkeep.store.rules import AddedText, Verb, check_same, finishes, key_use, version_after
from threadkeep.store.sqlite import index
from threadkeep.store.sqlite.audit import add_act
from threadkeep.store.sqlite.files import DELETED
from threadkeep.store.sqlite.log import ConversationKey, SqliteLog
from threadkeep.store.sqlite.reader import Reader
from threadkeep.store.sqlite.schema import CONVERSATION, ENTRY, checksum
from threadkeep.store.values import Created
from threadkeep.text.words import words

T = TypeVar("T")
REMEMBERED = 10_000
HERE = "WHERE tenant = ? AND conversation = ?"
_INSERT = (
    f"INSERT INTO entry (tenant, conversation, {ENTRY}, crc, messages) "
    "VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
)
_INSERT_CHUNK = "INSERT INTO chunk VALUES (?, ?, ?, ?, ?, ?, ?)"
_THERE = "WHERE tenant = c.tenant AND conversation = c.key"
_LOOK = (
    f"SELECT c.created_at, c.version, (SELECT max(seq) FROM entry {_THERE}), (SELECT message FROM draft {_THERE}), "
    f'(SELECT "end" FROM chunk {_THERE} ORDER BY "offset" DESC LIMIT 1) '
    "FROM conversation c WHERE c.tenant = ? AND c.user = ? AND c.id = ? AND c.key = ?"
)


@dataclass(slots=True, kw_only=True)
class SqliteEnd:
    """The end of a log. It changes with what is committed here; `seen` is the state of the file in which it was so."""

    seen: int
    scope: Scope
    log: SqliteLog
    version: int
    status: Status
    tip: Tip
    messages: int
    open_turns: dict[int, Turn]
    draft: DraftEnd | None
    reader: Reader

    @property
    def id(self) -> str:
        return self.log.id

    def replay(self, key: KeyUse) -> KeyPlace | None:
        found = self.reader.replay(self.log.key.tenant, bytes.fromhex(key.name))
        return found[1] if found else None

    def is_on_branch(self, seq: int) -> bool:
        return seq == self.tip.head or self.log.is_on_branch(seq)

    def queued(self, turn: int) -> TurnChange:
        return self.log.queued(turn)

    @property
    def is_still(self) -> bool:
        """Whether nobody else has added to the log or its draft. Turns change with entries, but for how long they are
        leased, by which nothing is decided."""
        key, draft = self.log.key, (self.draft.message, self.draft.characters) if self.draft else (None, None)
        place = self.reader.scope(self.scope) or (None, None)
        found = self.reader.db.row(_LOOK, (*place, encode_id(key.id), key.conversation))
        return bool(found == (key.created_at, self.version, self.tip.last or None, *draft))


class LogWriter:
    """The log of one file, to be written."""

    def __init__(self, reader: Reader, clock: Clock) -> None:
        self.reader = reader
        self.db = reader.db
        self.clock = clock
        self.added = 0
        self._seen = -1
        self._ends: dict[tuple[str, str, str], SqliteEnd] = {}

    def forget(self) -> None:
        """Remember nothing of what was read: it may have been undone."""
        self.reader.forget()
        self._ends.clear()

    def forget_end(self, scope: Scope, conversation: str) -> None:
        """Remember nothing of the end of one log."""
        self._ends.pop((scope.tenant, scope.user, conversation), None)

    def begin(self) -> None:
        """Begin a transaction: if somebody else has written since, what is remembered is looked at again."""
        seen = self.db.value("PRAGMA data_version")
        if len(self._ends) > REMEMBERED:
            self.forget()
        if seen != self._seen:
            self.reader.forget()
            self._seen = seen

    # Conversations

    def create(
        self, scope: Scope, id: str, new: NewConversation, key: IdempotencyKey | None, at: datetime | None, caps: Caps
    ) -> Created:
        tenant, user = self.enter(scope)
        use = key_use(scope, key)
        found = self.reader.replay(tenant, bytes.fromhex(use.name)) if use else None
        if use and found:
            check_same(found[1].digest, use)
            return Created(conversation=self.reader.log_at(scope, found[0]).conversation, replayed=True)
        if self.db.value("SELECT 1 FROM conversation WHERE tenant = ? AND id = ?", (tenant, encode_id(id))):
            raise AlreadyExists
        size = size_of(new)
        self.check_room(scope, caps, Load(1, size))
        now = microseconds(at or self.clock())
        self.db.execute(
            "INSERT INTO conversation (tenant, user, id, version, created_at, updated_at, bytes, facts) "
            "VALUES (?, ?, ?, 1, ?, ?, ?, '')",
            (tenant, user, encode_id(id), now, now, size),
        )
        made = ConversationKey(tenant, self.db.last_insert_rowid(), id, 1)
        self._keep_facts(made, 1, new.facts())
        if new.title:
            self._index_title(made, new.title)
        if use:
            self.keep_key(made, KeyPlace(**dict(use), first=0, last=0))
        return Created(conversation=self.reader.log_at(scope, made).conversation)

    def enter(self, scope: Scope) -> tuple[int, int]:
        """Return the keys of tenant and user, made when they first store something."""
        found = self.reader.scope(scope)
        if found is not None:
            return found
        name = (self.reader.tenant_name(scope),)
        self.db.execute("INSERT OR IGNORE INTO tenant (name) VALUES (?)", name)
        tenant = self.db.value("SELECT key FROM tenant WHERE name = ?", name)
        unnamed = (tenant, self.reader.pseudonym(tenant, scope.user))
        if (key := self.db.value("SELECT key FROM user WHERE tenant = ? AND name = ?", unnamed)) is not None:
            self.db.execute("UPDATE user SET name = ? WHERE key = ?", (scope.user, key))
            return tenant, key
        self.db.execute("INSERT INTO user (tenant, name) VALUES (?, ?)", (tenant, scope.user))
        # Not through the reader, which remembers what it finds: this transaction may still be undone.
        return tenant, self.db.last_insert_rowid()

    def check_room(self, scope: Scope, caps: Caps, brought: Load) -> None:
        """Refuse what is brought beyond the caps: nobody else writes until it is committed."""
        for holder in caps.to_count(scope, brought):
            caps.check(holder, index.statistics(self.reader, holder.tenant, holder.user, None), brought)

    # The log

    def write(self, scope: Scope, conversation: str, verb: Verb[T], caps: Caps) -> T:
        """Commit what is decided about the end of a log, and answer."""
        end = self.end(scope, conversation)
        decision = verb.decide(end)
        if decision.record is not None:
            if verb.brought:
                self.check_room(scope, caps, Load(bytes=sum(row.size for row in decision.rows)))
            if verb.act is not None:
                add_act(self.db, scope.tenant, verb.act)
            return decision.answer(self.commit(end, decision.record, decision.rows))
        return decision.answer(end.log.between(*decision.again) if decision.again else ())

    def end(self, scope: Scope, conversation: str) -> SqliteEnd:
        """Return the end of a log; it is remembered as long as nobody else writes to that log."""
        names = (scope.tenant, scope.user, conversation)
        end = self._ends.get(names)
        if end is None or not (end.seen == self._seen or end.is_still):
            log = self.reader.log(scope, conversation)
            end = SqliteEnd(
                seen=self._seen,
                scope=scope,
                log=log,
                version=log.key.version,
                status=log.status,
                tip=log.tip,
                messages=log.messages_up_to(log.tip.last),
                open_turns={turn.number: turn for turn in log.turns},
                draft=log.draft_end(),
                reader=self.reader,
            )
            self._ends[names] = end
        end.seen = self._seen
        return end

    def commit(self, end: SqliteEnd, record: Record, rows: Sequence[Row]) -> tuple[Entry, ...]:
        """Store what a record tells and return its entries."""
        last = end.tip.last
        placed = place_entries(end.tip, record, end.id, end.log.follower)
        if rows:
            self._insert(end, placed.places, rows)
        for file in {file for body in record.bodies for file in attached_files(body)}:
            self.db.execute("INSERT OR IGNORE INTO file_use VALUES (?, ?, ?)", (*end.log.key[1::-1], file))
            # Its last conversation may have been deleted since it was looked up.
            revived = (microseconds(self.clock()), file)
            self.db.execute(f"UPDATE file SET touched_at = ? WHERE id = ? AND touched_at = {DELETED}", revived)
        end.tip = placed.tip
        for jump in placed.jumps:
            columns = (*end.log.key[:2], jump.first, jump.parent, jump.left, jump.beside)
            self.db.execute("INSERT INTO jump VALUES (?, ?, ?, ?, ?, ?, ?)", (*columns, checksum(*columns)))
        version = version_after(end.version, record)
        if version != end.version or (record.imported and any(isinstance(body, Update) for body in record.bodies)):
            end.version = version
            self._change(end, record)
        for turn in record.turns:
            self._keep_turn(end, turn)
        if record.chunk is not None:
            chunk = record.chunk
            self.db.execute(_INSERT_CHUNK, self._chunk(end, chunk.message, chunk.turn, chunk.text, record.at))
        elif end.draft and finishes(record, end.draft):
            end.draft = None
            self.db.execute(f"DELETE FROM chunk {HERE}", end.log.key[:2])
            self.db.execute(f"DELETE FROM draft {HERE}", end.log.key[:2])
        for made in record.keys(last + 1, placed.tip.last):
            self.keep_key(end.log.key, made)
        self.added += len(placed.entries)
        return placed.entries

    def _insert(self, end: SqliteEnd, places: Sequence[EntryPlace], rows: Sequence[Row]) -> None:
        """Store entries behind this end of the log, and count the messages among them."""
        tenant, conversation, *_ = end.log.key
        pack, columns = self.reader.packer.pack, []
        messages = end.messages
        for (seq, parent, turn, at, *around), (kind, id, tokens, content, parts) in zip(places, rows, strict=True):
            # An entry that continues a branch is the head itself; a remark keeps what the head is after it.
            head, newest = (None, None) if kind <= STATE else around
            place = (tenant, conversation, seq, parent, kind, turn, microseconds(at))
            entry = (*place, id, tokens, head, newest, pack(content), pack(parts))
            messages += kind < STATE
            columns.append((*entry, checksum(*entry), messages))
        end.messages = messages
        self.db.executemany(_INSERT, columns)

    def _change(self, end: SqliteEnd, record: Record) -> None:
        """Keep the version, and change the conversation as a whole as the record says."""
        # It is read as it is checked: what is damaged must not be sealed anew.
        before = facts = self.reader.log_at(end.scope, end.log.key).conversation
        for change in (body for body in record.bodies if isinstance(body, Update)):
            facts = facts.after(change)
        end.status = facts.status
        self._keep_facts(end.log.key, end.version, facts)
        if facts.title != before.title:
            self._index_title(end.log.key, facts.title or "")

    def _keep_facts(self, key: ConversationKey, version: int, facts: ConversationFacts) -> None:
        """Keep what is known of a conversation, and its checksums."""
        listed, large = (json.dumps(document, ensure_ascii=False) for document in encode_facts(facts))
        self.db.execute(
            "UPDATE conversation SET version = ?, is_first = ?, facts = ?, large = nullif(?, '{}') WHERE key = ?",
            (version, facts.is_first, listed, large, key.conversation),
        )
        self.db.execute(
            f"UPDATE conversation SET crc = checksum({CONVERSATION}), large_crc = checksum(key, large) WHERE key = ?",
            key[1:2],
        )

    def _index_title(self, key: ConversationKey, title: str) -> None:
        """Index the words of the title that a conversation has now."""
        user = self.db.value("SELECT user FROM conversation WHERE key = ?", key[1:2])
        self.db.execute(f"DELETE FROM title_word {HERE}", key[:2])
        self.db.executemany(
            "INSERT INTO title_word VALUES (?, ?, ?, ?)", [(*key[:2], word, user) for word in words(title)]
        )

    def _keep_turn(self, end: SqliteEnd, turn: Turn) -> None:
        if not turn.state.is_open:
            del end.open_turns[turn.number]
            self.db.execute(f"DELETE FROM turn {HERE} AND number = ?", (*end.log.key[:2], turn.number))
            return
        end.open_turns[turn.number] = turn
        until = None if turn.until is None else microseconds(turn.until)
        self.db.execute(
            "INSERT OR REPLACE INTO turn VALUES (?, ?, ?, ?, ?, ?, ?)",
            (*end.log.key[:2], turn.number, turn.state, turn.owner, until, turn.fence),
        )

    def _chunk(self, end: SqliteEnd, message: str, turn: int, text: str, at: datetime) -> tuple[Any, ...]:
        """Return the row of some more text of the message being written, which may begin with it."""
        tenant, conversation, *_ = end.log.key
        draft = end.draft
        if draft is None:
            draft = DraftEnd(message, turn, 0, 0)
            begun = (tenant, conversation, turn, message, microseconds(at))
            self.db.execute("INSERT INTO draft VALUES (?, ?, ?, ?, ?)", begun)
        characters = draft.characters + len(text)
        size = draft.bytes + (len(text) if text.isascii() else len(text.encode()))
        end.draft = DraftEnd(message, turn, characters, size)
        columns = (tenant, conversation, draft.characters, characters, size, text)
        return (*columns, checksum(*columns))

    def add_texts(
        self, texts: Sequence[AddedText], check: Callable[[SqliteEnd, AddedText], None]
    ) -> list[ThreadkeepError | None]:
        """Add texts to the messages being written, each if it passes the check; return why the others did not."""
        answers, columns, now = list[ThreadkeepError | None](), [], self.clock()
        for added in texts:
            try:
                end = self.end(added.lease.scope, added.lease.conversation)
                check(end, added)
            except ConversationNotFound:
                answers.append(LeaseLost())
            except ThreadkeepError as error:
                answers.append(error)
            else:
                columns.append(self._chunk(end, added.message, added.lease.turn, added.text, now))
                answers.append(None)
        self.db.executemany(_INSERT_CHUNK, columns)
        return answers

    def keep_key(self, key: ConversationKey, made: KeyPlace) -> None:
        """Keep an idempotency key of a conversation."""
        name, digest = bytes.fromhex(made.name), bytes.fromhex(made.digest)
        columns = (key.tenant, name, digest, key.conversation, made.first, made.last)
        self.db.execute("INSERT OR REPLACE INTO key VALUES (?, ?, ?, ?, ?, ?, ?)", (*columns, checksum(*columns)))
