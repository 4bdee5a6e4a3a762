"""The end of a log as the rules want it, and what a record stores behind it, table by table.

Ends are read from the database, and remembered as long as nobody else is known to write. What is remembered may be old:
then committing fails, and a refusal is not believed before the end was read again.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

from threadkeep.conversation.entry import Entry, Update
from threadkeep.conversation.facts import ConversationFacts, Status
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Turn, TurnChange
from threadkeep.errors import ConversationNotFound, KeyReused, StoreCorrupt
from threadkeep.store.codec import STATE, TURN, Row, decode, decode_id, encode_id
from threadkeep.store.file_tables import attached_files
from threadkeep.store.record import DraftEnd, KeyPlace, KeyUse, Placed, Record, Tip, place_entries
from threadkeep.store.rules import finishes, version_after
from threadkeep.text.words import words
from threadkeep_postgres.database import Columns, Place, Translator, facts_columns, to_facts, turn_columns
from threadkeep_postgres.jsonb import escape, load_text
from threadkeep_postgres.pool import Pool

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NO_SEQ = 2**31 - 1


class BesideEnd(NamedTuple):
    """What is to be read beside the end: something about an entry, a queued turn's entry, what a key made, and what is
    known of the conversation as a whole."""

    parent: int | None = None
    queued: int | None = None
    key: str | None = None
    facts: bool = False


_NOTHING = BesideEnd()


class MissingError(Exception):
    """A decision asked for something that was not read."""

    def __init__(self, asked: BesideEnd) -> None:
        super().__init__()
        self.asked = asked


class PostgresEnd(NamedTuple):
    """The end of a log. `pieces` counts the pieces of the message being written."""

    scope: Scope
    id: str
    conversation: int
    version: int
    status: Status
    tip: Tip
    total: int
    messages: int
    open_turns: Mapping[int, Turn]
    draft: DraftEnd | None
    pieces: int
    asked: BesideEnd = _NOTHING
    read: Columns | None = None

    def replay(self, key: KeyUse) -> KeyPlace | None:
        """Return what a key made; one that was not looked up is taken for new, and found when committing fails."""
        if self.read is None or self.asked.key != key.name or self.read["made_in"] is None:
            return None
        if self.read["made_in"] != self.conversation:
            raise KeyReused
        made = {"first": self.read["first_made"], "last": self.read["last_made"]}
        return KeyPlace(name=key.name, digest=self.read["digest"].hex(), **made)

    def is_on_branch(self, seq: int) -> bool:
        """Whether this is the number of an entry that continues a branch."""
        if seq == self.tip.head or not 0 < seq <= self.tip.last:
            return seq == self.tip.head
        return bool(self._answer("is_on_branch", self.asked._replace(parent=seq)))

    def follower(self, seq: int) -> int:
        """Return the entry that continued another in its own run, or 0."""
        return int(self._answer("follower", self.asked._replace(parent=seq)))

    def queued(self, turn: int) -> TurnChange:
        """Return the entry that tells of a queued turn."""
        body = decode(Row(TURN, None, None, "", load_text(self._answer("queued", self.asked._replace(queued=turn)))))
        if not isinstance(body, TurnChange):
            raise StoreCorrupt(f"Entry {turn} opened a queued turn, but does not say so.")
        return body

    def remembered(self) -> "PostgresEnd":
        """Return the end without what was read beside it."""
        return self if self.read is None else self._replace(asked=_NOTHING, read=None)

    def facts(self) -> ConversationFacts:
        """Return what is known of the conversation as a whole."""
        if self.read is None or not self.asked.facts:
            raise MissingError(self.asked._replace(facts=True))
        return ConversationFacts.trusted(**to_facts(self.read))

    def _answer(self, name: str, asked: BesideEnd) -> Any:
        if self.read is None or self.asked != asked:
            raise MissingError(asked)
        return self.read[name]


def new_end(scope: Scope, conversation: str, key: int, size: int) -> PostgresEnd:
    """Return the end of the log of a conversation that was just made, of so many bytes."""
    return PostgresEnd(scope, conversation, key, 1, Status.ACTIVE, Tip(), size, 0, {}, None, 0)


async def read_end(pool: Pool, scope: Scope, conversation: str, where: Place, asked: BesideEnd) -> PostgresEnd:
    """Return the end of a log as it is now."""
    # What finds nothing, and not null: a planner that knows of it leaves out the tenant with the rest of a condition.
    numbers = (NO_SEQ if number is None else number for number in (asked.parent, asked.queued))
    rows = await pool.call("end_of", *where, *numbers, bytes.fromhex(asked.key or ""), asked.facts)
    if not rows:
        raise ConversationNotFound
    row = rows[0]
    pieces = row["pieces"] or 0
    draft = DraftEnd(decode_id(row["message"]), row["turn"], row["characters"], row["bytes"]) if pieces else None
    return PostgresEnd(
        scope=scope,
        id=conversation,
        conversation=row["conversation"],
        version=row["version"],
        status=Status(row["status"] or Status.ACTIVE),
        tip=Tip(row["last"], row["head"], row["newest"]),
        total=row["total"],
        messages=row["messages"],
        open_turns={
            turn["number"]: Turn.trusted(scope=scope, conversation=conversation, **turn_columns(turn))
            for turn in row["turns"]
        },
        draft=draft,
        pieces=pieces,
        asked=asked,
        read=row,
    )


class Commit:
    """What one record stores, table by table (the order of the columns is that of the tables), and the end after it."""

    __slots__ = ("end", "entries_made", "rows")

    def __init__(self, entries_made: tuple[Entry, ...], end: PostgresEnd) -> None:
        self.entries_made = entries_made
        self.end = end
        self.rows: dict[str, list[Any]] = {}

    @property
    def goes_on(self) -> bool:
        """Whether it stores text of a message that has some, for which nobody waits as for the first."""
        return "chunks" in self.rows and self.end.pieces > 1

    def add(self, table: str, row: Sequence[Any]) -> None:
        """Add a row of a table."""
        self.rows.setdefault(table, []).append(row)


def to_commit(where: Place, end: PostgresEnd, record: Record, rows: Sequence[Row], translator: Translator) -> Commit:
    """Return what a record stores behind an end."""
    placed = place_entries(end.tip, record, end.id, end.follower)
    commit = Commit(placed.entries, end)
    key = (end.conversation, where.tenant)
    if placed.entries:
        commit.add("places", (*key, where.owner))
        _add_entries(commit, where, placed, rows, translator)
    for file in {file for body in record.bodies for file in attached_files(body)}:
        commit.add("uses", (*key, file))
    for jump in placed.jumps:
        commit.add("jumps", (*key, jump.first, jump.parent, jump.left, jump.beside))
    for made in record.keys(end.tip.last + 1, placed.tip.last):
        commit.add("keys", (*key, made.first, made.last, bytes.fromhex(made.name), bytes.fromhex(made.digest)))
    _add_change(commit, end, record)
    for turn in record.turns:
        _add_turn(commit, where, turn, record)
    if record.chunk is not None or end.draft is not None:
        _add_text(commit, where, record)
    return commit


def _add_entries(commit: Commit, where: Place, placed: Placed, rows: Sequence[Row], translator: Translator) -> None:
    end, tenant = commit.end, where.tenant
    conversation, total, messages = end.conversation, end.total, end.messages
    entries = commit.rows["entries"] = []
    for (seq, parent, turn, at, *around), row in zip(placed.places, rows, strict=True):
        head, newest = (None, None) if row.kind <= STATE else around
        total += row.size
        messages += row.kind < STATE
        place = (at, total, conversation, tenant, seq, parent, row.kind, turn, head, newest)
        entries.append((*place, row.tokens, row.id, *translator.packed(row), messages))
    commit.end = end._replace(tip=placed.tip, total=total, messages=messages, asked=_NOTHING, read=None)


def _add_change(commit: Commit, before: PostgresEnd, record: Record) -> None:
    updates = [body for body in record.bodies if isinstance(body, Update)]
    version = version_after(before.version, record)
    if not updates:
        if version != before.version:
            commit.end = commit.end._replace(version=version)
            commit.add("changes", (before.conversation, version, None, None, None, None))
        return
    facts = known = before.facts()
    for update in updates:
        facts = facts.after(update)
    commit.end = commit.end._replace(version=version, status=facts.status)
    titled = None if facts.title == known.title else sorted(words(facts.title or ""))
    commit.add("changes", (before.conversation, version, facts.is_first, *facts_columns(facts), titled))


def _add_turn(commit: Commit, where: Place, turn: Turn, record: Record) -> None:
    """Store an open turn, and that one is not open any more."""
    turns = {**commit.end.open_turns, turn.number: turn}
    if not turn.state.is_open:
        del turns[turn.number]
    commit.end = commit.end._replace(open_turns=turns)
    # The database adds the length of the lease to its own time.
    until = None if turn.until is None else _EPOCH + (turn.until - record.at)
    row = _turn_row(commit.end, where, turn, until)
    commit.add("turns" if turn.state.is_open else "ended", row)
    if not record.bodies:
        commit.add("leases", row)


def _turn_row(end: PostgresEnd, where: Place, turn: Turn, until: datetime | None) -> tuple[Any, ...]:
    names = (escape(end.scope.tenant), escape(end.scope.user), where.id)
    owner = None if turn.owner is None else escape(turn.owner)
    number = (turn.number, turn.fence, turn.state.value, owner)
    return end.conversation, until, where.tenant, *number, *names


def _add_text(commit: Commit, where: Place, record: Record) -> None:
    """Store a piece of the message being written, or that it is finished."""
    end, draft = commit.end, commit.end.draft
    if record.chunk is not None:
        chunk, text = record.chunk, record.chunk.text.encode()
        begun = draft or DraftEnd(chunk.message, chunk.turn, 0, 0)
        now = begun._replace(characters=begun.characters + len(chunk.text), bytes=begun.bytes + len(text))
        commit.end = end._replace(draft=now, pieces=end.pieces + 1)
        numbers = (end.pieces + 1, chunk.turn, begun.characters, now.characters, now.bytes)
        commit.add("chunks", (end.conversation, record.at, where.tenant, *numbers, encode_id(chunk.message), text))
        commit.add("leases", _turn_row(end, where, end.open_turns[chunk.turn], None))
    elif draft is not None and finishes(record, draft):
        commit.end = end._replace(draft=None, pieces=0)
        commit.add("drafts", (end.conversation, None, where.tenant, end.pieces, *[None] * 6))
