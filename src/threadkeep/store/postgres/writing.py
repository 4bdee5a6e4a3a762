"""Writing conversations and their logs: what the functions of the database need to know, in one call each."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.entry import Body, Entry, HeadChoice, Update
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.ids import IdSource
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease
from threadkeep.store.base import Append, Appended, Created
from threadkeep.store.checks import check_append, encode_within
from threadkeep.store.codec import STATE, Row, decode_id, encode, encode_id
from threadkeep.store.placement import Tip, milestones, place, stamper
from threadkeep.store.postgres.database import Database
from threadkeep.store.postgres.ends import End
from threadkeep.store.postgres.jsonb import dump, escape
from threadkeep.store.postgres.reading import Reader
from threadkeep.store.postgres.rows import Place, number, optional, refusal, to_conversation

REPLAYED = "replayed"


class Log:
    """The log, to be written."""

    def __init__(self, database: Database, reader: Reader, ids: IdSource) -> None:
        self._db = database
        self._reader = reader
        self._ids = ids

    async def create(self, scope: Scope, new: NewConversation, key: IdempotencyKey | None) -> Created:
        """Create a conversation, or find it by its key."""
        name, now = new.id or self._ids(), self._db.clock()
        row = await self._db.pool.one(
            "create_conversation",
            *await self._db.enter(scope),
            encode_id(name),
            now,
            *named(scope, key),
            new.assistant,
            *(escaped(text) for text in (new.title, new.model)),
            dump(new.metadata) if new.metadata else None,
            escaped(new.system),
        )
        if row["refused"] == REPLAYED:
            return Created(conversation=await self._reader.conversation(scope, decode_id(row["id"])), replayed=True)
        if row["refused"] is not None:
            raise refusal(row["refused"])
        return Created(conversation=_new_conversation(scope, name, new, now))

    async def update(
        self, scope: Scope, conversation: str, change: Update, expected_version: int | None
    ) -> Conversation:
        """Change a conversation as a whole."""
        place = await self._db.place(scope, conversation)
        self._db.ends.forget(place)
        row = await self._db.ask(
            "update_conversation",
            *place,
            self._db.clock(),
            optional(expected_version),
            self._db.translator.body(encode_within(change, self._db.max_bytes)),
            escaped(change.title),
            None if change.metadata is None else dump(change.metadata),
            change.status,
            change.archived,
            escaped(change.model),
        )
        return to_conversation(scope, row["now"])

    async def choose_head(
        self, scope: Scope, conversation: str, head: int, expected_version: int | None
    ) -> Conversation:
        """Make another entry the head."""
        place = await self._db.place(scope, conversation)
        self._db.ends.forget(place)
        body = self._db.translator.body(encode(HeadChoice()))
        row = await self._db.ask(
            "choose_head", *place, self._db.clock(), optional(expected_version), body, number(head)
        )
        return to_conversation(scope, row["now"])

    async def append(self, scope: Scope, conversation: str, append: Append) -> Appended:
        """Append entries: in the plain way if that can be, else by the function that knows all cases."""
        rows = check_append(append, self._db.max_bytes)
        where, now = await self._db.place(scope, conversation), self._db.clock()
        end = self._db.ends.get(where)
        if end is not None and _is_plain(append, rows, end) and await self._append_plainly(where, end, rows, now):
            return Appended(entries=_continued(conversation, append.bodies, end, now))
        bodies: tuple[Body, ...] = append.bodies
        if append.settle is not None:
            rows, bodies = [*rows, encode(append.settle)], (*bodies, append.settle)
        row = await self._db.pool.one(
            "append",
            *where,
            now,
            [self._db.translator.body(row) for row in rows],
            append.parent,
            optional(append.expected_head),
            optional(append.expected_version),
            *named(scope, append.key),
            *leased(append.lease, scope, conversation),
            append.settle and append.settle.state.value,
        )
        if row["refused"] == REPLAYED:
            return Appended(entries=await self.between(where.tenant, conversation, row), replayed=True)
        if row["refused"] is not None:
            raise refusal(row["refused"], row["number"])
        self._db.ends.set(where, End(*(row[name] for name in End._fields)))
        turn = append.lease.turn if append.lease else None
        return Appended(entries=placed(conversation, bodies, row["first"], row["parent"], turn, now))

    async def _append_plainly(self, where: Place, end: End, rows: Sequence[Row], now: datetime) -> bool:
        """Append one or two messages behind the end that is remembered; return whether that was still the end."""
        key, last, _, newest, total = end
        arguments: list[Any] = [where.tenant, where.owner, key, last, newest, now]
        for row in rows:
            *message, size, _ = self._db.translator.body(row)
            total += size
            arguments += (*message, total)
        if not await self._db.pool.append_plainly(len(rows), arguments):
            return False
        last += len(rows)
        self._db.ends.set(where, End(key, last, last, last, total))
        return True

    async def between(self, tenant: int, conversation: str, row: Any) -> tuple[Entry, ...]:
        """Return the entries that a repeated key made: those from `first` to `number`."""
        lines = await self._db.pool.call("entries_between", tenant, row["conversation"], row["first"], row["number"])
        return tuple(self._db.translator.entry(conversation, line) for line in lines)


def _is_plain(append: Append, rows: Sequence[Row], end: End) -> bool:
    """Whether nothing is asked but to add one or two messages at the end of the newest branch, short of a milestone."""
    return (
        len(rows) <= 2
        and append.key is None
        and append.lease is None
        and append.expected_version is None
        and append.parent in (None, end.head)
        and append.expected_head in (None, end.head)
        and end.head == end.newest
        and all(row.kind < STATE for row in rows)
        and not milestones(end.last, end.last + len(rows))
    )


def _continued(conversation: str, bodies: Sequence[Body], end: End, now: datetime) -> tuple[Entry, ...]:
    """Return messages as entries that continue the newest branch."""
    entries, parent, seq = [], end.newest or None, end.last
    for body in bodies:
        seq += 1
        entries.append(
            Entry.trusted(conversation=conversation, seq=seq, parent=parent, turn=None, created_at=now, body=body)
        )
        parent = seq
    return tuple(entries)


def placed(
    conversation: str, bodies: Sequence[Body], first: int, parent: int, turn: int | None, now: datetime
) -> tuple[Entry, ...]:
    """Return the entries as the database has placed them."""
    tip = Tip(first - 1, parent, parent)
    return place(tip, bodies, parent, stamper(conversation, turn, now), lambda _: 0).entries


def named(scope: Scope, key: IdempotencyKey | None) -> tuple[bytes | None, bytes | None]:
    """Return name and digest of a key."""
    return (None, None) if key is None else (key.name(scope), key.digest)


def leased(lease: Lease | None, scope: Scope, conversation: str) -> tuple[int | None, int | None, str | None]:
    """Return turn, fence and holder of a lease; a lease for another conversation is none of any turn."""
    if lease is None:
        return None, None, None
    turn, fence, holder = held(lease)
    return turn if (lease.scope, lease.conversation) == (scope, conversation) else -1, fence, holder


def held(lease: Lease) -> tuple[int, int, str]:
    """Return turn, fence and holder of a lease."""
    return number(lease.turn), number(lease.fence), escape(lease.owner)


def escaped(text: str | None) -> str | None:
    """Return text that a column can keep."""
    return None if text is None else escape(text)


def _new_conversation(scope: Scope, name: str, new: NewConversation, now: datetime) -> Conversation:
    return Conversation.model_construct(
        scope=scope,
        id=name,
        assistant=new.assistant,
        title=new.title,
        system=new.system,
        model=new.model,
        metadata=new.metadata,
        created_at=now,
        updated_at=now,
    )
