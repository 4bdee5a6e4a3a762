"""Answers that were cut off are kept and marked."""

from tests.unit.context.logs import assistant, cut_off, material
from threadkeep.context.marks import CUT_OFF, NO_CONTENT, with_mark


def test_only_what_was_cut_off_is_marked() -> None:
    lines = material(cut_off("Once "), assistant("Twice")).lines
    assert [line.message.content for line in lines] == [f"Once\n\n{CUT_OFF}", "Twice"]


def test_nothing_said_leaves_the_mark_alone() -> None:
    assert with_mark(cut_off("", "a")).content == CUT_OFF
    assert with_mark(cut_off(NO_CONTENT)).content == CUT_OFF


def test_marking_twice_is_marking_once() -> None:
    once = with_mark(cut_off("Once"))
    assert with_mark(once) == once
