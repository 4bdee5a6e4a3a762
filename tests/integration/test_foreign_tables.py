"""Tables of other programs in a real PostgreSQL: JSON in a column, LangGraph's checkpoints, LangChain's messages."""

import json

import asyncpg
import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from tests.postgres_server import Urls
from tests.unit.transfer.kinds import HERE, LANGCHAIN, MESSAGES
from threadkeep.conversation.message import Message
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.testing.stores import whole_log
from threadkeep.transfer.importer import Importer, Report
from threadkeep.transfer.sources import read_source

TABLES = """
CREATE SCHEMA other;
SET search_path TO other;
CREATE TABLE sessions (session_id uuid PRIMARY KEY, data jsonb, created_at timestamptz);
CREATE TABLE message_store (id serial PRIMARY KEY, session_id text, message jsonb);
CREATE TABLE checkpoints (
    thread_id text, checkpoint_ns text DEFAULT '', checkpoint_id text, parent_checkpoint_id text, type text,
    checkpoint jsonb, metadata jsonb, PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id)
);
CREATE TABLE checkpoint_blobs (
    thread_id text, checkpoint_ns text DEFAULT '', channel text, version text, type text, blob bytea,
    PRIMARY KEY (thread_id, checkpoint_ns, channel, version)
);
CREATE TABLE unrelated (id serial PRIMARY KEY, note text);
"""


async def _import(store: Store, url: str, table: str | None = None) -> Report:
    importer = Importer(store, HERE)
    async for item in read_source(url, table):
        await importer.add(item)
    return importer.report


async def _fill(db: "asyncpg.Connection[asyncpg.Record]") -> None:
    await db.execute(TABLES)
    session = "0b0b0b0b-0000-4000-8000-000000000001"
    await db.execute("INSERT INTO sessions VALUES ($1, $2, '2025-01-01Z')", session, json.dumps(MESSAGES))
    for message in LANGCHAIN:
        data = json.dumps({"type": message.type, "data": message.model_dump(mode="json")})
        await db.execute("INSERT INTO message_store (session_id, message) VALUES ('lc', $1)", data)
    kind, blob = JsonPlusSerializer().dumps_typed(LANGCHAIN)
    await db.execute("INSERT INTO checkpoint_blobs VALUES ('t', '', 'messages', '7', $1, $2)", kind, blob)
    checkpoint = {
        "v": 4,
        "ts": "2025-03-01T10:00:00+00:00",
        "channel_versions": {"messages": "7"},
        "channel_values": {},
    }
    await db.execute("INSERT INTO checkpoints VALUES ('t', '', '1f0', NULL, NULL, $1)", json.dumps(checkpoint))


@pytest.mark.asyncio
async def test_conversations_come_straight_from_the_tables(postgres_database: Urls) -> None:
    db = await asyncpg.connect(postgres_database.owner)
    await _fill(db)
    await db.close()
    url = postgres_database.owner + ("&" if "?" in postgres_database.owner else "?") + "options=-csearch_path%3Dother"
    store = await open_store("memory:")
    report = await _import(store, url)
    assert (report.problems, report.added) == ([], 3)
    for name in ("0b0b0b0b-0000-4000-8000-000000000001", "lc", "t"):
        entries, _ = await whole_log(store, HERE, name)
        calls = [call for entry in entries if isinstance(entry.body, Message) for call in entry.body.tool_calls]
        assert (len(entries), len(calls)) == (4, 1)
    assert (await _import(store, url, "sessions")).unchanged == 1
    (problem,) = (await _import(store, url, "missing")).problems
    assert problem.code == "unknown_format"
