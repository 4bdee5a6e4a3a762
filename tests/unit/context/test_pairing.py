"""Calls and results pair up, and user and assistant speak by turns, whatever the log."""

import pytest

from tests.unit.context.logs import assistant, entries, told, tool, user
from threadkeep.context.base import Audience
from threadkeep.context.lines import MAX_CALLS, legal_name, lines_of
from threadkeep.context.pairing import GO_ON, OPENING, UNANSWERED, UNKNOWN, alternated
from threadkeep.context.pairing import paired as paired_lines
from threadkeep.context.tokens import count_tokens
from threadkeep.conversation.message import Message, Role, ToolCall

AUDIENCE = Audience(count=count_tokens)


def paired(*messages: Message) -> tuple[Message, ...]:
    return tuple(line.message for line in paired_lines(lines_of(entries(*messages), AUDIENCE)))


def by_turns(*messages: Message) -> tuple[Message, ...]:
    return tuple(line.shown for line in alternated(lines_of(entries(*messages), AUDIENCE), AUDIENCE))


def shape(messages: tuple[Message, ...]) -> list[object]:
    """Return calls as lists of ids, results as (id, text), other messages as their text."""
    return [
        (message.tool_result.tool_call_id, message.content)
        if message.tool_result
        else [call.id for call in message.tool_calls] or message.content
        for message in messages
    ]


def test_what_is_paired_stays_as_it_is() -> None:
    messages = (user("q"), assistant("", "a", "b"), tool("a"), tool("b"), assistant("done"))
    assert paired(*messages) == messages


def test_a_call_without_a_result_gets_one_that_says_so() -> None:
    assert shape(paired(assistant("", "a", "b"), tool("b", "B"), user("q"))) == [
        ["a", "b"],
        ("a", UNKNOWN),
        ("b", "B"),
        "q",
    ]


def test_results_stand_behind_their_call_in_the_order_of_the_calls() -> None:
    given = (assistant("", "a", "b"), tool("b", "B"), user("q"), tool("a", "A"))
    assert shape(paired(*given)) == [["a", "b"], ("a", "A"), ("b", "B"), "q"]


def test_orphans_and_second_results_go() -> None:
    given = (tool("a", "early"), assistant("", "a"), tool("a", "A"), tool("a", "again"), tool("x", "orphan"))
    assert shape(paired(*given)) == [["a"], ("a", "A")]


def test_two_calls_of_one_message_with_one_id_get_a_result_each() -> None:
    given = (assistant("", "a", "a"), tool("a", "1"), tool("a", "2"))
    assert shape(paired(*given)) == [["a", "a-2"], ("a", "1"), ("a-2", "2")]


def test_an_id_that_comes_again_in_a_later_answer_belongs_to_the_later_call() -> None:
    given = (assistant("", "a"), user("q"), assistant("", "a"), tool("a", "second"))
    assert shape(paired(*given)) == [["a"], ("a", UNKNOWN), "q", ["a-2"], ("a-2", "second")]


def test_an_id_that_was_made_distinct_meets_no_other() -> None:
    assert shape(paired(assistant("", "a", "a", "a-2")))[0] == ["a", "a-2", "a-2-2"]


def test_ids_are_made_legal_and_stay_apart() -> None:
    ids = [call.id for call in paired(assistant("", "call:1", "call;1", "x" * 41, "x" * 42))[0].tool_calls]
    assert len(set(ids)) == 4
    assert all(len(id) <= 40 and id.replace("-", "").replace("_", "").isalnum() for id in ids)


def test_names_are_made_legal() -> None:
    assert legal_name("server__tool-1") == "server__tool-1"
    assert legal_name("1st tool") == "_1st_tool"
    assert legal_name("é" * 64) == "_" * 64
    assert len(legal_name("9" * 64)) == 64


def test_u_0000_leaves_the_arguments() -> None:
    call = ToolCall(id="a", name="look", args={"a\x00": ["b\x00"]})
    messages = paired(Message(id="m", role=Role.ASSISTANT, tool_calls=(call,)))
    assert messages[0].tool_calls[0].args == {"a\ufffd": ["b\ufffd"]}


def test_more_calls_than_a_provider_takes_are_left_out_with_their_results() -> None:
    ids = [f"c{number}" for number in range(MAX_CALLS + 5)]
    messages = paired(assistant("", *ids), *(tool(id) for id in ids))
    assert len(messages[0].tool_calls) == MAX_CALLS
    assert len(messages) == 1 + MAX_CALLS


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
    assert told(by_turns(*given)) == expected


def test_an_answer_merges_with_the_calls_that_follow_it() -> None:
    given = (user("1"), assistant("Let me see."), assistant("", "a"), tool("a"))
    merged = by_turns(*given)[1]
    assert (merged.content, [call.id for call in merged.tool_calls]) == ("Let me see.", ["a"])
