"""Writing: the end of a log is read or remembered, the rules decide, the commit tells whether it was still the end.

The records of all callers of a tenant share statements: while some are under way the next group gathers. If the
database refuses a group, each of its records is sent by itself, so that only those fail whose conversation was written
to by somebody else.
"""

import asyncio
from datetime import datetime
from random import random
from typing import Any, TypeVar

from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.ids import IdSource
from threadkeep.conversation.scope import Scope
from threadkeep.errors import AlreadyExists, StoreBusy, StoreError, StoreUnavailable, ThreadkeepError
from threadkeep.store.caps import Caps, Load
from threadkeep.store.checks import size_of
from threadkeep.store.codec import decode_id, encode_id
from threadkeep.store.rules import PACE_SECONDS, Decision, Verb, check_same, key_use
from threadkeep.store.values import Created
from threadkeep.text.words import words
from threadkeep_postgres.database import REMEMBERED, Database, Place, Remembered, facts_columns
from threadkeep_postgres.ends import BesideEnd, Commit, MissingError, PostgresEnd, new_end, read_end, to_commit
from threadkeep_postgres.faults import MovedError, is_cut
from threadkeep_postgres.pool import ATTEMPTS, Pool

T = TypeVar("T")

MOST_MOVES = 100
"""How often an end may move before a writer gives up."""
MOST = 256
"""How many records go in one statement at most."""
FLIGHTS = 4
"""How many statements of a tenant are under way at a time."""
WOKEN = 16
"""How many writers go on at a time when their group is stored."""
_TABLES = "places leases entries jumps keys changes turns ended chunks drafts acts uses rooms"
"""The arguments of `commit`, in order."""


class Log:
    """The log, to be written."""

    def __init__(self, database: Database, ids: IdSource) -> None:
        self._db = database
        self._ids = ids
        self._ends: Remembered[Place, PostgresEnd] = Remembered()
        self._committer = Committer(database.pool)
        self._locks: dict[Place, asyncio.Lock] = {}
        self._writers = 0
        self._idle = asyncio.Event()
        self._idle.set()

    async def close(self) -> None:
        """Wait until everything that was accepted is stored."""
        await self._idle.wait()

    def release(self) -> None:
        """Remember nothing but what is being written."""
        self._ends.clear()
        self._locks = {place: lock for place, lock in self._locks.items() if lock.locked()}

    def forget(self, where: Place) -> None:
        """Remember nothing of a conversation that is deleted or comes back."""
        self._ends.pop(where, None)

    async def create(
        self, scope: Scope, new: NewConversation, key: IdempotencyKey | None, at: datetime, caps: Caps
    ) -> Created:
        """Create a conversation, or find it by its key."""
        use, name, size = key_use(scope, key), new.id or self._ids(), size_of(new)
        tenant, owner = await self._db.enter(scope)
        named = (bytes.fromhex(use.name), bytes.fromhex(use.digest)) if use else (None, None)
        was_cut = False
        for _ in range(ATTEMPTS):
            if use and (rows := await self._db.pool.call("made_by", tenant, named[0])):
                check_same(rows[0]["digest"].hex(), use)
                found = await self._db.conversation(scope, decode_id(rows[0]["id"]))
                return Created(conversation=found, replayed=True)
            rooms = await self.rooms(scope, (tenant, owner), caps, Load(1, size))
            try:
                made = await self._db.pool.write(
                    "create_conversation",
                    tenant,
                    owner,
                    scope.user,
                    encode_id(name),
                    at,
                    *named,
                    *facts_columns(new.facts()),
                    sorted(words(new.title or "")),
                    size,
                    rooms or None,
                )
            except StoreUnavailable as error:
                if not is_cut(error.__cause__) or (new.id and not use):
                    raise
                was_cut = True
            except MovedError:
                if await self._db.pool.call("is_taken", tenant, encode_id(name)):
                    if was_cut and not new.id:
                        return Created(conversation=_new_conversation(scope, name, new, at))
                    raise AlreadyExists from None
            else:
                # What is said first need not read how the log ends.
                self._ends[Place(tenant, owner, encode_id(name))] = new_end(scope, name, made[0][0], size)
                return Created(conversation=_new_conversation(scope, name, new, at))
        raise StoreBusy

    async def rooms(self, scope: Scope, keys: tuple[int, int], caps: Caps, brought: Load) -> list[list[int]]:
        """Refuse what is brought beyond the caps; return which ones must be looked at in the commit, because others may
        bring something meanwhile."""
        rooms = []
        for holder in caps.to_count(scope, brought):
            owner = None if holder.user is None else keys[1]
            # What other cells of the tenant have is counted a moment before the commit, and not in it.
            cells = () if holder.user is not None else await self._db.keys(scope.tenant)
            others = await self._db.statistics([(cell, None) for cell in cells if cell != keys[0]])
            kept = others + await self._db.statistics([(keys[0], owner)])
            if not caps.check(holder, kept, brought):
                conversations = brought.conversations and left_of(holder.cap.conversations, others.conversations)
                rooms.append([owner or 0, conversations, left_of(holder.cap.bytes, others.bytes)])
        return rooms

    async def write(self, scope: Scope, conversation: str, verb: Verb[T], caps: Caps) -> tuple[T, int]:
        """Commit what is decided about the end of a log; return the answer, and how many entries were made."""
        self._writers += 1
        self._idle.clear()
        try:
            where = await self._db.place(scope, conversation)
            async with self._lock(where):
                return await self._write(where, (scope, conversation, verb), caps)
        finally:
            self._writers -= 1
            if not self._writers:
                self._idle.set()

    def _lock(self, where: Place) -> asyncio.Lock:
        """Return what lets one writer of this process at a time write to a conversation: two would only collide."""
        lock = self._locks.get(where)
        if lock is None:
            if len(self._locks) >= REMEMBERED:
                self._locks = {place: lock for place, lock in self._locks.items() if lock.locked()}
            lock = self._locks[where] = asyncio.Lock()
        return lock

    async def _write(self, where: Place, asked_for: tuple[Scope, str, Verb[T]], caps: Caps) -> tuple[T, int]:
        scope, conversation, verb = asked_for
        use = key_use(scope, verb.key)
        asked = BesideEnd(key=use.name if use else None)
        cut: tuple[Decision[T], Commit] | None = None
        for attempt in range(MOST_MOVES):
            # Taken out, and put back only when it is known how the log ends.
            known = self._ends.pop(where, None) if attempt == 0 else None
            end = known or await read_end(self._db.pool, scope, conversation, where, asked)
            if cut is not None and await self._is_stored(where, end, cut[1]):
                return cut[0].answer(cut[1].entries_made), len(cut[1].entries_made)
            try:
                decision = verb.decide(end)
                if decision.record is not None:
                    commit = to_commit(where, end, decision.record, decision.rows, self._db.translator)
                    if verb.act is not None:
                        commit.add("acts", verb.act.columns)
                    if verb.brought:
                        brought = Load(bytes=sum(row.size for row in decision.rows))
                        commit.rows["rooms"] = await self.rooms(scope, where[:2], caps, brought)
                    try:
                        await self._committer.add(where.tenant, commit)
                    except StoreUnavailable as error:
                        if not is_cut(error.__cause__):
                            raise
                        cut = decision, commit
                        continue
                    self._remember(where, end, commit.end)
                    return decision.answer(commit.entries_made), len(commit.entries_made)
                if known is None:
                    return decision.answer(await self._between(where, end, decision.again)), 0
            except MissingError as missing:
                asked = missing.asked._replace(key=asked.key)
            except MovedError:
                await asyncio.sleep(random() * 0.001 * attempt)  # noqa: S311 - so that two do not meet again and again
            except StoreError:
                raise
            except ThreadkeepError:
                # What was remembered may be old: a refusal counts only if the end was just read.
                if known is None:
                    raise
        raise StoreBusy

    def _remember(self, where: Place, before: PostgresEnd, end: PostgresEnd) -> None:
        """Remember the end after a commit, unless that took a turn from an owner who may have written text since the
        end was read: text is no entry, so the commit does not notice it."""
        fences = (
            (before.open_turns[turn.number].fence, turn.fence)
            for turn in end.open_turns.values()
            if turn.number in before.open_turns
        )
        if not any(0 < fence < taken for fence, taken in fences):
            self._ends[where] = end.remembered()

    async def _is_stored(self, where: Place, end: PostgresEnd, commit: Commit) -> bool:
        """Whether a commit took place whose answer was cut off: what it stores is stored by nobody else."""
        if not commit.entries_made:
            return "chunks" in commit.rows and end.draft == commit.end.draft
        made = (commit.entries_made[0].seq, commit.entries_made[-1].seq)
        return await self._between(where, end, made) == commit.entries_made

    async def _between(self, where: Place, end: PostgresEnd, again: tuple[int, int] | None) -> tuple[Entry, ...]:
        """Return the entries that a repeated key made."""
        if again is None:
            return ()
        first, last = again
        lines = await self._db.lines("log", *where, first - 1, None, 0, last - first + 1)
        return self._db.translator.entries(end.id, (line for line in lines if line["kind"] >= 0))


Waiting = tuple[Commit, asyncio.Future[None]]


class Committer:
    """Sends commits, many at a time."""

    def __init__(self, pool: Pool) -> None:
        self._pool, self._tables = pool, _TABLES.split()
        self._waiting: dict[int, list[Waiting]] = {}
        self._flights: dict[int, set[asyncio.Task[None] | Commit]] = {}
        self._paced: dict[int, list[Waiting]] = {}
        self._next = 0.0

    async def add(self, tenant: int, commit: Commit) -> None:
        """Return when the commit is on disk; `MovedError` if the end has moved, and nothing was stored."""
        loop = asyncio.get_running_loop()
        if commit.goes_on:
            if loop.time() < self._next:
                paced = self._paced.setdefault(tenant, [])
                paced.append((commit, done := loop.create_future()))
                if len(paced) == 1:
                    loop.call_at(self._next, self._send_paced, tenant)
                await done
                return
            self._next = loop.time() + PACE_SECONDS
        if tenant not in self._flights:
            await self._send_alone(tenant, commit)
            return
        waiting = self._waiting.setdefault(tenant, [])
        waiting.append((commit, done := loop.create_future()))
        if len(waiting) == 1:
            self._start(tenant)
        await done

    def _send_paced(self, tenant: int) -> None:
        """Send the text that has come since text was sent."""
        self._next = asyncio.get_running_loop().time() + PACE_SECONDS
        paced = [each for each in self._paced.pop(tenant) if not each[1].done()]  # unless its writer has gone
        self._waiting.setdefault(tenant, []).extend(paced)
        self._flights.setdefault(tenant, set())
        self._start(tenant)

    async def _send_alone(self, tenant: int, commit: Commit) -> None:
        """Send what nobody else is to go with: without a task, which would take as long as the rules do."""
        self._flights[tenant] = {commit}
        try:
            error = await self._call(tenant, [commit])
        finally:
            self._land(tenant, commit)
        if error is not None:
            raise error

    def _start(self, tenant: int) -> None:
        """Send what waits as soon as those who are about to write have done so, if not too much is under way."""
        flights = self._flights[tenant]
        if len(flights) < FLIGHTS:
            flights.add(asyncio.create_task(self._fly(tenant)))

    def _land(self, tenant: int, flight: asyncio.Task[None] | Commit | None) -> None:
        """Make room for the next one."""
        flights = self._flights[tenant]
        flights.discard(flight)
        if self._waiting.get(tenant):
            self._start(tenant)
        elif not flights:
            del self._flights[tenant]

    async def _fly(self, tenant: int) -> None:
        waiting = self._waiting.pop(tenant, [])
        group, rest = waiting[:MOST], waiting[MOST:]
        if rest:
            self._waiting[tenant] = rest
            self._start(tenant)
        try:
            if group:
                await self._send(tenant, group)
        finally:
            for _, done in group:
                if not done.done():
                    done.set_exception(StoreUnavailable())
            self._land(tenant, asyncio.current_task())

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
        tables["rooms"] = [list(room) for room in sorted(set(map(tuple, tables.get("rooms", ()))))]
        try:
            await self._pool.write("commit", tenant, *(tables.get(table) or None for table in self._tables))
        except (MovedError, ThreadkeepError) as error:
            return error
        except Exception as error:
            # Nobody may wait for ever, whatever went wrong here.
            return StoreError(f"The commit failed: {type(error).__name__}: {error}.")
        return None


def left_of(cap: int, used: int) -> int:
    """Return what is left of a cap, where 0 is no cap."""
    return max(1, cap - used) if cap else 0


def _new_conversation(scope: Scope, name: str, new: NewConversation, now: datetime) -> Conversation:
    known = {**dict(new), "scope": scope, "id": name, "created_at": now, "updated_at": now}
    return Conversation.model_construct(**known)
