"""Conversations in the tables of other programs, in SQLite and PostgreSQL: LangGraph checkpoints, sessions of the
OpenAI Agents SDK, LangChain message tables, Open WebUI, and tables that keep `{"messages": [...]}` as JSON (R-A5).

Tables are known by their columns. Sessions are read one after the other, only ever reading.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, closing
from hashlib import blake2b
from pathlib import Path
from typing import Any

import apsw

from threadkeep.errors import ImportDamaged, InvalidImport, InvalidInput, StoreUnavailable, TooDeep, UnknownFormat
from threadkeep.transfer.portable import ImportProblem, Portable
from threadkeep_importers.builder import Foreign, Node, built, moment
from threadkeep_importers.foreign import foreign, said
from threadkeep_importers.msgpack import unpack

Row = Mapping[str, Any]
Item = tuple[str, Foreign | Exception]
LISTED = 500
_IDS = ("session_id", "conversation_id", "thread_id", "id", "key", "name")
_OURS = {"conversation", "entry", "jump", "caught_up"}


class Database(ABC):
    """A database that is only read."""

    @abstractmethod
    async def fetch(self, sql: str, *arguments: Any) -> list[Row]:
        """Return the rows of a query; its places are $1, $2 and so on."""

    @abstractmethod
    async def tables(self) -> dict[str, list[str]]:
        """Return the columns of every table."""


class SqliteFile(Database):
    """An SQLite file."""

    def __init__(self, path: Path) -> None:
        try:
            self._db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
            self._db.execute("PRAGMA trusted_schema = OFF")
            found = self._db.execute("PRAGMA quick_check(1)").get
        except (apsw.Error, UnicodeDecodeError) as error:
            raise ImportDamaged(f"The database cannot be read: {error}.") from None
        if found != "ok":  # rows would be missing without a word
            raise ImportDamaged(f"The database is damaged: {found}.")

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    async def fetch(self, sql: str, *arguments: Any) -> list[Row]:
        try:
            cursor = self._db.execute(sql, {str(number): value for number, value in enumerate(arguments, 1)})
            names: list[str] = []
            rows: list[Row] = []
            for row in cursor:
                names = names or [column[0] for column in cursor.get_description()]
                rows.append(dict(zip(names, row, strict=True)))
        except (apsw.Error, UnicodeDecodeError) as error:
            raise ImportDamaged(f"The database cannot be read: {error}.") from None
        return rows

    async def tables(self) -> dict[str, list[str]]:
        return _by_table(
            await self.fetch(
                "SELECT m.name AS name, p.name AS field FROM sqlite_master m JOIN pragma_table_info(m.name) p "
                "WHERE m.type = 'table' AND m.sql NOT LIKE 'CREATE VIRTUAL%' ORDER BY m.name, p.cid"
            )
        )


class PostgresDatabase(Database):
    """A PostgreSQL database; its tables are those of the schema that a connection begins with."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    async def fetch(self, sql: str, *arguments: Any) -> list[Row]:
        return [dict(row) for row in await self._connection.fetch(sql, *arguments)]

    async def tables(self) -> dict[str, list[str]]:
        return _by_table(
            await self.fetch(
                "SELECT table_name AS name, column_name AS field FROM information_schema.columns "
                "WHERE table_schema = current_schema() ORDER BY table_name, ordinal_position"
            )
        )


def _by_table(rows: list[Row]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for row in rows:
        found.setdefault(row["name"], []).append(row["field"])
    return found


@asynccontextmanager
async def connected(url: str) -> AsyncIterator[PostgresDatabase]:
    """Connect to PostgreSQL and read as of one moment."""
    try:
        import asyncpg
    except ImportError:
        raise StoreUnavailable("PostgreSQL needs one more package: pip install 'threadkeep[postgres]'.") from None
    try:
        connection = await asyncpg.connect(url)
    except (OSError, ValueError, asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise StoreUnavailable(f"The database does not answer: {type(error).__name__}.") from None
    try:
        async with connection.transaction(isolation="repeatable_read", readonly=True):
            yield PostgresDatabase(connection)
    except asyncpg.PostgresError as error:
        raise ImportDamaged(f"The database cannot be read: {type(error).__name__}.") from None
    finally:
        await connection.close()


async def read_sqlite(path: str, table: str | None) -> AsyncIterator[Portable | ImportProblem]:
    """Yield the conversations in an SQLite file."""
    name = Path(path).name
    try:
        opened = SqliteFile(Path(path))
    except ImportDamaged as error:
        yield ImportProblem.of(name, error)
        return
    with closing(opened):
        async for item in _built(opened, f"{name}, ", table):
            yield item


async def read_postgres(url: str, table: str | None) -> AsyncIterator[Portable | ImportProblem]:
    """Yield the conversations in a PostgreSQL database."""
    async with connected(url) as database:
        async for item in _built(database, "", table):
            yield item


async def _built(database: Database, name: str, table: str | None) -> AsyncIterator[Portable | ImportProblem]:
    try:
        async for place, found in sessions(database, table):
            if isinstance(found, Foreign):
                yield built(f"{name}{place}", found)
            elif isinstance(found, InvalidInput):
                yield ImportProblem.of(f"{name}{place}", found)
    except InvalidInput as error:
        yield ImportProblem.of(name.rstrip(", ") or "database", error)


async def sessions(db: Database, table: str | None = None) -> AsyncIterator[Item]:
    """Yield every conversation in the tables that we know, or in one of them, or what is wrong with it."""
    tables = await db.tables()
    if set(tables) >= _OURS:
        raise UnknownFormat("This is a store of Threadkeep itself: `threadkeep copy` moves it.")
    if table is not None and table not in tables:
        raise UnknownFormat(f"There is no table {table!r}.")
    is_found = False
    for name, columns in tables.items() if table is None else [(table, tables[table])]:
        async for item in _of_table(db, name, columns, tables):
            is_found = True
            yield item
    if not is_found and not any(map(_is_known, tables.values())):
        raise UnknownFormat


def _is_known(columns: list[str]) -> bool:
    return "session_id" in columns or "thread_id" in columns


async def _of_table(db: Database, name: str, columns: list[str], tables: dict[str, list[str]]) -> AsyncIterator[Item]:
    has, quoted = set(columns), _quoted(name)
    if {"thread_id", "checkpoint_ns", "checkpoint_id", "checkpoint"} <= has:
        async for id in _ids(db, quoted, "thread_id"):
            yield await _item(f"{name} {id}", _thread(db, quoted, id, "checkpoint_blobs" in tables))
    elif {"session_id", "message_data"} <= has:
        async for id in _ids(db, quoted, "session_id"):
            yield await _item(f"{name} {id}", _messages(db, quoted, id, "message_data", has))
    elif {"session_id", "message"} <= has:
        async for id in _ids(db, quoted, "session_id"):
            yield await _item(f"{name} {id}", _messages(db, quoted, id, "message", has))
    elif (key := next((column for column in _IDS if column in has), None)) is not None:
        column = await _json_column(db, quoted, columns)
        if column is not None:
            async for id in _ids(db, quoted, key):
                yield await _item(f"{name} {id}", _document(db, quoted, key, id, column))


async def _item(place: str, reading: Any) -> Item:
    try:
        return place, await reading
    except InvalidInput as error:
        return place, error
    except (TypeError, ValueError, LookupError, AttributeError, RecursionError):
        return place, InvalidImport("A row has a shape that no known program writes.")


async def _ids(db: Database, table: str, column: str) -> AsyncIterator[str]:
    """Yield the different values of a column, a page at a time."""
    after, name = "", f"CAST({_quoted(column)} AS text)"
    while True:
        rows = await db.fetch(
            f"SELECT DISTINCT {name} AS id FROM {table} WHERE {name} > $1 ORDER BY 1 LIMIT {LISTED}",
            after,
        )
        for row in rows:
            yield row["id"]
        if len(rows) < LISTED:
            return
        after = rows[-1]["id"]


async def _messages(db: Database, table: str, session: str, column: str, columns: set[str]) -> Foreign:
    """Return a session whose messages are rows."""
    when = "created_at" if "created_at" in columns else "NULL"
    rows = await db.fetch(
        f"SELECT {_quoted(column)} AS message, {when} AS at FROM {table} "
        f"WHERE CAST(session_id AS text) = $1 ORDER BY id",
        session,
    )
    nodes: list[Node] = []
    for number, row in enumerate(rows, 1):
        message = _json(row["message"])
        if isinstance(message, dict) and message.get("type") in ("reasoning", "item_reference"):
            continue
        node = said(message, number, nodes[-1].key if nodes else None)
        node.key = f"message-{number}"
        node.at = node.at or moment(row["at"])
        nodes.append(node)
    source = "openai-agents" if column == "message_data" else "langchain"
    return Foreign(source, session, nodes)


async def _json_column(db: Database, table: str, columns: list[str]) -> str | None:
    """Return the column that keeps whole conversations as JSON, if the first row has one."""
    for row in await db.fetch(f"SELECT * FROM {table} LIMIT 1"):
        for column in columns:
            value = _json_or_none(row[column])
            if isinstance(value, dict) and (isinstance(value.get("messages"), list) or "history" in value):
                return column
    return None


async def _document(db: Database, table: str, key: str, id: str, column: str) -> Foreign:
    (row,) = (await db.fetch(f"SELECT * FROM {table} WHERE CAST({_quoted(key)} AS text) = $1", id))[:1]
    value = _json(row[column])
    about = {name: row[name] for name in ("title", "created_at", "archived") if name in row}
    if isinstance(value, dict) and "history" in value:
        found = foreign({"chat": value, **about, "archived": bool(about.get("archived")), "id": id})
    else:
        found = foreign({"messages": value["messages"], **about, "id": id})
    found.id = id
    return found


async def _thread(db: Database, table: str, thread: str, has_blobs: bool) -> Foreign:
    """Return a LangGraph thread: each checkpoint has all of its messages, so all of them together are the tree."""
    where = "WHERE CAST(thread_id AS text) = $1 AND checkpoint_ns = ''"
    nodes: dict[str, Node] = {}
    head: str | None = None
    for row in await db.fetch(f"SELECT checkpoint_id FROM {table} {where} ORDER BY checkpoint_id", thread):
        found = await db.fetch(f"SELECT * FROM {table} {where} AND checkpoint_id = $2", thread, row["checkpoint_id"])
        checkpoint = _checkpoint(found[0].get("type"), found[0]["checkpoint"])
        messages = checkpoint.get("channel_values", {}).get("messages")
        version = checkpoint.get("channel_versions", {}).get("messages")
        if messages is None and has_blobs and version is not None:
            blobs = await db.fetch(
                "SELECT type, blob FROM checkpoint_blobs "
                f"{where} AND channel = 'messages' AND CAST(version AS text) = $2",
                thread,
                str(version),
            )
            messages = _checkpoint(blobs[0]["type"], blobs[0]["blob"]) if blobs else None
        head = _grow(nodes, messages or [], checkpoint.get("ts")) or head
    return Foreign("langgraph", thread, list(nodes.values()), head=head)


def _grow(nodes: dict[str, Node], messages: Any, ts: Any) -> str | None:
    """Add the messages of a checkpoint to the tree; return the last of them."""
    parent: str | None = None
    for number, message in enumerate(messages if isinstance(messages, list) else [], 1):
        node = said(_plain(message), number, parent)
        if node.key.startswith("message-"):
            node.key = ""
        digest = blake2b(json.dumps([parent, node.key, node.role, node.content]).encode(), digest_size=8).hexdigest()
        known = nodes.get(node.key) if node.key else None
        if known is None or (known.parent, known.content) != (parent, node.content):
            node.key = node.key if node.key and known is None else f"m-{digest}"
            node.at = node.at or moment(ts)
            nodes.setdefault(node.key, node)
        parent = node.key
    return parent


def _plain(message: Any) -> Any:
    """Return a message without what says how to make an object of it."""
    match message:
        case {"__arguments__": dict(arguments)} | {"kwargs": dict(arguments)}:
            return arguments
        case _:
            return message


def _checkpoint(kind: Any, data: Any) -> Any:
    if kind == "pickle":
        raise InvalidImport("A checkpoint is a pickle, which could run any program; it is not read.")
    if isinstance(data, bytes | memoryview) and kind != "json":
        return unpack(bytes(data))
    return _json(data)


def _json(text: Any) -> Any:
    if not isinstance(text, str | bytes):
        return text
    try:
        return json.loads(text)
    except RecursionError:
        raise TooDeep from None
    except ValueError:
        raise ImportDamaged("A column holds no JSON where JSON belongs.") from None


def _json_or_none(text: Any) -> Any:
    try:
        return _json(text) if isinstance(text, str) and text[:1] in "{[" else None
    except (ImportDamaged, TooDeep):
        return None


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
