"""Twenty kinds of files that can be imported, small, each made as the program that writes it does."""

import io
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage, message_to_dict
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from tests.roundtrips import exported
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.export import export_text
from threadkeep.conversation.scope import Scope
from threadkeep.store.base import Store
from threadkeep.testing.samples import ADA, new, say
from threadkeep.transfer.exporter import Selection, log_of
from threadkeep.transfer.moving import export_archive

CHATGPT = {
    "title": "Trip",
    "create_time": 1700000000.5,
    "current_node": "n4",
    "conversation_id": "11111111-2222-4333-8444-555555555555",
    "mapping": {
        "root": {"id": "root", "message": None, "parent": None, "children": ["n1"]},
        "n1": {
            "id": "n1",
            "parent": "root",
            "message": {"author": {"role": "system"}, "content": {"content_type": "text", "parts": [""]}},
        },
        "n2": {
            "id": "n2",
            "parent": "n1",
            "message": {
                "author": {"role": "user"},
                "create_time": 1700000001.0,
                "content": {"content_type": "multimodal_text", "parts": ["Where to?", {"content_type": "image_asset"}]},
            },
        },
        "n3": {
            "id": "n3",
            "parent": "n2",
            "message": {
                "author": {"role": "assistant"},
                "create_time": 1700000002.0,
                "content": {"content_type": "text", "parts": ["To Rome."]},
                "metadata": {"model_slug": "gpt-4o"},
            },
        },
        "n4": {
            "id": "n4",
            "parent": "n2",
            "message": {
                "author": {"role": "assistant"},
                "create_time": 1700000003.0,
                "content": {"content_type": "text", "parts": ["To Oslo."]},
            },
        },
    },
}
CLAUDE = {
    "uuid": "c0ffee00-0000-4000-8000-000000000001",
    "name": "Budget",
    "created_at": "2024-05-01T10:00:00.000000Z",
    "chat_messages": [
        {"uuid": "m1", "sender": "human", "text": "How much?", "created_at": "2024-05-01T10:00:01Z"},
        {
            "uuid": "m2",
            "sender": "assistant",
            "text": "",
            "content": [
                {"type": "text", "text": "12."},
                {"type": "tool_use", "id": "t1", "name": "search", "input": {"q": "x"}},
            ],
            "created_at": "2024-05-01T10:00:02Z",
        },
    ],
}
OPEN_WEBUI = {
    "id": "ow-1",
    "title": "Phones",
    "created_at": 1714557600,
    "archived": True,
    "chat": {
        "title": "Phones",
        "history": {
            "currentId": "b",
            "messages": {
                "a": {"id": "a", "parentId": None, "role": "user", "content": "Which?", "timestamp": 1714557601},
                "b": {"id": "b", "parentId": "a", "role": "assistant", "content": "This.", "timestamp": 1714557602},
            },
        },
    },
}
LIBRECHAT = {
    "conversationId": "lc-1",
    "title": "Recipes",
    "messages": [
        {
            "messageId": "x",
            "parentMessageId": "00000000-0000-0000-0000-000000000000",
            "isCreatedByUser": True,
            "text": "Soup?",
            "createdAt": "2024-01-01T00:00:00.000Z",
            "children": [
                {"messageId": "y", "parentMessageId": "x", "isCreatedByUser": False, "text": "Leek."},
                {"messageId": "z", "parentMessageId": "x", "isCreatedByUser": False, "text": "Pea."},
            ],
        }
    ],
}
SESSION = {
    "session_id": "sess_20250101_120000_abc12345",
    "created_at": "2025-01-01T12:00:00Z",
    "updated_at": "2025-01-01T12:01:00Z",
    "messages": [
        {"role": "user", "content": "phones under $500", "timestamp": "2025-01-01T12:00:30Z"},
        {"role": "assistant", "content": "Three of them.", "timestamp": "2025-01-01T12:01:00Z"},
    ],
}
MESSAGES = {
    "messages": [
        {"role": "system", "content": "You help.", "tool_call_id": None, "tool_calls": None},
        {"role": "user", "content": "budget of CC-1001?", "tool_call_id": None, "tool_calls": None},
        {
            "role": "assistant",
            "content": "",
            "tool_call_id": None,
            "tool_calls": [{"id": "call_1", "name": "get_budget", "args": {"cost_center": "CC-1001"}}],
        },
        {"role": "tool", "content": '{"budget": 50000}', "tool_call_id": "call_1", "tool_calls": None},
        {"role": "assistant", "content": "50,000.", "tool_call_id": None, "tool_calls": None},
    ]
}
LANGCHAIN = [
    HumanMessage("hello", id="h1"),
    AIMessage("", id="a1", tool_calls=[{"id": "c1", "name": "look", "args": {"at": 1}}]),
    ToolMessage("seen", tool_call_id="c1", id="t1"),
    AIMessage("There you are.", id="a2"),
]


def as_json(*values: Any, lines: bool = False) -> bytes:
    """Return values as a list, or one on each line."""
    if lines:
        return b"".join(json.dumps(value).encode() + b"\n" for value in values)
    return json.dumps(list(values)).encode()


def zipped(members: dict[str, bytes]) -> bytes:
    """Return an archive."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def database(path: Path, *statements: str | tuple[str, tuple[Any, ...]]) -> bytes:
    """Return an SQLite file in which these statements were run."""
    path.unlink(missing_ok=True)
    connection = apsw.Connection(str(path))
    for statement in statements:
        sql, values = (statement, ()) if isinstance(statement, str) else statement
        connection.execute(sql, values)
    connection.close()
    return path.read_bytes()


def langgraph(path: Path) -> bytes:
    """Return checkpoints as LangGraph's own serializer writes them: a question, an answer, and another answer."""
    serde = JsonPlusSerializer()
    rows: list[str | tuple[str, tuple[Any, ...]]] = [
        "CREATE TABLE checkpoints (thread_id TEXT NOT NULL, checkpoint_ns TEXT NOT NULL DEFAULT '', "
        "checkpoint_id TEXT NOT NULL, parent_checkpoint_id TEXT, type TEXT, checkpoint BLOB, metadata BLOB, "
        "PRIMARY KEY (thread_id, checkpoint_ns, checkpoint_id))"
    ]
    for number, messages in enumerate([LANGCHAIN[:1], LANGCHAIN, [LANGCHAIN[0], AIMessage("Or here.", id="a3")]]):
        checkpoint = {
            "v": 4,
            "ts": f"2025-03-0{number + 1}T10:00:00+00:00",
            "id": f"1f0-{number}",
            "channel_values": {"messages": messages},
            "channel_versions": {"messages": str(number)},
        }
        kind, data = serde.dumps_typed(checkpoint)
        values = ("thread-1", "", f"1f0-{number}", None, kind, data)
        rows.append(("INSERT INTO checkpoints VALUES (?, ?, ?, ?, ?, ?, NULL)", values))
    return database(path, *rows)


def agents_sdk(path: Path) -> bytes:
    """Return a session as the OpenAI Agents SDK keeps it."""
    items = [
        {"role": "user", "content": "weather?"},
        {"type": "reasoning", "id": "r1", "summary": []},
        {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Rome"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
        {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is sunny."}]},
    ]
    rows = [
        (
            "INSERT INTO agent_messages (session_id, message_data, created_at) VALUES ('user-1', ?, ?)",
            (json.dumps(item), "2025-02-02 08:00:00"),
        )
        for item in items
    ]
    return database(
        path,
        "CREATE TABLE agent_sessions (session_id TEXT PRIMARY KEY, created_at TIMESTAMP, updated_at TIMESTAMP)",
        "CREATE TABLE agent_messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT NOT NULL, "
        "message_data TEXT NOT NULL, created_at TIMESTAMP)",
        *rows,
    )


def langchain_table(path: Path) -> bytes:
    """Return messages as LangChain's `SQLChatMessageHistory` keeps them."""
    rows = [
        ("INSERT INTO message_store (session_id, message) VALUES ('s-1', ?)", (json.dumps(message_to_dict(message)),))
        for message in LANGCHAIN
    ]
    table = "CREATE TABLE message_store (id INTEGER PRIMARY KEY, session_id TEXT, message TEXT)"
    return database(path, table, *rows)


def json_table(path: Path) -> bytes:
    """Return a table that keeps the messages of each session as JSON."""
    values = ("s-9", json.dumps(MESSAGES), "2025-01-01T00:00:00Z")
    table = "CREATE TABLE sessions (session_id TEXT PRIMARY KEY, data TEXT, created_at TEXT)"
    return database(path, table, ("INSERT INTO sessions VALUES (?, ?, ?)", values))


def webui_database(path: Path) -> bytes:
    """Return the table of chats of Open WebUI."""
    values = ("ow-9", "Phones", json.dumps(OPEN_WEBUI["chat"]), 1714557600, 0)
    table = "CREATE TABLE chat (id TEXT PRIMARY KEY, title TEXT, chat JSON, created_at INTEGER, archived INTEGER)"
    return database(path, table, ("INSERT INTO chat VALUES (?, ?, ?, ?, ?)", values))


async def ours(store: Store) -> dict[str, bytes]:
    """Return our own exports of a small store."""
    name = await new(store, ADA, "one", "two", "three", name="first")
    await say(store, name, "another", parent=1)
    await new(store, ADA, "hello", name="second")
    mine = Selection(ADA.tenant, ADA.user)
    archive = b"".join([data async for data in export_archive(store, mine, lambda done: None)])
    conversation: Conversation = await store.get(ADA, name)
    pieces = [piece async for piece in export_text(conversation, log_of(store, conversation), conversation.updated_at)]
    return {
        "our lines": await exported(store, mine),
        "our lines of a store": await exported(store),
        "our archive": archive,
        "our document": "".join(pieces).encode(),
    }


FOREIGN: dict[str, Callable[[Path], bytes]] = {
    "chatgpt": lambda path: as_json(CHATGPT),
    "chatgpt archive": lambda path: zipped({"conversations.json": as_json(CHATGPT), "user.json": b'{"id": "u"}'}),
    "chatgpt numbered archive": lambda path: zipped(
        {
            "conversations-000.json": as_json(CHATGPT),
            "conversations-001.json": as_json({**CHATGPT, "conversation_id": "b"}),
        }
    ),
    "claude": lambda path: as_json(CLAUDE),
    "claude archive": lambda path: zipped({"conversations.json": as_json(CLAUDE), "users.json": b'[{"uuid": "u"}]'}),
    "open webui": lambda path: as_json(OPEN_WEBUI),
    "open webui database": webui_database,
    "librechat": lambda path: json.dumps(LIBRECHAT).encode(),
    "session file": lambda path: json.dumps(SESSION, indent=2).encode(),
    "session files in an archive": lambda path: zipped({"data/sessions/one.json": json.dumps(SESSION).encode()}),
    "messages": lambda path: json.dumps({"id": "m-1", **MESSAGES}).encode(),
    "messages on lines": lambda path: as_json({"id": "m-1", **MESSAGES}, {"id": "m-2", **MESSAGES}, lines=True),
    "table of messages": json_table,
    "langgraph": langgraph,
    "agents sdk": agents_sdk,
    "langchain table": langchain_table,
}
HERE = Scope(tenant="acme", user="importer")
