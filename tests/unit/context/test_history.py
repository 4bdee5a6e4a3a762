"""The lines of a history, how they fall into turns, and the one system message before them."""

from tests.unit.context.logs import assistant, entries, entry, material, system, tool, user
from threadkeep.context.base import Cut, Material, Working
from threadkeep.context.history import history, in_turns, instructions, lines_of
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


def result(given: Material) -> tuple[str, list[tuple[str, str, bool]]]:
    working = instructions(history(Working(material=given)))
    return working.system, [(line.message.role, line.message.content, line.opens) for line in working.lines]


def test_without_instructions_there_is_no_system_message() -> None:
    assert result(material(user("hello"))) == ("", [("user", "hello", True)])


def test_system_messages_that_begin_the_log_follow_the_instructions() -> None:
    text, lines = result(material(system("Speak French."), system(" "), user("hello"), instructions="Be kind."))
    assert text == "Be kind.\n\nSpeak French."
    assert lines == [("user", "hello", True)]


def test_a_later_system_message_is_a_marked_note_in_its_place_and_opens_no_turn() -> None:
    text, lines = result(material(user("hello"), system("Be brief."), instructions="Be kind."))
    assert text == "Be kind."
    assert lines[1] == ("user", "[Threadkeep: instructions given at this point: Be brief.]", False)


def test_opening_system_messages_stay_when_the_log_is_cut_behind_them() -> None:
    log = entries(system("Speak French."), user("hello"), system("Be brief."), user("now"))
    text, lines = result(material(entries=log, opening=log[:1], cut=Cut(first=3)))
    assert text == "Speak French."
    assert [content for _, content, _ in lines] == ["[Threadkeep: instructions given at this point: Be brief.]", "now"]


def test_u_0000_is_replaced() -> None:
    assert result(material(user("a\x00b"), instructions="c\x00d")) == ("c\ufffdd", [("user", "a\ufffdb", True)])
