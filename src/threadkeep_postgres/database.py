"""The database as the rest of this folder uses it: calls, the keys of scopes, refusals as errors, rows as values."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from datetime import timedelta
from time import monotonic
from typing import Any, NamedTuple, Protocol, TypeVar

import asyncpg

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import MAX_SEQ
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.facts import ConversationFacts
from threadkeep.conversation.ids import check_id
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.tree import Jump, Tree
from threadkeep.conversation.turn import Turn, TurnState
from threadkeep.errors import (
    AlreadyExists,
    ConversationBusy,
    ConversationNotFound,
    EntryNotFound,
    InvalidCursor,
    StorageFull,
    StoreBusy,
    StoreError,
)
from threadkeep.store.codec import (
    Packer,
    Row,
    decode_all,
    decode_entries,
    decode_facts,
    decode_id,
    encode_facts,
    encode_id,
)
from threadkeep.store.unreached import Unreached
from threadkeep.store.values import Statistics
from threadkeep_postgres.cells import KNOWN_FOR, Cells, pseudonym
from threadkeep_postgres.jsonb import dump_fields, dump_text, load, load_text, restore
from threadkeep_postgres.pool import ATTEMPTS, Pool

T = TypeVar("T")
K = TypeVar("K")

REMEMBERED = 10_000
"""How much is remembered of each kind."""
REWRITTEN_BYTES = 256 * 1024 * 1024
"""How large a table may be that is written anew after a purge, while all others wait."""
REFUSALS = {
    kind.code: kind
    for kind in (AlreadyExists, ConversationBusy, ConversationNotFound, EntryNotFound, InvalidCursor, StorageFull)
}
"""What a function may answer instead of a row."""


class Columns(Protocol):
    """A row by the names of its columns."""

    def __getitem__(self, name: str, /) -> Any:
        """Return one column."""


class Place(NamedTuple):
    """Where a conversation is looked for: the keys of tenant and owner, and its id."""

    tenant: int
    owner: int
    id: bytes


def number(seq: int) -> int:
    """Return a number that the database can take; one that can be no entry becomes -1, which is none either."""
    return seq if 0 <= seq <= MAX_SEQ else -1


def optional(seq: int | None) -> int | None:
    """Return a number that the database can take, if there is one."""
    return None if seq is None else number(seq)


class Remembered(dict[K, T]):
    """What was read and may be read again. When there is too much of it, all is forgotten."""

    def __setitem__(self, key: K, value: T) -> None:
        if len(self) >= REMEMBERED:
            self.clear()
        super().__setitem__(key, value)


class Translator:
    """Turns rows into values and bodies into rows. Not safe for use by two threads at once, like its packer."""

    def __init__(self) -> None:
        self._packer = Packer()

    def packed(self, row: Row) -> tuple[bytes | None, str | None]:
        """Return content and parts of a body as the database keeps them."""
        return self._packer.pack(row.content), dump_text(row.parts)

    def row(self, line: Columns) -> Row:
        """Return the columns of a body."""
        content = self._packer.unpack(line["content"])
        return Row(line["kind"], line["id"], line["tokens"], content, load_text(line["parts"]))

    def entries(self, conversation: str, lines: Iterable[asyncpg.Record]) -> tuple[Entry, ...]:
        """Return the entries of a conversation from rows that end with the columns of a line. This is most of what
        Python does in a restore."""
        columns = list(zip(*lines, strict=True))
        if not columns:
            return ()
        *_, seqs, parents, kinds, turns, moments, ids, tokens, contents, parts = columns
        texts = zip(kinds, ids, tokens, self._packer.unpack_all(contents), map(load_text, parts), strict=True)
        places = zip(seqs, parents, turns, moments, decode_all(texts), strict=True)
        return tuple(decode_entries(conversation, places))


class Database:
    """A pool, and the keys of tenants' cells, users and conversations."""

    def __init__(self, pool: Pool, unreached: Unreached, secret: bytes) -> None:
        self.pool = pool
        self._secret = secret
        self.unreached = unreached
        self.translator = Translator()
        self._tenants: Remembered[str, tuple[Cells, float]] = Remembered()
        self._scopes: Remembered[Scope, tuple[int, int]] = Remembered()
        self._places: Remembered[tuple[str, str, str], Place] = Remembered()

    async def cells(self, tenant: str, *, make: bool = False) -> Cells | None:
        """Return the cells of a tenant; none if there is no such tenant and none is made."""
        cells, read_at = self._tenants.get(tenant, (None, 0.0))
        if cells is None or read_at + KNOWN_FOR < monotonic():
            if cells is None and make:
                await self.pool.call("make_tenant", tenant)
            asked_at = monotonic()
            found = await self.pool.call("cells", tenant)
            if not found:
                return None
            keys, opens, times = zip(*found, strict=True)
            cells, _ = self._tenants[tenant] = Cells(keys, opens, times[0]), asked_at
        return cells

    def forget_cells(self, tenant: str) -> None:
        """Read the cells of a tenant anew when they are needed."""
        self._tenants.pop(tenant, None)

    async def keys(self, tenant: str) -> tuple[int, ...]:
        """Return the keys of all cells of a tenant; 0, which is nobody's, if there is none."""
        cells = await self.cells(tenant)
        return (0,) if cells is None else cells.keys

    async def tenant(self, name: str, *, make: bool = False) -> int:
        """Return the key of a tenant's home, which never changes; 0 if there is no such tenant and none is made."""
        cells = await self.cells(name, make=make)
        return 0 if cells is None else cells.keys[0]

    async def scope(self, scope: Scope) -> tuple[int, int] | None:
        """Return the keys of cell and user, if they ever stored something. They never change."""
        known = self._scopes.get(scope)
        if known is None and (cells := await self.cells(scope.tenant)):
            for cell in cells.may_have(scope.user):
                unnamed = pseudonym(self._secret, cell, scope.user)
                if found := await self.pool.call("find_person", cell, scope.user, unnamed):
                    known = self._scopes[scope] = (cell, found[0]["owner"])
                    break
        return known

    async def whose(self, tenant: str, user: str | None) -> list[tuple[int, int | None]]:
        """Return the keys of a tenant's cells or, if one is named, of a user; 0 for who never stored anything."""
        if user is None:
            return [(cell, None) for cell in await self.keys(tenant)]
        return [await self.scope(Scope(tenant=tenant, user=user)) or (0, 0)]

    async def enter(self, scope: Scope) -> tuple[int, int]:
        """Return the keys of cell and user, made when they first store something."""
        for _ in range(ATTEMPTS):
            if (known := await self.scope(scope)) is not None:
                return known
            cells = await self.cells(scope.tenant, make=True)
            if cells is not None:
                drawn, cell = (await self.pool.one("draw_key"))[0], cells.home_of(scope.user)
                entered = await self.pool.one("enter_person", cell, scope.user, drawn, cells.until)
                if entered["owner"] is not None:
                    known = self._scopes[scope] = (cell, entered["owner"])
                    return known
            # What was known is too old to go by.
            self.forget_cells(scope.tenant)
        raise StoreBusy

    async def each_cell(self, verb: str, tenant: str, *arguments: Any) -> list[asyncpg.Record]:
        """Return what all cells of a tenant answer, one after the other."""
        return [row for cell in await self.keys(tenant) for row in await self.pool.call(verb, cell, *arguments)]

    async def tenants(self) -> tuple[str, ...]:
        """Return the names of all tenants."""
        return tuple(dict.fromkeys(row["name"] for row in await self.pool.call("tenants", None, None)))

    async def statistics(self, keys: Sequence[tuple[int, int | None]], id: bytes | None = None) -> Statistics:
        """Return how much cells or users have stored, together."""
        return sum([Statistics(**dict(await self.pool.one("statistics", *each, id))) for each in keys], Statistics())

    async def each_tenant(
        self, job: str, work: Callable[[int], Awaitable[T]], lease_for: timedelta | None = None
    ) -> list[T]:
        """Do a background job for one tenant after the other for whom it has something to do."""
        try:
            rows = await self.pool.call("tenants", job, lease_for)
            self.unreached.keep(job, {row["name"] for row in rows})
        except StoreError:
            # One of several machines may be away. If it is all of the database, this fails too.
            rows = await self.pool.call("tenants", None, None)
        return await self.unreached.each(job, rows, lambda row: work(row["key"]), lambda row: str(row["name"]))

    async def rewrite(self, *tables: str) -> bool:
        """Write tables without what was removed; False if one is used without a pause: a later call tries again."""
        try:
            for table in tables:
                await self.pool.call("rewrite", table, REWRITTEN_BYTES)
        except StoreBusy:
            return False
        return True

    def release(self) -> None:
        """Remember no conversations."""
        self._places.clear()

    async def place(self, scope: Scope, conversation: str) -> Place:
        """Return where a conversation would be; whether it exists is seen by whoever looks there."""
        names = (scope.tenant, scope.user, conversation)
        place = self._places.get(names)
        if place is None:
            check_id(conversation)
            keys = await self.scope(scope)
            if keys is None:
                raise ConversationNotFound
            place = self._places[names] = Place(*keys, encode_id(conversation))
        return place

    async def conversation(self, scope: Scope, conversation: str) -> Conversation:
        """Return a conversation as it is now."""
        return to_conversation(scope, (await self.here("get", scope, conversation))[0])

    async def here(self, verb: str, scope: Scope, conversation: str, *arguments: Any) -> list[asyncpg.Record]:
        """Ask for what is in a conversation; no row means that there is none."""
        rows = await self.pool.call(verb, *await self.place(scope, conversation), *arguments)
        if not rows:
            raise ConversationNotFound
        return rows

    async def ask(self, verb: str, *arguments: Any) -> asyncpg.Record:
        """Call a function that returns one row, and raise what it refuses."""
        return (await self.lines(verb, *arguments))[0]

    async def lines(self, verb: str, *arguments: Any) -> list[asyncpg.Record]:
        """Call a function that returns rows, and raise what it refuses."""
        rows = await self.pool.call(verb, *arguments)
        if rows and (refused := rows[0]["refused"]) is not None:
            raise REFUSALS[refused]
        return rows


def to_facts(row: Columns, *, is_listed: bool = False) -> dict[str, Any]:
    """Return what a row tells of a conversation beside its log."""
    return decode_facts(load(row["facts"]), {} if is_listed or not row["large"] else load(row["large"]))


def facts_columns(facts: ConversationFacts) -> tuple[str, str | None]:
    """Return the columns that hold what is known of a conversation."""
    listed, large = encode_facts(facts)
    return dump_fields(listed), dump_fields(large) if large else None


def to_conversation(scope: Scope, row: Columns, *, is_listed: bool = False) -> Conversation:
    """Return a conversation as it is now, or as a list shows it."""
    return Conversation.trusted(
        **to_facts(row, is_listed=is_listed),
        incomplete=False,
        scope=scope,
        id=decode_id(row["id"]),
        version=row["version"],
        head=row["head"] or None,
        entries=row["last"],
        created_at=row["created_at"],
        updated_at=row["updated_at"],
    )


def to_text(text: str | None) -> str | None:
    """Return text as it was before it was kept in a column."""
    return None if text is None else restore(text)


def to_tree(head: int, newest: int, jumps: list[int] | None) -> Tree:
    """Return a tree from four numbers for each jump."""
    fours = zip(*[iter(jumps or ())] * 4, strict=True)
    return Tree.trusted(
        jumps=tuple(Jump.trusted(first=a, parent=b, left=c, beside=d) for a, b, c, d in fours),
        newest=newest,
        head=head,
    )


def to_turn(scope: Scope, conversation: str, row: Columns) -> Turn:
    """Return an open turn."""
    return Turn.trusted(scope=scope, conversation=conversation, **turn_columns(row))


def turn_columns(row: Columns) -> dict[str, Any]:
    """Return what the row of an open turn says of it."""
    columns = {name: row[name] for name in ("number", "fence", "until")}
    return {**columns, "state": TurnState(row["state"]), "owner": to_text(row["owner"])}
