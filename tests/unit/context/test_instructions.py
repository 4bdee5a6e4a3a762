"""One system message, the first."""

from tests.unit.context.logs import entries, material, system, user
from threadkeep.context.base import Cut, Material, Working
from threadkeep.context.history import history
from threadkeep.context.history import instructions


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
