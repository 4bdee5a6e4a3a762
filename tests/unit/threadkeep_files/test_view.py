"""Documents: the readable view is exactly the shape of R-E2, and what other programs write in it is understood."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import ContentTooLarge, StoreCorrupt, UnknownRole
from threadkeep.store.base import MAX_BYTES
from threadkeep.store.record import Tip
from threadkeep.store.sqlite.memory import MemoryStore
from threadkeep.store.values import Append
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import answered, asked, new, returned, texts_of
from threadkeep_files.view import Taken, ViewMessage, begun, parse, read, render, taken

NOW = datetime(2025, 1, 1, 12, 0, tzinfo=UTC)
LATER = datetime(2025, 1, 1, 12, 0, 5, 250000, tzinfo=UTC)


def _render(*bodies: Message) -> bytes:
    entries = [
        Entry(conversation="c", seq=seq, parent=seq - 1 or None, created_at=LATER, body=body)
        for seq, body in enumerate(bodies, 1)
    ]
    updated = LATER if bodies else NOW
    conversation = Conversation(scope=LOCAL, id="c", version=1, created_at=NOW, updated_at=updated, entries=len(bodies))
    return render(conversation, entries)


def test_a_view_has_exactly_the_fields_that_other_programs_know() -> None:
    data = _render(asked('say "hi" 日本語\n\x00\\'), answered("hi"))
    document = {
        "session_id": "c",
        "created_at": "2025-01-01T12:00:00Z",
        "updated_at": "2025-01-01T12:00:05Z",
        "messages": [
            {"role": "user", "content": 'say "hi" 日本語\n\x00\\', "timestamp": "2025-01-01T12:00:05Z"},
            {"role": "assistant", "content": "hi", "timestamp": "2025-01-01T12:00:05Z"},
        ],
    }
    assert data.decode() == json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def test_the_view_of_an_empty_conversation_has_no_messages() -> None:
    document = json.loads(_render())
    assert (document["messages"], document["updated_at"]) == ([], "2025-01-01T12:00:00Z")


def test_calls_and_results_of_tools_are_left_out() -> None:
    call = Message(role=Role.ASSISTANT, tool_calls=(ToolCall(id="1", name="n"),))
    result = Message(role=Role.TOOL, content="42", tool_result=ToolResult(tool_call_id="1"))
    document = json.loads(_render(asked("q"), call, result, answered("a")))
    assert [message["content"] for message in document["messages"]] == ["q", "a"]


def _read(value: Any) -> Any:
    return read(value, NOW)


def test_a_document_of_another_program_is_understood() -> None:
    value = {
        "session_id": "s",
        "created_at": "2024-12-31T23:00:00+01:00",
        "updated_at": "whenever",
        "messages": [
            {"role": "system", "content": "be brief", "timestamp": "2025-01-01T11:00:00Z"},
            {"role": "user", "content": "naive", "timestamp": "2025-01-01T11:00:00"},
            {"role": "assistant", "content": "", "timestamp": None},
            {"role": "assistant", "content": "no time"},
        ],
    }
    document = _read(value)
    eleven = datetime(2025, 1, 1, 11, tzinfo=UTC)
    assert document.created_at == datetime(2024, 12, 31, 22, tzinfo=UTC)
    assert document.messages == [
        ViewMessage(Role.SYSTEM, "be brief", eleven),
        ViewMessage(Role.USER, "naive", eleven),
        ViewMessage(Role.ASSISTANT, "no time", NOW),
    ]
    assert not document.rest


def test_what_a_conversation_cannot_keep_is_noticed() -> None:
    said = {"role": "user", "content": "x"}
    assert _read({"messages": [said], "metadata": {}}).rest
    assert _read({"messages": [{**said, "tokens": 3}]}).rest


@pytest.mark.parametrize(
    "value",
    [
        [],
        {},
        {"messages": {}},
        {"messages": ["x"]},
        {"messages": [{"role": "user"}]},
        {"messages": [{"role": "user", "content": ["x"]}]},
        {"messages": [{"role": "user", "content": "x", "timestamp": "soon"}]},
        {"messages": [{"role": "user", "content": "x", "timestamp": 12}]},
        {"messages": [], "created_at": "soon"},
    ],
)
def test_another_shape_is_refused(value: Any) -> None:
    with pytest.raises(StoreCorrupt):
        _read(value)


@pytest.mark.parametrize("role", ["tool", "moderator", None, ["user"], "User"])
def test_another_role_is_refused_by_name(role: Any) -> None:
    with pytest.raises(UnknownRole, match="message 2"):
        _read({"messages": [{"role": "user", "content": "x"}, {"role": role, "content": "x"}]})


@pytest.mark.parametrize("data", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"a": 1} {'])
def test_what_is_no_json_is_a_value_error(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse(data)


def test_a_byte_order_mark_is_forgiven() -> None:
    assert parse(b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


# What another program changed


async def _store(*bodies: Message) -> MemoryStore:
    store = MemoryStore(FakeClock(), new_id, MAX_BYTES)
    await new(store, LOCAL, name="c")
    if bodies:
        await store.append(LOCAL, "c", Append(bodies=bodies))
    return store


async def _changed(store: MemoryStore, *texts: str) -> list[str]:
    """Take in what a document with these texts changes, and return the contents of the branch then."""
    messages = [
        {"role": "assistant" if at % 2 else "user", "content": text, "timestamp": "2025-02-02T00:00:00Z"}
        for at, text in enumerate(texts)
    ]
    added = await store._read(LOCAL, "c", lambda log: taken(log, _read({"messages": messages}), None))

    def work() -> None:
        end = store._log.end(LOCAL, "c")
        if rows := added.rows(1000):
            store._log.commit(end, added.record(LATER, end.version, end.log.follower), rows)

    await store.writer.run(work)
    return texts_of(await store.newest(LOCAL, "c"))


@pytest.mark.parametrize(
    "texts", [("one", "two", "three", "four"), ("one", "another"), ("another",), ("one",), (), ("one", "two")]
)
async def test_the_branch_becomes_what_the_document_says_and_nothing_is_lost(texts: tuple[str, ...]) -> None:
    store = await _store(asked("one"), answered("two"))
    before = await store.newest(LOCAL, "c")
    assert await _changed(store, *texts) == list(texts)
    assert await store.newest(LOCAL, "c", head=2) == before


async def test_new_messages_continue_the_head_behind_entries_that_a_view_does_not_show() -> None:
    call = Message(role=Role.ASSISTANT, content="two", tool_calls=(ToolCall(id="call-1", name="n"),))
    store = await _store(asked("one"), call, returned("42"))
    assert await _changed(store, "one", "two", "three") == ["one", "two", "42", "three"]
    assert ((await store.snapshot(LOCAL, "c")).tree).jumps == ()


async def test_messages_that_are_taken_in_keep_their_times() -> None:
    store = await _store()
    await _changed(store, "one")
    assert (await store.entry(LOCAL, "c", 1)).created_at == datetime(2025, 2, 2, tzinfo=UTC)


def test_a_conversation_of_another_program_is_called_by_the_first_words_that_were_asked() -> None:
    said = [{"role": "assistant", "content": "Hi!"}, {"role": "user", "content": "phones under 500?"}]
    assert begun(_read({"messages": said})).title == "Phones under 500?"


def test_a_message_that_is_too_large_is_named() -> None:
    messages = [ViewMessage(Role.USER, text, NOW) for text in ("short", "x" * 101)]
    with pytest.raises(ContentTooLarge, match="new message 2"):
        Taken(Tip(), None, messages).rows(100)
