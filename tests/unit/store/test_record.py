"""Placement: numbers, parents, jumps and the end of the log, for the cases that the tree's own tests do not tell."""

from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from threadkeep.conversation.entry import Approval, Body, Summary
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.tree import Jump
from threadkeep.store.record import Placed, Record, Tip, place_entries

NOW = datetime(2026, 1, 1, tzinfo=UTC)
SAID, CHANGED, REMARKED = Message(id="m", role=Role.USER), StateChange(), Summary(content="s")


def _never(parent: int) -> int:
    raise AssertionError(f"nothing jumps, but {parent} was asked for")


def _record(bodies: Sequence[Body], parent: int, turn: int | None = None) -> Record:
    return Record(at=NOW, bodies=tuple(bodies), parent=parent, turn=turn)


def _numbers(placed: Placed) -> list[tuple[int, int | None]]:
    return [(entry.seq, entry.parent) for entry in placed.entries]


def test_the_first_entry_of_all_has_no_parent() -> None:
    placed = place_entries(Tip(), _record([SAID], 0), "c", _never)
    assert (_numbers(placed), placed.jumps, placed.tip) == ([(1, None)], (), Tip(1, 1, 1))


def test_entries_of_a_branch_continue_each_other_and_remarks_hang_on_them() -> None:
    bodies: list[Body] = [SAID, REMARKED, CHANGED, Approval(tool_call_id="c", approved=True), REMARKED]
    placed = place_entries(Tip(5, 4, 4), _record(bodies, 4), "c", _never)
    assert _numbers(placed) == [(6, 4), (7, 6), (8, 6), (9, 8), (10, 8)]
    assert (placed.jumps, placed.tip) == ((), Tip(10, 8, 8))


def test_a_remark_alone_moves_neither_head_nor_newest() -> None:
    placed = place_entries(Tip(5, 2, 4), _record([REMARKED], 3), "c", _never)
    assert (_numbers(placed), placed.jumps, placed.tip) == ([(6, 3)], (), Tip(6, 2, 4))


@pytest.mark.parametrize(("parent", "beside"), [(0, 1), (2, 3), (2, 0)])
def test_an_entry_that_does_not_continue_the_newest_jumps(parent: int, beside: int) -> None:
    asked: list[int] = []

    def follower(seq: int) -> int:
        asked.append(seq)
        return beside

    placed = place_entries(Tip(5, 5, 5), _record([SAID, SAID], parent), "c", follower)
    assert placed.jumps == (Jump(first=6, parent=parent, left=5, beside=beside),)
    assert (_numbers(placed), placed.tip) == ([(6, parent or None), (7, 6)], Tip(7, 7, 7))
    assert asked == [parent]


def test_a_remark_before_a_branch_hangs_on_the_parent() -> None:
    placed = place_entries(Tip(5, 5, 5), _record([REMARKED, SAID], 2), "c", lambda parent: 3)
    assert _numbers(placed) == [(6, 2), (7, 2)]
    assert placed.jumps == (Jump(first=7, parent=2, left=5, beside=3),)


def test_entries_carry_their_conversation_turn_and_moment() -> None:
    (entry,) = place_entries(Tip(), _record([SAID], 0, turn=7), "c", _never).entries
    assert (entry.conversation, entry.turn, entry.created_at, entry.body) == ("c", 7, NOW, SAID)
