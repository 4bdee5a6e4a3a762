"""Which conversations a filter shows, and what it asks of their documents."""

from datetime import UTC, datetime
from typing import Any

import pytest

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Body, Entry, Feedback
from threadkeep.conversation.facts import Status
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.state import State, StateChange
from threadkeep.conversation.tree import Tree
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.errors import InvalidLimit, InvalidSearch
from threadkeep.store import values
from threadkeep.store.values import EVERY, MOST_MESSAGES, ListFilter, Page, Snapshot, page_of
from threadkeep.testing.samples import asked

AT = datetime(2026, 1, 1, tzinfo=UTC)


def test_a_filter_asks_for_what_stands_in_the_document_and_for_what_does_not() -> None:
    wanted = ListFilter(status=Status.ACTIVE, archived=True, title="otters").documents()
    assert (wanted.present, wanted.absent) == ({"archived": True}, ["status"])


def _conversation(**fields: Any) -> Conversation:
    return Conversation(scope=LOCAL, id="c", created_at=AT, updated_at=AT, **fields)


@pytest.mark.parametrize(
    ("value", "asked", "is_found"),
    [
        ("x", "x", True),
        (7, "7", True),
        (True, "true", True),
        (True, "1", False),
        (1.5, "1.5", False),
        ([1], "[1]", False),
    ],
)
def test_metadata_is_compared_as_text_where_that_is_clear(value: object, asked: str, is_found: bool) -> None:
    shown = ListFilter(metadata={"a": asked})
    assert shown.accepts(_conversation(metadata={"a": value})) is is_found
    assert not shown.accepts(_conversation(metadata={"b": value}))


def test_a_title_is_found_by_its_words_the_last_as_a_beginning() -> None:
    otters = _conversation(title="About otters")
    assert ListFilter(title="otters abo").accepts(otters)
    assert not ListFilter(title="abo otters").accepts(otters)
    with pytest.raises(InvalidSearch):
        ListFilter(title="--").accepts(otters)


def test_a_filter_without_anything_set_shows_every_conversation() -> None:
    assert EVERY.accepts(_conversation())
    assert EVERY.documents() == ({}, [])
    assert not ListFilter(shared=True).accepts(_conversation())
    assert not ListFilter(status=Status.COMPLETED).accepts(_conversation())


AT = datetime(2026, 1, 1, tzinfo=UTC)


def entry(seq: int, body: Body, parent: int | None = None) -> Entry:
    return Entry(conversation="c", seq=seq, parent=parent, turn=1, created_at=AT, body=body)


def read(*, feedback: tuple[Entry, ...] = (), remarks: tuple[Entry, ...] = ()) -> Snapshot:
    return Snapshot(
        conversation=Conversation(scope=LOCAL, id="c", created_at=AT, updated_at=AT),
        branch=None,
        entries=(),
        feedback=feedback,
        state=State(),
        remarks=remarks,
        tree=Tree(jumps=(), newest=0, head=0),
        turns=(),
        draft=None,
    )


def test_a_page_has_so_many_messages_and_what_is_between_them() -> None:
    log = [entry(1, asked("a")), entry(2, asked("b")), entry(3, StateChange(set={"a": 1})), entry(4, asked("c"))]
    assert [found.seq for found in page_of(reversed(log), 2)] == [2, 3, 4]
    assert page_of(reversed(log), 0) == ()


def test_a_page_of_long_messages_ends_early(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values, "MOST_CHARACTERS", 10)
    log = [entry(seq, asked("x" * 5)) for seq in range(9, 0, -1)]
    assert [found.seq for found in page_of(log, 9)] == [8, 9]


@pytest.mark.parametrize("messages", [-1, MOST_MESSAGES + 1])
def test_more_messages_than_are_ever_read_together_are_refused(messages: int) -> None:
    Page(messages=MOST_MESSAGES).check()
    with pytest.raises(InvalidLimit):
        Page(messages=messages).check()


def test_the_newest_opinion_of_an_entry_counts_and_one_that_was_taken_back_does_not() -> None:
    given = [(2, Feedback(rating="up")), (4, Feedback(rating="up")), (2, Feedback(rating="down")), (4, Feedback())]
    found = read(feedback=tuple(entry(seq, body, of) for seq, (of, body) in enumerate(given, 5)))
    assert found.opinions == {2: Feedback(rating="down")}


def test_the_last_turn_has_ended_when_its_last_change_is_final() -> None:
    running, failed = (entry(2, TurnChange(state=state)) for state in (TurnState.RUNNING, TurnState.FAILED))
    assert read().ended is None
    assert read(remarks=(running,)).ended is None
    assert read(remarks=(running, failed)).ended == (1, failed.body)
