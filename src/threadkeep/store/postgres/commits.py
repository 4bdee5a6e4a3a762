"""Commits: a record becomes rows of tables, and the records of all callers of a tenant share statements.

While statements are under way the next group gathers. If the database refuses a group, each of its records is sent by
itself, so that only those fail whose conversation was written to by somebody else.
"""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

from threadkeep.conversation.entry import Entry, Update
from threadkeep.errors import StoreError, StoreUnavailable, ThreadkeepError
from threadkeep.store.codec import STATE, Row, encode_id
from threadkeep.store.postgres.ends import NOTHING, PostgresEnd
from threadkeep.store.postgres.faults import MovedError
from threadkeep.store.postgres.jsonb import dump, escape
from threadkeep.store.postgres.pool import Pool
from threadkeep.store.postgres.rows import Place, Translator
from threadkeep.store.record import DraftEnd, OpenTurn, Record, Tip, place_entries
from threadkeep.store.rules import finishes, version_after

MOST = 256
"""How many records go in one statement at most."""
FLIGHTS = 4
"""How many statements of a tenant are under way at a time."""
WOKEN = 16
"""How many writers go on at a time when their group is stored."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TABLES = ("places", "leases", "entries", "jumps", "keys", "changes", "turns", "ended", "chunks", "drafts")


class Commit:
    """What one record stores, table by table (the order of the columns is that of the tables), and the end after it."""

    __slots__ = ("end", "entries_made", "rows")

    def __init__(self, entries_made: tuple[Entry, ...], end: PostgresEnd) -> None:
        self.entries_made = entries_made
        self.end = end
        self.rows: dict[str, list[Any]] = {}

    def add(self, table: str, row: tuple[Any, ...]) -> None:
        """Add a row of a table."""
        self.rows.setdefault(table, []).append(row)


def to_commit(where: Place, end: PostgresEnd, record: Record, rows: Sequence[Row], translator: Translator) -> Commit:
    """Return what a record stores behind an end."""
    tip = end.tip if record.head is None else end.tip._replace(head=record.head)
    placed = place_entries(tip, record, end.id, end.follower)
    commit = Commit(placed.entries, end)
    key = (end.conversation, where.tenant)
    if placed.entries:
        commit.add("places", (*key, where.owner))
        _add_entries(commit, where, tip, rows, translator)
    for jump in placed.jumps:
        commit.add("jumps", (*key, jump.first, jump.parent, jump.left, jump.beside))
    if record.key is not None:
        made = (end.tip.last + 1, placed.tip.last, bytes.fromhex(record.key.name), bytes.fromhex(record.key.digest))
        commit.add("keys", (*key, *made))
    _add_change(commit, record)
    for turn in record.turns:
        _add_turn(commit, where, turn, record)
    if record.chunk is not None or end.draft is not None:
        _add_text(commit, where, record)
    return commit


def _add_entries(commit: Commit, where: Place, tip: Tip, rows: Sequence[Row], translator: Translator) -> None:
    end = commit.end
    conversation, total, messages = end.conversation, end.total, end.messages
    entries = commit.rows["entries"] = []
    for entry, row in zip(commit.entries_made, rows, strict=True):
        tip = tip.after(entry)
        around = (None, None) if entry.continues_branch else (tip.head, tip.newest)
        total += row.size
        messages += row.kind < STATE
        entries.append(
            (
                entry.created_at,
                total,
                conversation,
                where.tenant,
                entry.seq,
                entry.parent or 0,
                row.kind,
                entry.turn,
                *around,
                row.tokens,
                row.id,
                *translator.packed(row),
                messages,
            )
        )
    commit.end = end._replace(tip=tip, total=total, messages=messages, asked=NOTHING, facts=None)


def _add_change(commit: Commit, record: Record) -> None:
    updates = [body for body in record.bodies if isinstance(body, Update)]
    version = version_after(commit.end.version, record)
    if version == commit.end.version and not updates:
        return
    change = Update()
    for update in updates:
        change = change.model_copy(update=update.model_dump(exclude_none=True))
    commit.end = commit.end._replace(version=version)
    commit.add(
        "changes",
        (
            commit.end.conversation,
            commit.end.version,
            escaped(change.title),
            None if change.metadata is None else dump(change.metadata),
            change.status,
            change.archived,
            escaped(change.model),
            change.assistant,
        ),
    )


def _add_turn(commit: Commit, where: Place, turn: OpenTurn, record: Record) -> None:
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


def _turn_row(end: PostgresEnd, where: Place, turn: OpenTurn, until: datetime | None) -> tuple[Any, ...]:
    names = (escape(end.scope.tenant), escape(end.scope.user), where.id)
    number = (turn.number, turn.fence, turn.taken, turn.state.value, escaped(turn.owner))
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


def escaped(text: str | None) -> str | None:
    """Return text that a column can keep."""
    return None if text is None else escape(text)


Waiting = tuple[Commit, asyncio.Future[None]]


class Committer:
    """Sends commits, many at a time."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._waiting: dict[int, list[Waiting]] = {}
        self._flights: dict[int, set[asyncio.Task[None]]] = {}

    async def add(self, tenant: int, commit: Commit) -> None:
        """Return when the commit is on disk; `MovedError` if the end has moved, and nothing was stored."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        waiting = self._waiting.setdefault(tenant, [])
        waiting.append((commit, done))
        if len(waiting) == 1:
            self._start(tenant)
        await done

    def _start(self, tenant: int) -> None:
        """Send what waits as soon as those who are about to write have done so, if not too much is under way."""
        flights = self._flights.setdefault(tenant, set())
        if len(flights) < FLIGHTS:
            flights.add(asyncio.create_task(self._fly(tenant)))

    async def _fly(self, tenant: int) -> None:
        waiting = self._waiting.pop(tenant, [])
        group, rest = waiting[:MOST], waiting[MOST:]
        if rest:
            self._waiting[tenant] = rest
            self._start(tenant)
        try:
            await self._send(tenant, group)
        finally:
            for _, done in group:
                if not done.done():
                    done.set_exception(StoreUnavailable())
            flights = self._flights[tenant]
            flights.discard(asyncio.current_task())  # type: ignore[arg-type]
            if self._waiting.get(tenant):
                self._start(tenant)
            elif not flights:
                del self._flights[tenant]

    async def _send(self, tenant: int, group: list[Waiting]) -> None:
        error = await self._call(tenant, [commit for commit, _ in group])
        if error is not None and not isinstance(error, StoreUnavailable) and len(group) > 1:
            # One of them is refused, or cannot even be sent; the others are none the worse for it.
            for one in group:
                await self._send(tenant, [one])
            return
        for at, (_, done) in enumerate(group, 1):
            if done.done():
                continue
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)
            if at % WOKEN == 0:
                # What these write next is sent while the others make up theirs.
                await asyncio.sleep(0)

    async def _call(self, tenant: int, commits: list[Commit]) -> Exception | None:
        # In one order for everybody, so that two groups never wait for each other.
        commits.sort(key=lambda commit: commit.end.conversation)
        tables: dict[str, list[Any]] = {}
        for commit in commits:
            for table, rows in commit.rows.items():
                tables.setdefault(table, []).extend(rows)
        try:
            await self._pool.write("commit", tenant, *map(tables.get, _TABLES))
        except (MovedError, ThreadkeepError) as error:
            return error
        except Exception as error:
            # Nobody may wait for ever, whatever went wrong here.
            return StoreError(f"The commit failed: {type(error).__name__}: {error}.")
        return None
