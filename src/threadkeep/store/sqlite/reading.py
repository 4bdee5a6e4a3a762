"""Reading the log from SQLite: conversations, entries, branches, open turns and the message being written.

One `Reader` belongs to one connection and one thread. The writer has one too, because it reads before it writes.
"""

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import MAX_SEQ
from threadkeep.conversation.entry import Entry, Status
from threadkeep.conversation.ids import check_id
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.tree import Run, Tree
from threadkeep.conversation.turn import Turn, TurnState
from threadkeep.errors import ConversationNotFound, EntryNotFound, StoreCorrupt
from threadkeep.store.base import ROOT, Draft
from threadkeep.store.codec import STATE, SUMMARY, Packer, Row, decode, decode_id, encode_id, microseconds, moment
from threadkeep.store.record import DraftEnd, OpenTurn, Replay, Tip
from threadkeep.store.sqlite.checksums import CONVERSATION, SETTINGS, checksum
from threadkeep.store.sqlite.place import Place, check_chain, check_entry, gap, read_jump
from threadkeep.store.sqlite_file import Database

_ENTRY = "SELECT seq, parent, kind, turn, created_at, id, tokens, head, newest, content, parts, crc FROM entry"
_JUMP = 'SELECT first, parent, "left", beside, crc FROM jump'
_PLACE = "WHERE tenant = ? AND conversation = ?"
_CONVERSATION = f"SELECT {CONVERSATION}, crc, entries, updated_at, {SETTINGS}, settings_crc FROM conversation c"
_LISTED = f"SELECT {CONVERSATION}, crc, entries, updated_at, NULL, NULL, NULL FROM conversation c"
_TURN = "SELECT number, state, owner, until, fence, taken FROM turn"


class Reader:
    """Reads through one connection."""

    def __init__(self, connection: Database) -> None:
        self.db = connection
        self.packer = Packer()
        self._scopes: dict[tuple[str, str], tuple[int, int]] = {}

    @contextmanager
    def snapshot(self) -> Iterator[None]:
        """Read as of one moment."""
        self.db.execute("BEGIN")
        try:
            yield
        finally:
            self.db.execute("COMMIT")

    def forget(self) -> None:
        """Remember no keys any more: what was read may have been undone."""
        self._scopes.clear()

    def id(self, conversation: int) -> str:
        """Return the id of the conversation with this key."""
        return decode_id(self.db.value("SELECT id FROM conversation WHERE key = ?", (conversation,)))

    def scope(self, scope: Scope) -> tuple[int, int] | None:
        """Return the keys of tenant and user, if they ever stored something."""
        names = (scope.tenant, scope.user)
        known = self._scopes.get(names)
        if known is None:
            known = self.db.row(
                "SELECT u.tenant, u.key FROM user u JOIN tenant t ON t.key = u.tenant WHERE t.name = ? AND u.name = ?",
                names,
            )
            if known is not None:
                if len(self._scopes) > 10_000:
                    self._scopes.clear()
                self._scopes[names] = known
        return known

    def place(self, scope: Scope, conversation: str) -> Place:
        """Return where a conversation of this user is stored."""
        check_id(conversation)
        keys = self.scope(scope)
        if keys is not None:
            found = self.db.row(
                "SELECT key, version, entries FROM conversation WHERE tenant = ? AND id = ? AND user = ?",
                (keys[0], encode_id(conversation), keys[1]),
            )
            if found is not None:
                return Place(keys[0], found[0], conversation, *found[1:])
        raise ConversationNotFound

    def tip(self, place: Place) -> Tip:
        """Return the end of the log, which its last entry alone tells."""
        last = self.db.row(f"{_ENTRY} {_PLACE} ORDER BY seq DESC LIMIT 1", place[:2])
        if (last[0] if last else 0) < place.entries:
            raise StoreCorrupt(f"The end of conversation {place.id} is damaged.")
        if last is None:
            return Tip()
        check_entry(place, last)
        seq, kind, head, newest = last[0], last[2], last[7], last[8]
        return Tip(seq, seq, seq) if kind <= STATE else Tip(seq, head, newest)

    # Conversations

    def conversation(self, scope: Scope, place: Place) -> Conversation:
        """Return the conversation at this place."""
        return self._conversation(scope, self.db.row(f"{_CONVERSATION} WHERE c.key = ?", place[1:2]))

    def conversations(
        self, scope: Scope, before: tuple[int, int], assistant: str | None, status: str | None, limit: int
    ) -> list[tuple[Conversation, int]]:
        """Return conversations and their keys, by the last activity that is derived, from before that one and key."""
        keys = self.scope(scope)
        if keys is None:
            return []
        rows = self.db.rows(
            f"{_LISTED} WHERE c.tenant = ? AND c.user = ? AND c.id IS NOT NULL "
            "AND (c.updated_at, c.key) < (?, ?) "
            "AND (?5 IS NULL OR c.assistant = ?5) AND (?6 IS NULL OR c.status = ?6) "
            "ORDER BY c.updated_at DESC, c.key DESC LIMIT ?7",
            (*keys, *before, assistant, status, limit),
        )
        return [(self._conversation(scope, row), row[0]) for row in rows]

    def conversations_of_all(self, tenant: str, before: tuple[int, int], limit: int) -> list[tuple[Conversation, int]]:
        """Return the same of all users of a tenant."""
        rows = self.db.rows(
            f"{_LISTED} WHERE c.tenant = (SELECT key FROM tenant WHERE name = ?) AND c.id IS NOT NULL "
            "AND (c.updated_at, c.key) < (?, ?) ORDER BY c.updated_at DESC, c.key DESC LIMIT ?",
            (tenant, *before, limit),
        )
        return [(self._conversation(self._owner(tenant, row[0]), row), row[0]) for row in rows]

    def listed(self, tenant: str, key: int) -> Conversation:
        """Return the conversation with this key, of any user, as a list shows it."""
        return self._conversation(self._owner(tenant, key), self.db.row(f"{_LISTED} WHERE c.key = ?", (key,)))

    def _owner(self, tenant: str, conversation: int) -> Scope:
        user = self.db.value(
            "SELECT name FROM user WHERE key = (SELECT user FROM conversation WHERE key = ?)", (conversation,)
        )
        return Scope(tenant=tenant, user=user)

    def users(self, tenant: str) -> tuple[str, ...]:
        """Return the names of those who have a conversation."""
        rows = self.db.rows(
            "SELECT u.name FROM user u WHERE u.tenant = (SELECT key FROM tenant WHERE name = ?) AND EXISTS ("
            "SELECT 1 FROM conversation c WHERE c.tenant = u.tenant AND c.user = u.key AND c.id IS NOT NULL) "
            "ORDER BY u.name",
            (tenant,),
        )
        return tuple(name for (name,) in rows)

    def _conversation(self, scope: Scope, row: Sequence[Any]) -> Conversation:
        *columns, crc, entries, updated, metadata, system, settings_crc = row
        key, tenant, _, id, version, created, status, archived, assistant, title, model = columns
        if crc != checksum(*columns) or settings_crc not in (None, checksum(key, metadata, system)):
            raise StoreCorrupt("A conversation is damaged.")
        place = Place(tenant, key, decode_id(id), version, entries)
        tip = self.tip(place)
        if tip.last:
            updated = self.db.value(f"SELECT created_at FROM entry {_PLACE} AND seq = ?", (*place[:2], tip.last))
        return Conversation.trusted(
            scope=scope,
            id=place.id,
            assistant=assistant,
            title=title,
            system=system,
            model=model,
            metadata=json.loads(metadata) if metadata else {},
            status=Status(status),
            archived=bool(archived),
            version=version,
            head=tip.head or None,
            entries=tip.last,
            created_at=moment(created),
            updated_at=moment(updated),
        )

    def key(self, tenant: int, name: bytes) -> tuple[Place, Replay] | None:
        """Return what an idempotency key made, and in which conversation."""
        found = self.db.row(
            "SELECT c.id, c.version, k.digest, k.conversation, k.first, k.last, k.crc FROM key k "
            "JOIN conversation c ON c.key = k.conversation WHERE k.tenant = ? AND k.name = ? AND c.id IS NOT NULL",
            (tenant, name),
        )
        if found is None:
            return None
        id, version, digest, key, first, last, crc = found
        if crc != checksum(tenant, name, digest, key, first, last):
            raise StoreCorrupt("An idempotency key is damaged.")
        return Place(tenant, key, decode_id(id), version), Replay(digest.hex(), first, last)

    # Entries

    def entry(self, place: Place, seq: int) -> Entry:
        """Return one entry."""
        row = self.db.row(f"{_ENTRY} {_PLACE} AND seq = ?", (*place[:2], seq)) if 0 < seq <= MAX_SEQ else None
        if row is None:
            raise EntryNotFound
        return self._entry(place, row)

    def entries(self, place: Place, after: int, limit: int) -> tuple[Entry, ...]:
        """Return entries of all branches and remarks in the order of the log."""
        rows = self.db.rows(f"{_ENTRY} {_PLACE} AND seq > ? ORDER BY seq LIMIT ?", (*place[:2], after, limit))
        if any(row[0] != after + number for number, row in enumerate(rows, 1)):
            raise gap(place)
        return tuple(self._entry(place, row) for row in rows)

    def between(self, place: Place, first: int, last: int) -> tuple[Entry, ...]:
        """Return the entries with these numbers."""
        rows = self.db.execute(f"{_ENTRY} {_PLACE} AND seq BETWEEN ? AND ? ORDER BY seq", (*place[:2], first, last))
        return tuple(self._entry(place, row) for row in rows)

    def is_on_branch(self, place: Place, seq: int) -> bool:
        """Whether this is the number of an entry that continues a branch."""
        if not 0 < seq <= MAX_SEQ:
            return False
        kind = self.db.value(f"SELECT kind FROM entry {_PLACE} AND seq = ?", (*place[:2], seq))
        return kind is not None and kind <= STATE

    def check_on_branch(self, place: Place, seq: int) -> int:
        """Return the number of an entry that continues a branch; refuse any other."""
        if not self.is_on_branch(place, seq):
            raise EntryNotFound
        return seq

    def backwards(self, place: Place, head: int, limit: int) -> tuple[Entry, ...]:
        """Return the newest entries of the branch that ends in `head`, oldest first."""
        rows: list[Any] = []
        for run in self.path(place, head):
            rows += self.db.rows(
                f"{_ENTRY} {_PLACE} AND seq BETWEEN ? AND ? AND kind <= {STATE} ORDER BY seq DESC LIMIT ?",
                (*place[:2], run.first, run.last, limit - len(rows)),
            )
            if len(rows) >= limit:
                break
        entries = tuple(self._entry(place, row) for row in reversed(rows))
        first = ROOT if len(rows) < limit or not entries else entries[0].parent or ROOT
        check_chain(place, first, entries, head)
        return entries

    def forwards(self, place: Place, seq: int, head: int, limit: int) -> tuple[Entry, ...]:
        """Return the entries that follow `seq` on the branch that ends in `head`, oldest first."""
        rows: list[Any] = []
        for first, last in self.stretches(place, seq, head):
            rows += self.db.rows(
                f"{_ENTRY} {_PLACE} AND seq BETWEEN ? AND ? AND kind <= {STATE} ORDER BY seq LIMIT ?",
                (*place[:2], first, last, limit - len(rows)),
            )
            if len(rows) >= limit:
                break
        entries = tuple(self._entry(place, row) for row in rows)
        check_chain(place, seq, entries, head if len(rows) < limit else None)
        return entries

    def stretches(self, place: Place, seq: int, head: int) -> list[tuple[int, int]]:
        """Return the first and the last number of what each run of the branch that ends in `head` adds behind `seq`,
        oldest first."""
        if seq != ROOT:
            self.check_on_branch(place, seq)
        runs = []
        for run in self.path(place, head):
            runs.append(run)
            if run.first <= seq:
                break
        if seq != ROOT and not (runs and runs[-1].first <= seq <= runs[-1].last):
            raise EntryNotFound
        return [(max(run.first, seq + 1), run.last) for run in reversed(runs)]

    def count(self, place: Place, seq: int, head: int) -> int:
        """Return how many messages follow `seq` on the branch that ends in `head`."""
        return sum(
            self.messages_up_to(place, last) - self.messages_up_to(place, first - 1)
            for first, last in self.stretches(place, seq, head)
        )

    def messages_up_to(self, place: Place, seq: int) -> int:
        """Return how many messages the log holds up to an entry, of all branches."""
        return self.db.value(f"SELECT messages FROM entry {_PLACE} AND seq = ?", (*place[:2], seq)) or 0

    def path(self, place: Place, head: int) -> Iterator[Run]:
        """Yield the runs of the branch that ends in `head`, the newest first."""
        while head:
            found = self.db.row(f"{_JUMP} {_PLACE} AND first <= ? ORDER BY first DESC LIMIT 1", (*place[:2], head))
            jump = read_jump(place, found) if found else None
            parent, first = (jump.parent, jump.first) if jump else (0, 1)
            yield Run.trusted(parent=parent, first=first, last=head)
            head = parent

    def tree(self, place: Place) -> Tree:
        """Return the shape of the tree."""
        tip = self.tip(place)
        rows = self.db.execute(f"{_JUMP} {_PLACE} ORDER BY first", place[:2])
        return Tree(jumps=tuple(read_jump(place, row) for row in rows), newest=tip.newest, head=tip.head)

    def follower(self, place: Place, parent: int) -> int:
        """Return the entry that continued `parent` in its own run, or 0."""
        found = self.db.value(
            f"SELECT seq FROM entry {_PLACE} AND seq > ? AND kind <= {STATE} ORDER BY seq LIMIT 1", (*place[:2], parent)
        )
        jumped = found and self.db.value(f"SELECT 1 FROM jump {_PLACE} AND first = ?", (*place[:2], found))
        return 0 if found is None or jumped else int(found)

    def state_changes(self, place: Place, at: int) -> Iterator[Entry]:
        """Yield the state changes of the branch that ends in `at`, the newest first."""
        for run in self.path(place, at):
            rows = self.db.execute(
                f"{_ENTRY} {_PLACE} AND kind = {STATE} AND seq BETWEEN ? AND ? ORDER BY seq DESC",
                (*place[:2], run.first, run.last),
            )
            for row in rows:
                yield self._entry(place, row)

    def summary(self, place: Place, head: int) -> Entry | None:
        """Return the newest summary of the branch that ends in `head`."""
        runs = list(self.path(place, head))
        for row in self.db.execute(f"{_ENTRY} {_PLACE} AND kind = {SUMMARY} ORDER BY seq DESC", place[:2]):
            if any(run.first <= row[1] <= run.last for run in runs):
                return self._entry(place, row)
        return None

    def _entry(self, place: Place, row: Sequence[Any]) -> Entry:
        check_entry(place, row)
        seq, parent, kind, turn, created_at, id, tokens, _, _, content, parts, _ = row
        unpack = self.packer.unpack
        return Entry.trusted(
            conversation=place.id,
            seq=seq,
            parent=parent or None,
            turn=turn,
            created_at=moment(created_at),
            body=decode(Row(kind, id, tokens, unpack(content), unpack(parts))),
        )

    # Turns

    def turns(self, scope: Scope, place: Place) -> tuple[Turn, ...]:
        """Return the open turns of a conversation."""
        return tuple(Turn(scope=scope, conversation=place.id, **dict(turn)) for turn in self.open_turns(place))

    def open_turns(self, place: Place) -> tuple[OpenTurn, ...]:
        """Return the same as the rules know them."""
        return tuple(map(_open_turn, self.db.execute(f"{_TURN} {_PLACE} ORDER BY number", place[:2])))

    def expired(self, now: datetime, latest: datetime, limit: int) -> tuple[Turn, ...]:
        """Return turns of all tenants that nobody sees to; no lease is good that ends after `latest`."""
        rows = self.db.execute(
            "SELECT t.name, u.name, c.id, n.number, n.state, n.owner, n.until, n.fence, n.taken FROM turn n "
            "JOIN conversation c ON c.key = n.conversation "
            "JOIN user u ON u.key = c.user JOIN tenant t ON t.key = c.tenant "
            "WHERE c.id IS NOT NULL AND (n.state = 'running' AND (n.until < ? OR n.until > ?) "
            "OR n.state = 'queued' AND NOT EXISTS ("
            "SELECT 1 FROM turn o WHERE o.tenant = n.tenant AND o.conversation = n.conversation "
            "AND (o.state <> 'queued' OR o.number < n.number))) ORDER BY n.until IS NULL, n.until LIMIT ?",
            (microseconds(now), microseconds(latest), limit),
        )
        return tuple(
            Turn(scope=Scope(tenant=row[0], user=row[1]), conversation=decode_id(row[2]), **dict(_open_turn(row[3:])))
            for row in rows
        )

    def written(self, place: Place) -> DraftEnd | None:
        """Return how much there is of the message being written."""
        found = self.db.row(
            'SELECT d.message, d.turn, c."end", c.bytes FROM draft d '
            "JOIN chunk c ON c.tenant = d.tenant AND c.conversation = d.conversation "
            'WHERE d.tenant = ? AND d.conversation = ? ORDER BY c."offset" DESC LIMIT 1',
            place[:2],
        )
        return DraftEnd(*found) if found else None

    def draft(self, place: Place, message: str | None, offset: int) -> Draft | None:
        """Return what is being written, from `offset` on if it is this message, else from its beginning."""
        found = self.db.row(f"SELECT message, turn, started_at FROM draft {_PLACE}", place[:2])
        if found is None:
            return None
        start = offset if found[0] == message else 0
        chunks = self.db.rows(
            f'SELECT "offset", "end", bytes, text, crc FROM chunk {_PLACE} AND "end" > ? ORDER BY "offset"',
            (*place[:2], start),
        )
        if any(crc != checksum(*place[:2], *columns) for *columns, crc in chunks):
            raise StoreCorrupt(f"What is being written in conversation {place.id} is damaged.")
        text = "".join(row[3] for row in chunks)[start - chunks[0][0] if chunks else 0 :]
        return Draft(message=found[0], turn=found[1], started_at=moment(found[2]), offset=start, text=text)


def _open_turn(row: Sequence[Any]) -> OpenTurn:
    number, state, owner, until, fence, taken = row
    return OpenTurn(
        number=number,
        state=TurnState(state),
        owner=owner,
        until=None if until is None else moment(until),
        fence=fence,
        taken=taken,
    )
