"""A conversation on its way: a log that no store can have written is refused, a long one waits in a file."""

from datetime import UTC, datetime
from typing import Any

import pytest

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Body, Entry, Summary, Update
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.errors import InvalidImport
from threadkeep.testing.samples import asked
from threadkeep.transfer import portable
from threadkeep.transfer.portable import Header, LogCheck, Spool, to_entry, validated

AT = datetime(2026, 1, 1, tzinfo=UTC)


def entry(seq: int, parent: int | None, body: Body | None = None, turn: int | None = None) -> Entry:
    return Entry(conversation="c", seq=seq, parent=parent, turn=turn, created_at=AT, body=body or asked(str(seq)))


def header(**fields: Any) -> Header:
    conversation = Conversation(scope=LOCAL, id="c", created_at=AT, updated_at=AT, **fields)
    return Header.of_scope(conversation, tenant=False, user=False)


def followed(*entries: Entry) -> LogCheck:
    check = LogCheck()
    for each in entries:
        check.add(each)
    return check


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (entry(4, 2), "Entry 3 is missing"),
        (entry(3, 3), "The parent of entry 3"),
        (entry(3, 2), "The parent of entry 3"),
        (entry(3, 1, turn=4), "The turn of entry 3 begins after it"),
        (entry(3, 1, TurnChange(state=TurnState.RUNNING)), "Entry 3 belongs to no turn"),
        (entry(3, 1, TurnChange(state=TurnState.QUEUED), turn=1), "Entry 3 belongs to no turn"),
    ],
)
def test_an_entry_that_cannot_follow_is_refused(wrong: Entry, said: str) -> None:
    check = followed(entry(1, None), entry(2, 1, Summary(content="s")))
    with pytest.raises(InvalidImport, match=said):
        check.add(wrong)


def test_a_turn_is_open_until_its_end_is_there() -> None:
    running = entry(2, 1, TurnChange(state=TurnState.RUNNING), turn=1)
    assert followed(entry(1, None), running).open_turns == {1: TurnState.RUNNING}
    ended = entry(3, 1, TurnChange(state=TurnState.COMPLETED), turn=1)
    assert followed(entry(1, None), running, ended).open_turns == {}


def test_a_header_fits_what_its_log_adds_up_to_and_any_other_is_refused() -> None:
    check = followed(entry(1, None), entry(2, 1, Update(title="t", pinned=True)))
    right = {"entries": 2, "head": 1, "version": 2, "title": "t", "pinned": True}
    check.finish(header(**right))
    for name, value in (("entries", 3), ("head", 2), ("version", 3), ("version", 1), ("pinned", False)):
        with pytest.raises(InvalidImport):
            check.finish(header(**{**right, name: value}))


def test_a_long_log_waits_in_a_file_and_comes_back_as_often_as_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(portable, "IN_MEMORY", 100)
    log, spool = [entry(seq, seq - 1 or None) for seq in range(1, 6)], Spool("c")
    for each in log:
        spool.add(each, 40)
    assert len(spool._first) == 2
    assert list(spool()) == list(spool()) == log


def test_what_is_wrong_with_a_line_is_told_with_its_place() -> None:
    with pytest.raises(InvalidImport, match="seq: "):
        to_entry("c", {"seq": "many"})
    with pytest.raises(InvalidImport):
        validated(Header, b"no json")
