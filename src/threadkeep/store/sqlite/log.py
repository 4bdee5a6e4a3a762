"""The log of one conversation in SQLite, read through one connection: entries, branches, turns, what is being written.

What is read is checked: a row that is not as it was stored, or that is missing, is an error and never another text.
"""

import json
from collections.abc import Iterator, Sequence
from functools import cache, cached_property
from typing import Any, Literal, NamedTuple

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import MAX_SEQ, Cursor
from threadkeep.conversation.entry import Entry, Summary
from threadkeep.conversation.facts import Status
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import State, StateChange, fold
from threadkeep.conversation.tree import Jump, Run, Tree
from threadkeep.conversation.turn import Turn, TurnChange, TurnState
from threadkeep.errors import EntryNotFound, StoreCorrupt
from threadkeep.store import codec
from threadkeep.store.base import ROOT, WALKED
from threadkeep.store.paging import check_position
from threadkeep.store.record import DraftEnd, Tip
from threadkeep.store.sqlite.schema import CONVERSATION, ENTRY, checksum, damaged
from threadkeep.store.sqlite_file import SqliteDatabase
from threadkeep.store.values import REMARKS, Draft, LogPage, Page, Snapshot, page_of

_HERE = "WHERE tenant = ? AND conversation = ?"
_COLUMNS = f"SELECT {ENTRY}, crc FROM entry"
_ENTRY = f"{_COLUMNS} {_HERE}"
_JUMP = f'SELECT first, parent, "left", beside, crc FROM jump {_HERE}'
_INDEXED = f"kind IN ({codec.STATE}, {codec.SUMMARY}, {codec.FEEDBACK})"
"""The condition of the index of kinds, which is used only where it is named."""
_KINDS: dict[type, int] = {StateChange: codec.STATE, Summary: codec.SUMMARY}
LISTED = f"SELECT {CONVERSATION}, crc, entries, updated_at, NULL, NULL FROM conversation c"
_WHOLE = f"SELECT {CONVERSATION}, crc, entries, updated_at, large, large_crc FROM conversation c"


class ConversationKey(NamedTuple):
    """A conversation that was found: the keys that its rows begin with, its id, its version, how many entries it has at
    least, the document of its facts, and when it was created."""

    tenant: int
    conversation: int
    id: str
    version: int = 0
    entries: int = 0
    facts: str = "{}"
    created_at: int = 0


class SqliteLog:
    """The log of one conversation as of one snapshot."""

    def __init__(self, database: SqliteDatabase, packer: codec.Packer, scope: Scope, key: ConversationKey) -> None:
        self.db = database
        self.key = key
        self.id = key.id
        self._packer = packer
        self._scope = scope
        self._keys = key[:2]

    @cached_property
    def tip(self) -> Tip:
        """The end of the log, which its last entry alone tells."""
        last = self.db.row(f"{_ENTRY} ORDER BY seq DESC LIMIT 1", self._keys)
        if (last[0] if last else 0) < self.key.entries:
            raise StoreCorrupt(f"The end of conversation {self.id} is damaged.")
        if last is None:
            return Tip()
        self.check([last])
        seq, kind, head, newest = last[0], last[2], last[7], last[8]
        return Tip(seq, seq, seq) if kind <= codec.STATE else Tip(seq, head, newest)

    @property
    def status(self) -> Status:
        return Status(_facts(self.key.facts, None)["status"])

    @property
    def conversation(self) -> Conversation:
        return self.to_conversation(self.db.row(f"{_WHOLE} WHERE c.key = ?", self._keys[1:]))

    def to_conversation(self, row: Sequence[Any]) -> Conversation:
        *columns, crc, _, updated, large, large_crc = row
        key, _, _, _, version, created, facts = columns
        if crc != checksum(*columns) or large_crc not in (None, checksum(key, large)):
            raise StoreCorrupt("A conversation is damaged.")
        tip = self.tip
        if tip.last:
            updated = self.db.value(f"SELECT created_at FROM entry {_HERE} AND seq = ?", (*self._keys, tip.last))
        return Conversation.trusted(
            **_facts(facts, large),
            incomplete=False,
            scope=self._scope,
            id=self.id,
            version=version,
            head=tip.head or None,
            entries=tip.last,
            created_at=codec.moment(created),
            updated_at=codec.moment(updated),
        )

    # Entries

    def entry(self, seq: int) -> Entry:
        row = self.db.row(f"{_ENTRY} AND seq = ?", (*self._keys, seq)) if 0 < seq <= MAX_SEQ else None
        if row is None:
            raise EntryNotFound
        return self._decode([row])[0]

    def at(self, seqs: Sequence[int]) -> tuple[Entry, ...]:
        """Return those of some entries that are there, in this order."""
        found = {
            entry.seq: entry for entry in self._entries("AND seq IN (SELECT value FROM json_each(?))", json.dumps(seqs))
        }
        return tuple(found[seq] for seq in seqs if seq in found)

    def between(self, first: int, last: int) -> tuple[Entry, ...]:
        return tuple(self._entries("AND seq BETWEEN ? AND ? ORDER BY seq", first, last))

    def _on_branch(self, first: int, last: int, limit: int, order: Literal["ASC", "DESC"]) -> list[Any]:
        """Return the rows of entries that continue a branch."""
        condition = f"AND seq BETWEEN ? AND ? AND kind <= {codec.STATE} ORDER BY seq {order} LIMIT ?"
        return self.db.rows(f"{_ENTRY} {condition}", (*self._keys, first, last, limit))

    def of_kind(self, kind: type[StateChange | Summary], first: int, last: int) -> Iterator[Entry]:
        sql = f"{_ENTRY} AND kind = {_KINDS[kind]} AND {_INDEXED} AND seq BETWEEN ? AND ? ORDER BY seq DESC"
        return (entry for row in self.db.execute(sql, (*self._keys, first, last)) for entry in self._decode([row]))

    def is_on_branch(self, seq: int) -> bool:
        if not 0 < seq <= MAX_SEQ:
            return False
        kind = self.db.value(f"SELECT kind FROM entry {_HERE} AND seq = ?", (*self._keys, seq))
        return kind is not None and kind <= codec.STATE

    def messages_up_to(self, seq: int) -> int:
        return self.db.value(f"SELECT messages FROM entry {_HERE} AND seq = ?", (*self._keys, seq)) or 0

    def _entries(self, condition: str, *bindings: int | str) -> list[Entry]:
        return self._decode(self.db.rows(f"{_ENTRY} {condition}", (*self._keys, *bindings)))

    def _decode(self, rows: Sequence[tuple[Any, ...]]) -> list[Entry]:
        """Return the entries behind rows; refuse one that is not as it was stored. This is most of a restore."""
        self.check(rows)
        if not rows:
            return []
        unpack = self._packer.unpack
        seqs, parents, kinds, turns, numbers, ids, tokens, _, _, contents, parts, _ = zip(*rows, strict=True)
        texts = parts if not any(parts) else [part and unpack(part) for part in parts]
        bodies = codec.decode_all(zip(kinds, ids, tokens, self._packer.unpack_all(contents), texts, strict=True))
        # Many entries have the same time.
        places = zip(seqs, parents, turns, map(cache(codec.moment), numbers), bodies, strict=True)
        return codec.decode_entries(self.id, places)

    def check(self, rows: Sequence[tuple[Any, ...]]) -> None:
        """Refuse entries of which one is not as it was stored."""
        if found := damaged(self._keys, rows):
            raise StoreCorrupt(f"Entry {found[0]} of conversation {self.id} is damaged.")

    # The tree

    @property
    def tree(self) -> Tree:
        rows = self.db.execute(f"{_JUMP} ORDER BY first", self._keys)
        return Tree(jumps=tuple(map(self._jump, rows)), newest=self.tip.newest, head=self.tip.head)

    def path(self, head: int) -> Iterator[Run]:
        while head:
            found = self.db.row(f"{_JUMP} AND first <= ? ORDER BY first DESC LIMIT 1", (*self._keys, head))
            parent, first = (self._jump(found).parent, found[0]) if found else (0, 1)
            yield Run.trusted(parent=parent, first=first, last=head)
            head = parent

    def _jump(self, row: Sequence[Any]) -> Jump:
        first, parent, left, beside, crc = row
        if crc != checksum(*self._keys, *row[:-1]):
            raise StoreCorrupt(f"A branch of conversation {self.id} is damaged.")
        return Jump.trusted(first=first, parent=parent, left=left, beside=beside)

    def follower(self, parent: int) -> int:
        """Return the entry that continued `parent` in its own run, or 0."""
        found = self.db.value(
            f"SELECT seq FROM entry {_HERE} AND seq > ? AND kind <= {codec.STATE} ORDER BY seq LIMIT 1",
            (*self._keys, parent),
        )
        jumped = found and self.db.value(f"SELECT 1 FROM jump {_HERE} AND first = ?", (*self._keys, found))
        return 0 if found is None or jumped else int(found)

    # Turns

    @property
    def turns(self) -> tuple[Turn, ...]:
        """The open turns, the oldest first."""
        sql = f"SELECT number, state, owner, until, fence FROM turn {_HERE} ORDER BY number"
        return tuple(to_turn(self._scope, self.id, row) for row in self.db.execute(sql, self._keys))

    def draft_end(self) -> DraftEnd | None:
        """Return how much there is of the message being written."""
        found = self.db.row(
            'SELECT d.message, d.turn, c."end", c.bytes FROM draft d '
            "JOIN chunk c ON c.tenant = d.tenant AND c.conversation = d.conversation "
            'WHERE d.tenant = ? AND d.conversation = ? ORDER BY c."offset" DESC LIMIT 1',
            self._keys,
        )
        return DraftEnd(*found) if found else None

    def draft_after(self, message: str | None, offset: int) -> Draft | None:
        found = self.db.row(f"SELECT message, turn, started_at FROM draft {_HERE}", self._keys)
        if found is None:
            return None
        start = offset if found[0] == message else 0
        chunks = self.db.rows(
            f'SELECT "offset", "end", bytes, text, crc FROM chunk {_HERE} AND "end" > ? ORDER BY "offset"',
            (*self._keys, start),
        )
        if any(crc != checksum(*self._keys, *columns) for *columns, crc in chunks):
            raise StoreCorrupt(f"What is being written in conversation {self.id} is damaged.")
        text = "".join(row[3] for row in chunks)[start - chunks[0][0] if chunks else 0 :]
        return Draft(message=found[0], turn=found[1], started_at=codec.moment(found[2]), offset=start, text=text)

    # Pages, branches and states

    def head(self, head: int | None) -> int:
        """Return the head that was asked for, which must be an entry of a branch, or the current one."""
        if head is None or head == self.tip.head:
            return self.tip.head  # where that entry is missing, reading it tells of damage
        if not self.is_on_branch(head):
            raise EntryNotFound
        return head

    def queued(self, turn: int) -> TurnChange:
        body = self.entry(turn).body
        if not isinstance(body, TurnChange):
            raise StoreCorrupt(f"Entry {turn} of conversation {self.id} does not tell of a queued turn.")
        return body

    def newest(self, head: int, limit: int) -> tuple[Entry, ...]:
        """Return the newest entries of the branch that ends in `head`, oldest first."""
        rows: list[Any] = []
        for run in self.path(head):
            rows += self._on_branch(run.first, run.last, limit - len(rows), "DESC")
            if len(rows) >= limit:
                break
        rows.reverse()
        return self._chain(ROOT if len(rows) < limit else rows[0][1], rows, head)

    def last(self, head: int | None, before: int | None) -> int:
        """Return the end of the branch that ends in `head`, or of what comes before an entry on its branch."""
        return self.head(head) if before is None else self.entry(self.head(before)).parent or ROOT

    def after(self, seq: int, head: int, limit: int) -> tuple[Entry, ...]:
        """Return what follows `seq` on the branch that ends in `head`, oldest first."""
        rows: list[Any] = []
        for first, last in self._stretches(seq, head):
            rows += self._on_branch(first, last, limit - len(rows), "ASC")
            if len(rows) >= limit:
                break
        return self._chain(seq, rows, head if len(rows) < limit else None)

    def _chain(self, parent: int, rows: Sequence[tuple[Any, ...]], head: int | None) -> tuple[Entry, ...]:
        """Return the entries of a branch; refuse those that do not continue `parent` and each other, up to the head if
        it is given."""
        entries = tuple(self._decode(rows))
        seqs = [parent, *(row[0] for row in rows)]
        if seqs[:-1] != [row[1] for row in rows] or head not in (None, seqs[-1]):
            raise self.gap()
        return entries

    def gap(self) -> StoreCorrupt:
        return StoreCorrupt(f"Entries of conversation {self.id} cannot be found: an index is damaged.")

    def count(self, head: int) -> int:
        """Return how many messages there are on the branch that ends in `head`."""
        return sum(self.messages_up_to(run.last) - self.messages_up_to(run.first - 1) for run in self.path(head))

    def _stretches(self, seq: int, head: int) -> list[tuple[int, int]]:
        """Return the first and the last number of what each run adds behind `seq`, oldest first."""
        if seq != ROOT:
            self.head(seq)
        runs: list[Run] = []
        for run in self.path(head):
            runs.append(run)
            if run.first <= seq:
                break
        if seq != ROOT and not (runs and runs[-1].first <= seq <= runs[-1].last):
            raise EntryNotFound
        return [(max(run.first, seq + 1), run.last) for run in reversed(runs)]

    def snapshot(self, page: Page) -> Snapshot:
        page.check()
        tree, end = self.tree, self.head(page.head)
        if page.around is not None and page.head is None:
            end = self.head(tree.branch_with(page.around))
        entries = self._page(page, end)
        return Snapshot(
            conversation=self.conversation,
            branch=end or None,
            entries=entries,
            feedback=self._feedback(entries[0].seq, entries[-1].seq) if entries else (),
            state=self.state(end or None),
            remarks=self.log(Cursor(seq=end - 1), REMARKS).entries if end else (),
            tree=tree,
            turns=self.turns,
            draft=self.draft_after(None, 0),
        )

    def _feedback(self, first: int, last: int) -> tuple[Entry, ...]:
        """Return what was said about the entries with these numbers."""
        condition = f"AND kind = {codec.FEEDBACK} AND {_INDEXED} AND parent BETWEEN ? AND ? ORDER BY seq"
        return tuple(self._entries(condition, first, last))

    def _page(self, page: Page, end: int) -> tuple[Entry, ...]:
        if page.around is None:
            return page_of(self._backwards(self.last(end or None, page.before)), page.messages)
        older = self.newest(self.head(page.around), page.messages - page.messages // 2)
        return older + self.after(page.around, end, page.messages // 2)

    def _backwards(self, last: int) -> Iterator[Entry]:
        """Yield the branch that ends in `last`, newest first."""
        while last != ROOT:
            found = self.newest(last, WALKED)
            yield from reversed(found)
            last = found[0].parent or ROOT

    def log(self, after: Cursor, limit: int) -> LogPage:
        last = self.tip.last
        check_position(after.seq, last)
        entries = self.between(after.seq + 1, after.seq + limit)
        if after.seq + len(entries) < min(last, after.seq + limit):
            raise self.gap()
        draft = self.draft_after(after.message, after.offset) if after.seq + len(entries) == last else None
        return LogPage(entries=entries, draft=draft)

    def state(self, at: int | None) -> State:
        runs = self.path(self.head(at))
        changes = (entry.body for run in runs for entry in self.of_kind(StateChange, run.first, run.last))
        return fold(body for body in changes if isinstance(body, StateChange))

    def summary(self, head: int | None) -> Entry | None:
        runs = list(self.path(self.head(head)))
        for entry in self.of_kind(Summary, 1, self.tip.last):
            if any(run.first <= (entry.parent or ROOT) <= run.last for run in runs):
                return entry
        return None


def _facts(listed: str, large: str | None) -> dict[str, Any]:
    try:
        return codec.decode_facts(json.loads(listed), json.loads(large or "{}"))
    except ValueError as error:
        raise StoreCorrupt("What is known of a conversation is damaged.") from error


def to_turn(scope: Scope, conversation: str, row: Sequence[Any]) -> Turn:
    number, state, owner, until, fence = row
    turn = Turn(scope=scope, conversation=conversation, number=number, state=TurnState(state), owner=owner, fence=fence)
    return turn if until is None else turn.model_copy(update={"until": codec.moment(until)})


def listed_key(row: Sequence[Any]) -> ConversationKey:
    """Return the keys in a row of `LISTED`."""
    return ConversationKey(row[1], row[0], codec.decode_id(row[3]), row[4], row[8])
