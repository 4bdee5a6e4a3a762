"""A thread is folded from the entries of a log in their order, however they come."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from threadkeep.conversation.entry import Body, Entry, Kept
from threadkeep.conversation.message import Message, Role
from threadkeep_integrations.langgraph.thread import OF, PIECE, Thread, record_text

AT = datetime(2026, 1, 1, tzinfo=UTC)


def entry(seq: int, body: Body) -> Entry:
    return Entry(conversation="c", seq=seq, parent=None, created_at=AT + timedelta(seconds=seq), body=body)


def record(id: str, **fields: Any) -> Kept:
    checkpoint = {"id": id, "channel_versions": {"a": "1"}}
    whole = {"checkpoint": checkpoint, "namespace": "", "values": {}, "metadata": {"run_id": id}}
    return Kept(of=OF, content=record_text({**whole, **fields}))


def ids(thread: Thread) -> list[str]:
    return [saved.id for saved in thread.checkpoints("")]


def test_what_was_appended_out_of_order_is_added_in_order() -> None:
    thread = Thread()
    thread.take([entry(2, record("2"))])
    assert thread.seen == 0
    thread.take([entry(1, record("1"))])
    assert (thread.seen, ids(thread)) == (2, ["1", "2"])
    thread.take([entry(4, record("4"))])
    thread.fold([entry(2, record("2")), entry(3, record("3")), entry(4, record("4"))])
    assert (thread.seen, ids(thread), thread.at) == (4, ["1", "2", "3", "4"], AT + timedelta(seconds=4))


def test_marks_forget_what_stands_before_them() -> None:
    thread = Thread()
    thread.fold([entry(number, record(str(number))) for number in (1, 2, 3)])
    thread.fold([entry(4, Kept(of=OF, content=json.dumps({"without_runs": ["3"]})))])
    newest = thread.newest("")
    assert newest is not None
    assert (ids(thread), newest.id) == (["1", "2"], "2")
    thread.fold([entry(5, Kept(of=OF, content=json.dumps({"only": {"": "2"}}))), entry(6, record("6"))])
    assert ids(thread) == ["2", "6"]


def test_what_a_task_wrote_first_stays_and_an_interrupt_is_replaced() -> None:
    thread = Thread()
    for seq, value in enumerate(("first", "second"), start=1):
        writes = [["a", {"json": value}], ["__interrupt__", {"json": value}]]
        text = json.dumps({"writes": writes, "task": "t", "path": "p", "namespace": "", "on": "1"})
        thread.fold([entry(seq, Kept(of=OF, content=text))])
    found = [(one.channel, one.form["json"]) for one in thread.writes("", "1")]
    assert found == [("__interrupt__", "second"), ("a", "first")]
    assert thread.knows_writes(("", "1"), "t", [("a", 1)])
    assert not thread.knows_writes(("", "1"), "t", [("__interrupt__", 1)])


def test_a_record_in_pieces_is_one() -> None:
    thread, text = Thread(), record("1").content
    thread.fold([entry(1, Kept(of=PIECE, content=text[:9])), entry(2, Kept(of=OF, content=text[9:]))])
    assert ids(thread) == ["1"]


@pytest.mark.parametrize("content", ["", "{}", "[1]", '{"thread": 1}', "[" * 9999, '{"only": 1}'])
def test_what_is_no_record_is_passed_over(content: str) -> None:
    thread = Thread()
    thread.fold([entry(1, Message(role=Role.USER, content="hi")), entry(2, Kept(of=OF, content=content))])
    assert (thread.seen, ids(thread)) == (2, [])


def test_the_text_of_a_record_is_storable() -> None:
    assert json.loads(record_text({"a": "\ud800 é"})) == {"a": "\ud800 é"}
    assert record_text({"a": "\ud800"}).isascii()
    assert "é" in record_text({"a": "é"})
