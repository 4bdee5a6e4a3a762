"""The PostgreSQL store: the rules decide what is written, commits are shared, and every read is one call, which sees
the database as of one moment."""

import asyncio
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Self, TypeVar

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.ids import IdSource, check_id
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import State, StateChange, fold
from threadkeep.conversation.tree import Run, Tree
from threadkeep.conversation.turn import Turn
from threadkeep.errors import ConversationNotFound, EntryNotFound, InvalidValue, StoreUnavailable
from threadkeep.store.audit import act_now
from threadkeep.store.caps import Caps, Load
from threadkeep.store.checks import check_new
from threadkeep.store.codec import decode_id, encode_id, microseconds
from threadkeep.store.paging import LOOKED_AT, Listing, ListQuery, Search, check_limit, hit_page
from threadkeep.store.ruled import RuledStore
from threadkeep.store.rules import Verb
from threadkeep.store.values import (
    MOST_CHARACTERS,
    MOST_ENTRIES,
    NO_ENTRIES,
    REMARKS,
    Created,
    Draft,
    HitPage,
    LogPage,
    Page,
    Related,
    Snapshot,
    Statistics,
    page_of,
)
from threadkeep_postgres.address import CONNECT_SECONDS
from threadkeep_postgres.audit import PostgresAudit
from threadkeep_postgres.cells import MOST_CELLS, OPENS_AFTER, Cells, merged
from threadkeep_postgres.database import Columns, Database, number, optional, to_conversation, to_tree, to_turn
from threadkeep_postgres.files import PostgresFiles
from threadkeep_postgres.keyring import PostgresKeyRing
from threadkeep_postgres.notes import PostgresNotes
from threadkeep_postgres.notify_channel import PostgresNotifyChannel
from threadkeep_postgres.pool import Pool
from threadkeep_postgres.replicas import pool_of
from threadkeep_postgres.schema import check
from threadkeep_postgres.search import Index, Searcher, to_filter
from threadkeep_postgres.usage import PostgresUsage
from threadkeep_postgres.writing import Log

T = TypeVar("T")

PING_SECONDS = 2.0
PURGE_STEP = 5000
"""How many entries one step of a purge removes."""
REWRITTEN = ("entry", "conversation", "chunk", "title_word", "word", "turn", "person", "api_key")
"""The tables with content or names of people."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
_FAR = datetime(9999, 12, 31, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DRAFT = -1


class PostgresStore(RuledStore):
    """Conversations in a PostgreSQL database."""

    usage: PostgresUsage

    def __init__(self, pool: Pool, clock: Clock, ids: IdSource, max_bytes: int, secret: bytes) -> None:
        super().__init__(clock, ids, max_bytes)
        self._pool = pool
        self._db = Database(pool, self.unreached, secret)
        self.keyring = PostgresKeyRing(self._db)
        self.audit = PostgresAudit(self._db, secret)
        self.files = PostgresFiles(self._db)
        self._log = Log(self._db, ids)
        self._index = Index(self._db)
        self._searcher = Searcher(self._db, self._index)
        self.notes = PostgresNotes(self._db)
        self.usage = PostgresUsage(self._db, self._index)

    @classmethod
    async def open(cls, url: str, clock: Clock, ids: IdSource, max_bytes: int) -> Self:
        """Open the database, whose schema must be current."""
        await check(url)
        pool = pool_of(url)
        try:
            return cls(pool, clock, ids, max_bytes, bytes((await pool.one("store_secret"))["value"]))
        except BaseException:
            await pool.close()
            raise

    @classmethod
    def unopened(cls, url: str, clock: Clock, ids: IdSource, max_bytes: int, secret: bytes) -> Self:
        """Return a store on a database that is away, whose secret is known from before."""
        return cls(pool_of(url), clock, ids, max_bytes, secret)

    def wait_for(self, seconds: float) -> None:
        """Take a database that does not answer within so many seconds for away."""
        self._pool.call_seconds = seconds
        self._pool.address.connect_seconds = min(seconds, CONNECT_SECONDS)

    async def close(self) -> None:
        await self._log.close()
        await self._index.close()
        await self._pool.close()

    async def release(self) -> None:
        self._log.release()
        self._db.release()

    async def ping(self) -> None:
        try:
            async with asyncio.timeout(PING_SECONDS):
                await self._pool.call("ping")
        except TimeoutError:
            raise StoreUnavailable("The database does not answer.") from None
        self._damage.check()

    def notify_channel(self) -> PostgresNotifyChannel | None:
        address = self._pool.address.notifications()
        return None if address is None else PostgresNotifyChannel(address)

    async def _write(self, scope: Scope, conversation: str, verb: Verb[T]) -> T:
        with self._damage.noted(conversation):
            answer, entries = await self._log.write(scope, conversation, verb, self.caps)
        if entries:
            self._index.note(entries)
        return answer

    # Conversations

    async def create(
        self,
        scope: Scope,
        new: NewConversation,
        *,
        key: IdempotencyKey | None = None,
        at: datetime | None = None,
        within_caps: bool = True,
    ) -> Created:
        check_new(new)
        caps = self.caps if within_caps else Caps()
        with self._damage.noted(new.id):
            return await self._log.create(scope, new, key, at or self._clock(), caps)

    async def get(self, scope: Scope, conversation: str) -> Conversation:
        return await self._db.conversation(scope, conversation)

    async def _list(self, asked: ListQuery) -> Listing:
        if isinstance(asked.whose, Scope):
            keys = await self._db.scope(asked.whose)
            return await self._listed(asked, *keys) if keys else Listing(())
        cells = [cell for cell in await self._db.keys(asked.tenant) if cell]
        return merged([await self._listed(asked, cell, None) for cell in cells])

    async def _listed(self, asked: ListQuery, *keys: int | None) -> Listing:
        """Return what one cell has of a list."""
        before, scope = _before(*asked.before), asked.whose if isinstance(asked.whose, Scope) else None
        floor = await self._pool.call("list_floor", *keys, *before, LOOKED_AT) if asked.is_filtered else ()
        reached = (microseconds(floor[0]["updated_at"]), floor[0]["key"]) if floor else None
        places = (*before, *(tuple(floor[0]) if floor else (_LONG_AGO, 0)))
        where = (to_filter(asked.where, asked.title), asked.limit)
        if scope:
            found = [(scope, row) for row in await self._pool.call("list", *keys, *places, *where)]
        else:
            rows = await self._pool.call("list_tenant", keys[0], *places, *where)
            found = [(Scope(tenant=asked.tenant, user=row["user_name"]), row) for row in rows]
        return Listing([(to_conversation(scope, row, is_listed=True), row["key"]) for scope, row in found], reached)

    async def delete(self, scope: Scope, conversation: str, *, expected_entries: int | None = None) -> None:
        place = await self._db.place(scope, conversation)
        self._log.forget(place)
        await self._index.catch_up(*place[:2])  # what is deleted is not counted any more
        act = self._act(scope, conversation, "deleted").columns
        await self._db.ask("hide", *place, expected_entries, act)

    async def restore(self, scope: Scope, conversation: str, *, within_caps: bool = False) -> Conversation:
        place = await self._db.place(scope, conversation)
        self._log.forget(place)
        act = self._act(scope, conversation, "restored").columns
        rooms = await self._log.rooms(scope, place[:2], self.caps, Load(1)) if within_caps else None
        return to_conversation(scope, await self._db.ask("restore", *place, act, rooms or None))

    async def purge(self, kept_for: timedelta, *, owner: Scope | None = None) -> int:
        if owner is None:
            emptied = await self._db.each_tenant("purging", lambda tenant: self._empty(tenant, kept_for, None))
        else:
            tenant, person = await self._db.scope(owner) or (0, 0)
            emptied = [await self._empty(tenant, kept_for, person)]
            await self._pool.call("forget_person", tenant, person, True)
        if owner is None and not any(conversations for _, conversations in emptied):
            return 0
        if not await self._db.rewrite(*REWRITTEN):
            return 0
        return sum([len(await self._pool.call("forget_removals", *each)) for each in emptied])

    async def _empty(self, tenant: int, kept_for: timedelta, owner: int | None) -> tuple[int, list[int]]:
        """Remove what a tenant, or one user, deleted that long ago; return what is to be written over, too."""
        while (found := (await self._pool.one("next_removal", tenant, kept_for, owner))["conversation"]) is not None:
            first = 0
            while (await self._pool.one("purge", tenant, found, first, first + PURGE_STEP))["is_left"]:
                first += PURGE_STEP
        return tenant, [row["conversation"] for row in await self._pool.call("emptied", tenant)]

    async def snapshot(self, scope: Scope, conversation: str, page: Page = NO_ENTRIES) -> Snapshot:
        page.check()
        head = page.head
        if head is None and page.around is not None:
            head = (await self._tree(scope, conversation)).branch_with(page.around)
        asked = (optional(head), optional(page.before), optional(page.around), page.messages)
        place = await self._db.place(scope, conversation)
        row = await self._db.ask("snapshot", *place, *asked, MOST_ENTRIES, MOST_CHARACTERS, REMARKS)
        entries = partial(self._db.translator.entries, conversation)
        shown = entries(reversed(row["page"])) + entries(row["later"] or ())
        states = (entry.body for entry in entries(row["states"] or ()))
        return Snapshot(
            conversation=to_conversation(scope, row),
            branch=row["branch"] or None,
            entries=shown if page.around else page_of(reversed(shown), page.messages),
            feedback=entries(row["feedback"] or ()),
            state=fold(body for body in states if isinstance(body, StateChange)),
            remarks=entries(row["remarks"] or ()),
            tree=to_tree(row["head"], row["newest"], row["jumps"]),
            turns=tuple(to_turn(scope, conversation, turn) for turn in row["turns"]),
            draft=_draft(row["draft"][0], 0) if row["draft"] else None,
        )

    # The log and its tree

    async def _tree(self, scope: Scope, conversation: str) -> Tree:
        row = (await self._db.here("tree", scope, conversation))[0]
        return to_tree(row["head"], row["newest"], row["jumps"])

    async def entry(self, scope: Scope, conversation: str, seq: int) -> Entry:
        (line,) = await self._db.here("entries_at", scope, conversation, [number(seq)])
        if line["seq"] is None:
            raise EntryNotFound
        return self._db.translator.entries(conversation, (line,))[0]

    async def newest(
        self, scope: Scope, conversation: str, *, limit: int = 20, head: int | None = None, before: int | None = None
    ) -> tuple[Entry, ...]:
        asked = (optional(head), optional(before), check_limit(limit))
        return (await self._entries("newest", scope, conversation, *asked))[::-1]

    async def after(
        self, scope: Scope, conversation: str, seq: int, *, limit: int = 20, head: int | None = None
    ) -> tuple[Entry, ...]:
        return await self._entries("after", scope, conversation, number(seq), optional(head), check_limit(limit))

    async def _entries(self, verb: str, scope: Scope, conversation: str, *arguments: int | None) -> tuple[Entry, ...]:
        lines = await self._db.lines(verb, *await self._db.place(scope, conversation), *arguments)
        return self._db.translator.entries(conversation, lines)

    async def count(self, scope: Scope, conversation: str, *, head: int | None = None) -> int:
        place = await self._db.place(scope, conversation)
        row = await self._db.ask("count", *place, optional(head))
        return int(row["messages"])

    async def log(self, scope: Scope, conversation: str, after: Cursor, *, limit: int = 100) -> LogPage:
        check_limit(limit)
        place = await self._db.place(scope, conversation)
        message = None if after.message is None else encode_id(after.message)
        lines = await self._db.lines("log", *place, after.seq, message, after.offset, limit)
        draft = None
        if lines and lines[-1]["kind"] == _DRAFT:
            line = lines.pop()
            draft = _draft(line, after.offset if line["id"] == message else 0)
        return LogPage(entries=self._db.translator.entries(conversation, lines), draft=draft)

    async def state(self, scope: Scope, conversation: str, *, at: int | None = None) -> State:
        return (await self.snapshot(scope, conversation, Page(head=at))).state

    async def summary(self, scope: Scope, conversation: str, *, head: int | None = None) -> Entry | None:
        entries = await self._entries("summary", scope, conversation, optional(head))
        return entries[0] if entries else None

    # Turns

    async def turns(self, scope: Scope, conversation: str) -> tuple[Turn, ...]:
        rows = await self._db.here("turns", scope, conversation)
        return tuple(to_turn(scope, conversation, row) for row in rows if row["number"])

    async def expired(self, lease_for: timedelta, *, limit: int = 100) -> tuple[Turn, ...]:
        check_limit(limit)
        found = await self._db.each_tenant(
            "recovery", lambda tenant: self._pool.call("expired", tenant, lease_for, limit), lease_for
        )
        rows = sorted((row for rows in found for row in rows), key=lambda row: row["until"] or _FAR)
        return tuple(
            to_turn(Scope(tenant=row["tenant"], user=row["user_name"]), decode_id(row["conversation"]), row)
            for row in rows[:limit]
        )

    # Across conversations

    async def _search(self, asked: Search) -> HitPage:
        return hit_page(asked, await self._searcher.search(asked))

    async def _related(
        self, scope: Scope, conversation: str, words: Sequence[Sequence[str]], path: Sequence[Run], limit: int
    ) -> list[Related]:
        return await self._searcher.related(scope, conversation, words, path, limit)

    async def statistics(self, tenant: str, *, user: str | None = None, conversation: str | None = None) -> Statistics:
        only = None if conversation is None else encode_id(conversation)
        return await self._db.statistics(await self._db.whose(check_id(tenant), user), only)

    async def users(self, tenant: str) -> tuple[str, ...]:
        return tuple(sorted(row["name"] for row in await self._db.each_cell("users", check_id(tenant))))

    async def owner(self, tenant: str, conversation: str) -> Scope:
        rows = await self._db.each_cell("owner_of", check_id(tenant), encode_id(check_id(conversation)))
        if not rows:
            raise ConversationNotFound
        return Scope(tenant=tenant, user=rows[0]["name"])

    async def cells(self, tenant: str, most: int = 1) -> Cells:
        """Return the cells of a tenant, made if it has fewer; those that are new open a minute later, so that every
        server knows of them by then."""
        if not 1 <= most <= MOST_CELLS:
            raise InvalidValue(f"A tenant has 1 to {MOST_CELLS} cells.")
        made = await self._pool.call("widen", check_id(tenant), most, OPENS_AFTER)
        if made:
            act = act_now(self._clock, "tenant.widened", f"tenant:{tenant}", cells=most)
            await self.audit.append(tenant, act)
        self._db.forget_cells(tenant)
        cells = await self._db.cells(tenant)
        if cells is None:
            raise InvalidValue(f"There is no tenant {tenant}.")
        return cells

    async def tenants(self) -> tuple[str, ...]:
        return await self._db.tenants()


def _draft(line: Columns, offset: int) -> Draft:
    """Return the text being written from a character on; the line may begin before it."""
    text = (line["content"] or b"").decode()[offset - (line["seq"] or 0) :]
    return Draft(
        message=decode_id(line["id"]),
        turn=line["turn"],
        started_at=line["created_at"],
        offset=offset,
        text=text if line["content"] else "",
    )


def _before(activity: int, key: int) -> tuple[datetime, int]:
    """Return the activity as a moment that the database knows."""
    return min(_FAR, _EPOCH + timedelta(microseconds=min(activity, (_FAR - _EPOCH) // _MICROSECOND))), key
