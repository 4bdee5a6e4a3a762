"""User and assistant by turns."""

import pytest

from tests.unit.context.logs import assistant, material, system, told, tool, user
from threadkeep.context.alternation import GO_ON, OPENING, UNANSWERED, alternation
from threadkeep.context.base import Working
from threadkeep.conversation.message import Message


def result(*messages: Message) -> list[tuple[str, str]]:
    return told(alternation(Working(material=material(), messages=messages)).messages)


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ((), [("user", GO_ON)]),
        ((user("1"), user("2")), [("user", "1\n\n2")]),
        (
            (user("1"), assistant("a"), assistant("b"), user("2")),
            [("user", "1"), ("assistant", "a\n\nb"), ("user", "2")],
        ),
        ((assistant("a"), user("1")), [("user", OPENING), ("assistant", "a"), ("user", "1")]),
        ((user("1"), assistant("a")), [("user", "1"), ("assistant", "a"), ("user", GO_ON)]),
        ((system("s"), user("1")), [("system", "s"), ("user", "1")]),
        (
            (user("1"), assistant("", "a"), tool("a", "A"), user("2")),
            [("user", "1"), ("assistant", ""), ("tool", "A"), ("assistant", UNANSWERED), ("user", "2")],
        ),
        (
            (user("1"), assistant("", "a"), tool("a", "A"), assistant("", "b"), tool("b", "B")),
            [("user", "1"), ("assistant", ""), ("tool", "A"), ("assistant", ""), ("tool", "B")],
        ),
    ],
)
def test_neighbours_are_merged_and_gaps_are_filled(given: tuple[Message, ...], expected: list[object]) -> None:
    assert result(*given) == expected


def test_an_answer_merges_with_the_calls_that_follow_it() -> None:
    given = (user("1"), assistant("Let me see."), assistant("", "a"), tool("a"))
    merged = alternation(Working(material=material(), messages=given)).messages[1]
    assert (merged.content, [call.id for call in merged.tool_calls]) == ("Let me see.", ["a"])
