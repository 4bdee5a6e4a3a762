"""The lines of a history, how they fall into turns, and the one system message before them."""

from collections import Counter
from collections.abc import Iterable

from tests.unit.context.logs import assistant, built, entries, entry, material, system, told, tool, user
from threadkeep.context.base import Cut, Material
from threadkeep.context.lines import Line, in_turns
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message
from threadkeep.conversation.state import StateChange


def lines_of(entries: Iterable[Entry]) -> tuple[Line, ...]:
    return material(entries=entries).lines


def test_only_messages_are_lines_and_only_those_from_the_cut_on_are_shown() -> None:
    given = material(user("old"), assistant("old"), user("new"), StateChange(), cut=Cut(first=3))
    assert [line.seq for line in given.lines] == [1, 2, 3]
    assert result(given) == ("", [("user", "new")])


def test_a_line_is_measured_once_and_so_is_its_short_form() -> None:
    counted = Counter[str]()

    def count(message: Message) -> int:
        counted[message.content] += 1
        return len(message.content)

    log = [message for word in "abc" for message in (user(f"{word}?"), assistant(f"{word} " * 200))]
    given = material(*log, user("And now?"), budget=400, count=count)
    assert built(given) == built(given)
    texts = [line.shown.content for line in given.lines] + [line.short.shown.content for line in given.lines[1::2]]
    assert {counted[text] for text in texts} == {1}


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
    assert in_turns([], 1) == ([], [])


def result(given: Material) -> tuple[str, list[tuple[str, str]]]:
    """Return the system text and the other messages."""
    messages = told(built(given).messages)
    texts = [text for role, text in messages if role == "system"]
    return "".join(texts), [(role, text) for role, text in messages if role != "system"]


def test_without_instructions_there_is_no_system_message() -> None:
    assert result(material(user("hello"))) == ("", [("user", "hello")])


def test_system_messages_that_begin_the_log_follow_the_instructions() -> None:
    text, lines = result(material(system("Speak French."), system(" "), user("hello"), instructions="Be kind."))
    assert text == "Be kind.\n\nSpeak French."
    assert lines == [("user", "hello")]


def test_a_later_system_message_is_a_marked_note_in_its_place_and_opens_no_turn() -> None:
    given = material(user("hello"), system("Be brief."), instructions="Be kind.")
    assert [line.opens for line in given.lines] == [True, False]
    text, lines = result(given)
    assert text == "Be kind."
    assert lines == [("user", "hello\n\n[Threadkeep: instructions given at this point: Be brief.]")]


def test_opening_system_messages_stay_when_the_log_is_cut_behind_them() -> None:
    log = entries(system("Speak French."), user("hello"), system("Be brief."), user("now"))
    text, lines = result(material(entries=log, opening=log[:1], cut=Cut(first=3)))
    assert text == "Speak French."
    assert lines == [("user", "[Threadkeep: instructions given at this point: Be brief.]\n\nnow")]


def test_u_0000_is_replaced() -> None:
    assert result(material(user("a\x00b"), instructions="c\x00d")) == ("c\ufffdd", [("user", "a\ufffdb")])
