"""The events of a stream are whole wherever the network cuts them, and the buffer joins what came together."""

import pytest

from threadkeep.errors import ModelUnavailable
from threadkeep.llm.base import CallPart, Reasoned, Stopped, Text
from threadkeep_providers import deltas
from threadkeep_providers.deltas import DeltaBuffer, Events


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_events_are_whole_wherever_the_bytes_are_cut(end: str) -> None:
    text = end.join([": ping", "", "event: one", 'data: {"a": "é"}', "", 'data:{"b":', "data: 2}", "", "data: [DONE]"])
    sent = (text + end + end).encode()
    for cut in range(len(sent)):
        events = Events()
        assert [*events.feed(sent[:cut]), *events.feed(sent[cut:])] == [{"a": "é"}, {"b": 2}]
        assert events.count == 2


def test_lines_without_content_before_a_whole_event_are_part_of_it() -> None:
    events = Events()
    assert list(events.feed(b"data:\n")) == []
    assert list(events.feed(b'data: {"a": 1}\n\n')) == [{"a": 1}]
    assert list(events.feed(b'data: {"b": 2}\n\n')) == [{"b": 2}]


@pytest.mark.parametrize("sent", [b"data: {}{}\n\n", b"data: {]}\n\n", b"data: no\n\n", b"data: {} []\r\n\r\n"])
def test_what_is_no_json_is_refused(sent: bytes) -> None:
    with pytest.raises(ValueError, match=r"more than JSON|Expecting"):
        list(Events().feed(sent))


def test_half_an_event_at_the_end_says_nothing() -> None:
    assert list(Events().feed(b'data: {"a": 1}\n')) == []


@pytest.mark.parametrize("piece", [b"data: x", b"data: x\n"])
def test_an_event_without_an_end_is_given_up(piece: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deltas, "MOST_OF_EVENT", 20)
    events = Events()
    with pytest.raises(ModelUnavailable):
        [list(events.feed(piece)) for _ in range(25)]


def test_many_events_are_no_large_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(deltas, "MOST_OF_EVENT", 20)
    events = Events()
    assert sum(len(list(events.feed(b"data: {}\n\n"))) for _ in range(100)) == 100


def test_a_character_in_halves_is_put_together() -> None:
    buffer = DeltaBuffer()
    buffer.add_text("hi \ud83d")
    assert buffer.drain() == [Text("hi ")]
    buffer.add_text("\ude00")
    assert buffer.drain() == [Text("😀")]


def test_text_and_reasoning_that_came_together_are_joined_in_their_order() -> None:
    buffer = DeltaBuffer()
    for text in "ab":
        buffer.add_reasoning(text)
    for text in "cd":
        buffer.add_text(text)
    buffer.add_call(None, "1", "f", "{}")
    buffer.add_reasoning("", {"signature": "s"}, is_of_call=True)
    assert buffer.drain() == [
        Reasoned(text="ab"),
        Text("cd"),
        CallPart(index=0, id="1", name="f", args="{}"),
        Reasoned(payload={"signature": "s"}, call=0),
    ]
    assert buffer.drain() == []


def test_an_answer_without_a_reason_was_cut_off_unless_its_provider_gives_none() -> None:
    assert DeltaBuffer().end() == []
    assert DeltaBuffer().end(is_orderly=True) == [Stopped("end")]
