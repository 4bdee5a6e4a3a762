"""Turns: beginning, starting, taking up and extending them. The text that they write is in `chunks`."""

from datetime import timedelta
from typing import Any

from threadkeep.conversation.entry import Body
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, Turn, TurnChange, TurnState
from threadkeep.errors import ConversationBusy, StoreCorrupt
from threadkeep.store.base import Begin, Begun
from threadkeep.store.checks import check_begin
from threadkeep.store.codec import TURN, Row, decode, decode_id, encode
from threadkeep.store.postgres.database import Database
from threadkeep.store.postgres.jsonb import escape, load_text
from threadkeep.store.postgres.pool import FromNow
from threadkeep.store.postgres.rows import Place, number, optional, refusal, to_turn
from threadkeep.store.postgres.writing import REPLAYED, Log, held, named, placed

_MOVED_ON = "moved_on"


class Turns:
    """The open turns, to be read and written."""

    def __init__(self, database: Database, log: Log) -> None:
        self._db = database
        self._log = log

    async def begin(self, scope: Scope, conversation: str, begin: Begin) -> Begun:
        """Begin a turn, or queue it. How it would be queued is sent only once it is known to be needed."""
        check_begin(begin, self._db.max_bytes)
        where = await self._db.place(scope, conversation)
        try:
            return await self._begin(where, scope, conversation, begin, None)
        except ConversationBusy:
            if begin.when_busy == "reject":
                raise
        queued = TurnChange(state=TurnState.QUEUED, message=begin.message, parent=begin.parent)
        return await self._begin(where, scope, conversation, begin, queued)

    async def _begin(
        self, where: Place, scope: Scope, conversation: str, begin: Begin, queued: TurnChange | None
    ) -> Begun:
        bodies, now = _opening(begin.message), self._db.clock()
        self._db.ends.forget(where)
        row = await self._db.pool.one(
            "begin",
            *where,
            now,
            self._rows(*bodies),
            self._rows(queued)[0] if queued else None,
            begin.parent,
            optional(begin.expected_head),
            *named(scope, begin.key),
            scope.tenant,
            scope.user,
            escape(begin.owner),
            FromNow.of(begin.lease_for),
        )
        if row["refused"] == REPLAYED:
            entries = await self._log.between(where.tenant, conversation, row)
            return Begun(turn=row["first"], entries=entries, replayed=True)
        if row["refused"] is not None:
            raise refusal(row["refused"], row["number"])
        turn, stored = row["first"], bodies if row["is_running"] or not queued else (queued,)
        entries = placed(conversation, stored, turn, row["parent"], turn, now)
        lease = _lease(scope, conversation, turn, begin.owner, 1) if row["is_running"] else None
        return Begun(turn=turn, entries=entries, lease=lease)

    async def start(self, scope: Scope, conversation: str, owner: str, lease_for: timedelta) -> Begun | None:
        """Start the oldest queued turn. Its message is read first; if the turn was started meanwhile, look again."""
        where = await self._db.place(scope, conversation)
        while (queued := await self._db.ask("queued", *where[:3]))["number"] is not None:
            change = decode(Row(TURN, None, None, "", load_text(queued["parts"])))
            if not isinstance(change, TurnChange):
                raise StoreCorrupt(f"Entry {queued['number']} opened a queued turn, but does not say so.")
            begun = await self._start(where, scope, conversation, queued["number"], change, (owner, lease_for))
            if begun is not None:
                return begun
        return None

    async def _start(
        self,
        where: Place,
        scope: Scope,
        conversation: str,
        turn: int,
        change: TurnChange,
        lease: tuple[str, timedelta],
    ) -> Begun | None:
        bodies, now, (owner, lease_for) = _opening(change.message), self._db.clock(), lease
        self._db.ends.forget(where)
        row = await self._db.pool.one(
            "start", *where, now, turn, self._rows(*bodies), change.parent, escape(owner), FromNow.of(lease_for)
        )
        if row["refused"] == _MOVED_ON:
            return None
        if row["refused"] is not None:
            raise refusal(row["refused"])
        entries = placed(conversation, bodies, row["first"], row["parent"], turn, now)
        return Begun(turn=turn, entries=entries, lease=_lease(scope, conversation, turn, owner, 1))

    async def take(self, turn: Turn, owner: str, lease_for: timedelta) -> Lease:
        """Take up a turn as it was seen."""
        where = await self._db.place_of(turn)
        self._db.ends.forget(where)
        (body,) = self._rows(TurnChange(state=TurnState.RUNNING, detail="taken up"))
        seen = (number(turn.number), number(turn.fence), turn.state.value)
        await self._db.ask("take", *where, self._db.clock(), *seen, body, escape(owner), FromNow.of(lease_for))
        return _lease(turn.scope, turn.conversation, turn.number, owner, turn.fence + 1)

    async def extend(self, lease: Lease, lease_for: timedelta) -> None:
        """Keep a lease for longer."""
        where = await self._db.place_of(lease)
        await self._db.ask("extend", *where[:3], *held(lease), FromNow.of(lease_for))

    async def open_turns(self, scope: Scope, conversation: str) -> tuple[Turn, ...]:
        """Return the open turns of a conversation, oldest first."""
        where = await self._db.place(scope, conversation)
        rows = await self._db.lines("turns", *where[:3])
        return tuple(to_turn(scope, conversation, row) for row in rows)

    async def expired(self, lease_for: timedelta, limit: int) -> tuple[Turn, ...]:
        """Return running turns of all tenants whose lease has run out."""
        rows = await self._db.pool.call("expired", FromNow(), FromNow.of(2 * lease_for), limit)
        return tuple(
            to_turn(Scope(tenant=row["tenant"], user=row["user_name"]), decode_id(row["conversation"]), row)
            for row in rows
        )

    def _rows(self, *bodies: Body) -> list[tuple[Any, ...]]:
        return [self._db.translator.body(encode(body)) for body in bodies]


def _opening(message: Message | None) -> tuple[Body, ...]:
    """Return what a turn begins with: its message, if it has one, and that it runs."""
    running = TurnChange(state=TurnState.RUNNING)
    return (running,) if message is None else (message, running)


def _lease(scope: Scope, conversation: str, turn: int, owner: str, fence: int) -> Lease:
    return Lease(scope=scope, conversation=conversation, turn=turn, owner=owner, fence=fence)
