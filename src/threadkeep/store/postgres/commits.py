"""Commits: a record becomes rows of tables, and the records of all callers of a tenant share statements.

While one statement is under way the next group gathers. If the database refuses a group, each of its records is sent by
itself, so that only those fail whose conversation was written to by somebody else.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from threadkeep.conversation.entry import Entry, Update
from threadkeep.errors import StoreError, StoreUnavailable, ThreadkeepError
from threadkeep.store.codec import STATE, Row, encode_id
from threadkeep.store.postgres.ends import PostgresEnd
from threadkeep.store.postgres.faults import MovedError
from threadkeep.store.postgres.jsonb import dump, escape
from threadkeep.store.postgres.pool import Pool
from threadkeep.store.postgres.rows import Place, Translator
from threadkeep.store.record import DraftEnd, OpenTurn, Record, Tip, place_entries
from threadkeep.store.rules import finishes, version_after

MOST = 256
"""How many records go in one statement at most."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_TABLES = ("places", "leases", "entries", "jumps", "keys", "changes", "turns", "ended", "chunks", "drafts")


@dataclass(slots=True)
class Commit:
    """What one record stores, table by table (the order of the columns is that of the tables), and the end after it."""

    entries_made: tuple[Entry, ...]
    end: PostgresEnd
    places: list[Any] = field(default_factory=list)
    leases: list[Any] = field(default_factory=list)
    entries: list[Any] = field(default_factory=list)
    jumps: list[Any] = field(default_factory=list)
    keys: list[Any] = field(default_factory=list)
    changes: list[Any] = field(default_factory=list)
    turns: list[Any] = field(default_factory=list)
    ended: list[Any] = field(default_factory=list)
    chunks: list[Any] = field(default_factory=list)
    drafts: list[Any] = field(default_factory=list)


def to_commit(where: Place, end: PostgresEnd, record: Record, rows: Sequence[Row], translator: Translator) -> Commit:
    """Return what a record stores behind an end."""
    tip = end.tip if record.head is None else end.tip._replace(head=record.head)
    placed = place_entries(tip, record, end.id, end.follower)
    commit = Commit(placed.entries, end._replace(tip=placed.tip))
    key = (end.conversation, where.tenant)
    if placed.entries:
        commit.places.append((*key, where.owner))
        _add_entries(commit, where, tip, rows, translator)
    commit.jumps += [(*key, jump.first, jump.parent, jump.left, jump.beside) for jump in placed.jumps]
    if record.key is not None:
        made = (end.tip.last + 1, placed.tip.last, bytes.fromhex(record.key.name), bytes.fromhex(record.key.digest))
        commit.keys.append((*key, *made))
    _add_change(commit, record)
    for turn in record.turns:
        _add_turn(commit, where, turn, record)
    _add_text(commit, where, record)
    return commit


def _add_entries(commit: Commit, where: Place, tip: Tip, rows: Sequence[Row], translator: Translator) -> None:
    total, messages = commit.end.total, commit.end.messages
    for entry, row in zip(commit.entries_made, rows, strict=True):
        tip = tip.after(entry)
        around = (None, None) if entry.continues_branch else (tip.head, tip.newest)
        total += row.size
        messages += row.kind < STATE
        commit.entries.append(
            (
                entry.created_at,
                total,
                commit.end.conversation,
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
    commit.end = commit.end._replace(total=total, messages=messages)


def _add_change(commit: Commit, record: Record) -> None:
    updates = [body for body in record.bodies if isinstance(body, Update)]
    version = version_after(commit.end.version, record)
    if version == commit.end.version and not updates:
        return
    change = Update()
    for update in updates:
        change = change.model_copy(update=update.model_dump(exclude_none=True))
    commit.end = commit.end._replace(version=version)
    commit.changes.append(
        (
            commit.end.conversation,
            commit.end.version,
            escaped(change.title),
            None if change.metadata is None else dump(change.metadata),
            change.status,
            change.archived,
            escaped(change.model),
            change.assistant,
        )
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
    (commit.turns if turn.state.is_open else commit.ended).append(row)
    if not record.bodies:
        commit.leases.append(row)


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
        commit.chunks.append((end.conversation, record.at, where.tenant, *numbers, encode_id(chunk.message), text))
        commit.leases.append(_turn_row(end, where, end.open_turns[chunk.turn], None))
    elif draft is not None and finishes(record, draft):
        commit.end = end._replace(draft=None, pieces=0)
        commit.drafts.append((end.conversation, None, where.tenant, end.pieces, *[None] * 6))


def escaped(text: str | None) -> str | None:
    """Return text that a column can keep."""
    return None if text is None else escape(text)


class Committer:
    """Sends commits, many at a time."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._waiting: dict[int, list[tuple[Commit, asyncio.Future[None]]]] = {}
        self._sending: dict[int, asyncio.Task[None]] = {}

    async def add(self, tenant: int, commit: Commit) -> None:
        """Return when the commit is on disk; `MovedError` if the end has moved, and nothing was stored."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tenant, []).append((commit, done))
        if tenant not in self._sending:
            self._sending[tenant] = asyncio.create_task(self._send(tenant))
        await done

    async def _send(self, tenant: int) -> None:
        try:
            while group := self._waiting.pop(tenant, None):
                if group[MOST:]:
                    self._waiting[tenant] = group[MOST:]
                await self._send_group(tenant, group[:MOST])
        finally:
            del self._sending[tenant]
            for _, done in self._waiting.pop(tenant, ()):
                done.set_exception(StoreUnavailable())

    async def _send_group(self, tenant: int, group: list[tuple[Commit, asyncio.Future[None]]]) -> None:
        error = await self._call(tenant, [commit for commit, _ in group])
        if error is not None and not isinstance(error, StoreUnavailable) and len(group) > 1:
            # One of them is refused, or cannot even be sent; the others are none the worse for it.
            for one in group:
                await self._send_group(tenant, [one])
            return
        for _, done in group:
            if done.done():
                continue
            if error is None:
                done.set_result(None)
            else:
                done.set_exception(error)

    async def _call(self, tenant: int, commits: list[Commit]) -> Exception | None:
        # In one order for everybody, so that two groups never wait for each other.
        commits = sorted(commits, key=lambda commit: commit.end.conversation)
        columns = ([row for commit in commits for row in getattr(commit, table)] for table in _TABLES)
        try:
            await self._pool.write("commit", tenant, *columns)
        except (MovedError, ThreadkeepError) as error:
            return error
        except Exception as error:
            # Nobody may wait for ever, whatever went wrong here.
            return StoreError(f"The commit failed: {type(error).__name__}: {error}.")
        return None
