"""The lines of a history, and how they fall into turns."""

from tests.unit.context.logs import assistant, entries, entry, material, tool, user
from threadkeep.context.base import Cut, Working
from threadkeep.context.history import history, in_turns, lines_of
from threadkeep.conversation.state import StateChange


def test_only_messages_from_the_cut_on_are_lines() -> None:
    given = material(user("old"), assistant("old"), user("new"), StateChange(), cut=Cut(first=3))
    assert [line.seq for line in history(Working(material=given)).lines] == [3]


def test_a_failed_result_without_text_says_its_error() -> None:
    assert lines_of(entries(tool("a", " ", error="timed out")))[0].message.content == "timed out"


def test_turns_begin_with_questions_and_the_last_is_the_current_one() -> None:
    lines = lines_of(entries(assistant("x"), user("1"), assistant("y"), user("2"), user("3"), assistant("z")))
    earlier, current = in_turns(lines, 99)
    assert [[line.seq for line in turn] for turn in earlier] == [[1], [2, 3], [4]]
    assert [line.seq for line in current] == [5, 6]


def test_the_turn_of_that_number_is_the_current_one() -> None:
    lines = lines_of([entry(user("1"), 1, 1), entry(user("2"), 2, 2), entry(user("3"), 3, 3)])
    earlier, current = in_turns(lines, 2)
    assert [line.seq for turn in earlier for line in turn] == [1]
    assert [line.seq for line in current] == [2, 3]


def test_without_any_question_everything_is_the_current_turn() -> None:
    earlier, current = in_turns(lines_of(entries(assistant("x"), tool("a"))), 1)
    assert (earlier, len(current)) == ([], 2)
    assert in_turns([], 1) == ([], ())
