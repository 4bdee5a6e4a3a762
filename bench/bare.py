"""The raw limits to compare with: rows inserted and committed with nothing around them, as durable as our own."""

import asyncio
from pathlib import Path

import apsw
import asyncpg

from threadkeep.conversation.message import Message

_TABLE = "CREATE TABLE message (id INTEGER PRIMARY KEY, conversation TEXT, role TEXT, content TEXT)"
_INSERT = "INSERT INTO message (conversation, role, content) VALUES (?, ?, ?)"


class BareSqlite:
    """One table, one commit for each call; or, by `group`, one commit for all calls of a round of the event loop."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.db = apsw.Connection(str(path))
        self.db.execute(f"PRAGMA journal_mode = wal; PRAGMA synchronous = full; {_TABLE}").fetchall()
        self._waiting: list[tuple[tuple[Message, ...], asyncio.Future[None]]] = []

    async def insert(self, *messages: Message) -> None:
        """Insert rows and commit."""
        self.db.execute("BEGIN IMMEDIATE")
        for message in messages:
            self.db.execute(_INSERT, ("conversation", message.role, message.content))
        self.db.execute("COMMIT")

    async def group(self, *messages: Message) -> None:
        """Insert rows; they are committed together with what others insert in the same round."""
        loop = asyncio.get_running_loop()
        done = loop.create_future()
        if not self._waiting:
            loop.call_soon(self._commit)
        self._waiting.append((messages, done))
        await done

    def _commit(self) -> None:
        self.db.execute("BEGIN IMMEDIATE")
        for messages, _ in self._waiting:
            for message in messages:
                self.db.execute(_INSERT, ("conversation", message.role, message.content))
        self.db.execute("COMMIT")
        for _, done in self._waiting:
            done.set_result(None)
        self._waiting = []


class BarePostgres:
    """One table; each call is one statement, one round trip and one commit."""

    def __init__(self, connection: "asyncpg.Connection[asyncpg.Record]") -> None:
        self.connection = connection

    @classmethod
    async def open(cls, url: str) -> "BarePostgres":
        """Connect, and make the table if it is not there."""
        connection = await asyncpg.connect(url)
        await connection.execute(
            "CREATE TABLE IF NOT EXISTS bare_message "
            "(id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, conversation TEXT, role TEXT, content TEXT)"
        )
        return cls(connection)

    async def insert(self, *messages: Message) -> None:
        """Insert one or two rows with one statement."""
        rows = ", ".join(f"($1, ${2 * at + 2}, ${2 * at + 3})" for at in range(len(messages)))
        values = [value for message in messages for value in (str(message.role), message.content)]
        sql = f"INSERT INTO bare_message (conversation, role, content) VALUES {rows}"
        await self.connection.execute(sql, "conversation", *values)
