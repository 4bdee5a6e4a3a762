"""Documents: the readable view is exactly the shape of R-E2, and what other programs write in it is understood."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import StoreCorrupt, UnknownRole
from threadkeep.store.files.view import Importer, ViewMessage, parse, read, render
from threadkeep.store.ledger.ledger import Ledger
from threadkeep.store.record import Opening, Record
from threadkeep.testing.samples import answered, asked

NOW = datetime(2025, 1, 1, 12, 0, tzinfo=UTC)
LATER = datetime(2025, 1, 1, 12, 0, 5, 250000, tzinfo=UTC)


def _ledger(*bodies: Message) -> Ledger:
    opening = Opening(tenant="local", user="local", id="c", mark="m", new=NewConversation())
    ledger = Ledger(Record(at=NOW, opening=opening))
    for body in bodies:
        ledger.apply(Record(at=LATER, bodies=(body,)))
    return ledger


def test_a_view_has_exactly_the_fields_that_other_programs_know() -> None:
    data = render(_ledger(asked('say "hi" 日本語\n\x00\\'), answered("hi")))
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
    document = json.loads(render(_ledger()))
    assert (document["messages"], document["updated_at"]) == ([], "2025-01-01T12:00:00Z")


def test_calls_and_results_of_tools_are_left_out() -> None:
    call = Message(role=Role.ASSISTANT, tool_calls=(ToolCall(id="1", name="n"),))
    result = Message(role=Role.TOOL, content="42", tool_result=ToolResult(tool_call_id="1"))
    document = json.loads(render(_ledger(asked("q"), call, result, answered("a"))))
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


def _changed(ledger: Ledger, *texts: str) -> list[str]:
    """Apply what a document with these texts changes, and return the contents of the branch then."""
    messages = [
        {"role": "assistant" if at % 2 else "user", "content": text, "timestamp": "2025-02-02T00:00:00Z"}
        for at, text in enumerate(texts)
    ]
    document = _read({"messages": messages})
    for record in Importer(LATER, 1000).change(ledger, document, "digest"):
        ledger.apply(record)
    return [entry.body.content for entry in ledger.after(0, ledger.tip.head, 1000) if isinstance(entry.body, Message)]


@pytest.mark.parametrize(
    "texts", [("one", "two", "three", "four"), ("one", "another"), ("another",), ("one",), (), ("one", "two")]
)
def test_the_branch_becomes_what_the_document_says_and_nothing_is_lost(texts: tuple[str, ...]) -> None:
    ledger = _ledger(asked("one"), answered("two"))
    before = list(ledger.entries)
    assert _changed(ledger, *texts) == list(texts)
    assert ledger.entries[:2] == before
    assert ledger.view == "digest"


def test_new_messages_continue_the_head_behind_entries_that_a_view_does_not_show() -> None:
    result = Message(role=Role.TOOL, content="42", tool_result=ToolResult(tool_call_id="1"))
    ledger = _ledger(asked("one"), answered("two"), result)
    assert _changed(ledger, "one", "two", "three") == ["one", "two", "42", "three"]
    assert ledger.jumps == []


def test_imported_messages_keep_their_times() -> None:
    document = _read(
        {"created_at": "2020-01-01", "messages": [{"role": "user", "content": "x", "timestamp": "2021-01-01"}]}
    )
    records = Importer(NOW, 1000).conversation(LOCAL, "old", document, "digest")
    ledger = Ledger(records[0])
    for record in records[1:]:
        ledger.apply(record)
    assert (ledger.created_at.year, ledger.entries[0].created_at.year, ledger.updated_at.year) == (2020, 2021, 2021)
    assert ledger.scope == LOCAL
