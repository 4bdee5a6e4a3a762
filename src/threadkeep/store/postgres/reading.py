"""Reading conversations and their logs. Each verb is one call, and sees the database as of one moment."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import State, StateChange, fold
from threadkeep.conversation.tree import Tree
from threadkeep.conversation.turn import Turn
from threadkeep.errors import ConversationNotFound
from threadkeep.store.base import Draft, LogPage, Statistics
from threadkeep.store.codec import decode_id, encode_id
from threadkeep.store.paging import Listed, ListQuery
from threadkeep.store.postgres.database import Database
from threadkeep.store.postgres.pool import FromNow
from threadkeep.store.postgres.rows import number, optional, to_conversation, to_tree, to_turn

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FAR = datetime(9999, 12, 31, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_DRAFT = -1


class Reader:
    """Reads through a database."""

    def __init__(self, database: Database) -> None:
        self._db = database

    async def conversation(self, scope: Scope, conversation: str) -> Conversation:
        """Return a conversation as it is now."""
        place = await self._db.place(scope, conversation)
        rows = await self._db.pool.call("get", *place)
        if not rows:
            raise ConversationNotFound
        return to_conversation(scope, rows[0])

    async def list(self, asked: ListQuery) -> Sequence[Listed]:
        """Return the conversations that a list asks for."""
        before = _before(*asked.before)
        if isinstance(asked.whose, str):
            rows = await self._db.pool.call("list_tenant", asked.whose, *before, asked.limit)
            found = [(Scope(tenant=asked.whose, user=row["user_name"]), row["now"]) for row in rows]
        else:
            keys = await self._db.scope(asked.whose)
            if keys is None:
                return []
            rows = await self._db.pool.call("list", *keys, *before, asked.assistant, asked.status, asked.limit)
            found = [(asked.whose, row) for row in rows]
        return [(to_conversation(scope, row, is_listed=True), row["key"]) for scope, row in found]

    async def users(self, tenant: str) -> tuple[str, ...]:
        """Return the names of those who have a conversation."""
        return tuple(row["name"] for row in await self._db.pool.call("users", tenant))

    async def tenants(self) -> tuple[str, ...]:
        """Return the names of all tenants."""
        return tuple(row["name"] for row in await self._db.pool.call("tenants"))

    async def tree(self, scope: Scope, conversation: str) -> Tree:
        """Return the shape of the tree."""
        place = await self._db.place(scope, conversation)
        row = await self._db.ask("tree", *place)
        return to_tree(row["head"], row["newest"], row["jumps"])

    async def entry(self, scope: Scope, conversation: str, seq: int) -> Entry:
        """Return one entry."""
        (entry,) = await self._entries("entry_at", scope, conversation, number(seq))
        return entry

    async def newest(
        self, scope: Scope, conversation: str, head: int | None, before: int | None, limit: int
    ) -> tuple[Entry, ...]:
        """Return the newest entries of a branch, or those before an entry of it, oldest first."""
        entries = await self._entries("newest", scope, conversation, optional(head), optional(before), limit)
        return entries[::-1]

    async def after(self, scope: Scope, conversation: str, seq: int, head: int | None, limit: int) -> tuple[Entry, ...]:
        """Return what follows an entry on a branch, oldest first."""
        return await self._entries("after", scope, conversation, number(seq), optional(head), limit)

    async def count(self, scope: Scope, conversation: str, head: int | None, after: int) -> int:
        """Return how many messages follow an entry on a branch."""
        place = await self._db.place(scope, conversation)
        row = await self._db.ask("count", *place, optional(head), number(after))
        return int(row["messages"])

    async def state(self, scope: Scope, conversation: str, at: int | None) -> State:
        """Return the state as of an entry."""
        entries = await self._entries("state", scope, conversation, optional(at))
        return fold(entry.body for entry in entries if isinstance(entry.body, StateChange))

    async def summary(self, scope: Scope, conversation: str, head: int | None) -> Entry | None:
        """Return the newest summary of a branch."""
        entries = await self._entries("summary", scope, conversation, optional(head))
        return entries[0] if entries else None

    async def log(self, scope: Scope, conversation: str, after: Cursor, limit: int) -> LogPage:
        """Return what the log holds after a cursor."""
        place = await self._db.place(scope, conversation)
        message = None if after.message is None else encode_id(after.message)
        lines = await self._db.lines("log", *place, after.seq, message, after.offset, limit)
        draft = None
        if lines and lines[-1]["kind"] == _DRAFT:
            line = lines.pop()
            offset = after.offset if line["id"] == message else 0
            text = (line["content"] or b"").decode()[offset - (line["seq"] or 0) :]
            draft = Draft(
                message=decode_id(line["id"]),
                turn=line["turn"],
                started_at=line["created_at"],
                offset=offset,
                text=text if line["content"] else "",
            )
        return LogPage(entries=tuple(self._db.translator.entry(conversation, line) for line in lines), draft=draft)

    async def statistics(self, tenant: str, user: str | None) -> Statistics:
        """Return how much is stored."""
        row = await self._db.pool.one("statistics", tenant, user)
        return Statistics(conversations=row["conversations"], entries=row["entries"], bytes=row["bytes"])

    async def turns(self, scope: Scope, conversation: str) -> tuple[Turn, ...]:
        """Return the open turns of a conversation, oldest first."""
        place = await self._db.place(scope, conversation)
        return tuple(to_turn(scope, conversation, row) for row in await self._db.lines("turns", *place))

    async def expired(self, lease_for: timedelta, limit: int) -> tuple[Turn, ...]:
        """Return the turns of all tenants that nobody sees to."""
        rows = await self._db.pool.call("expired", FromNow(), FromNow.of(2 * lease_for), limit)
        return tuple(
            to_turn(Scope(tenant=row["tenant"], user=row["user_name"]), decode_id(row["conversation"]), row)
            for row in rows
        )

    async def _entries(self, verb: str, scope: Scope, conversation: str, *arguments: int | None) -> tuple[Entry, ...]:
        place = await self._db.place(scope, conversation)
        lines = await self._db.lines(verb, *place, *arguments)
        return tuple(self._db.translator.entry(conversation, line) for line in lines)


def _before(activity: int, key: int) -> tuple[datetime, int]:
    """Return the activity as a moment that the database knows."""
    return min(_FAR, _EPOCH + timedelta(microseconds=min(activity, (_FAR - _EPOCH) // _MICROSECOND))), key
