"""What was shown is read from a context in every shape that it can have."""

import json

import pytest

from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.llm.base import Request
from threadkeep.text.excerpt import OLD, ends
from threadkeep_assistants.demo.script import Scene
from threadkeep_assistants.market import ASSISTANT
from threadkeep_assistants.market.past import Past, past_of

RANKED = json.dumps({"shown": ["DHI", "LEN", "NEE"], "summary": "x" * 600}, separators=(",", ":"))
CALL = ToolCall(id="c1", name="rank_stocks", args={"theme": "rate_cuts"})


def user(text: str) -> Message:
    return Message(role=Role.USER, content=text)


def says(text: str, *calls: ToolCall) -> Message:
    return Message(role=Role.ASSISTANT, content=text, tool_calls=calls)


def result(content: str, error: str | None = None, id: str = "c1") -> Message:
    return Message(role=Role.TOOL, content=content, tool_result=ToolResult(tool_call_id=id, error=error))


def past(*messages: Message) -> Past:
    return past_of(Scene(Request(messages=messages, tools=ASSISTANT.tools.specs())))


def told(read: Past) -> list[list[str]]:
    return [[company.ticker for company in companies] for companies, _ in read.groups]


@pytest.mark.parametrize("content", [RANKED, ends(RANKED, OLD)])
def test_a_result_tells_it_with_the_call_also_when_it_was_shortened(content: str) -> None:
    read = past(user("List?"), says("", CALL), result(content), says("1. AAPL 2. MSFT"), user("the second one"))
    assert told(read) == [["DHI", "LEN", "NEE"]]
    assert read.ranking_before == CALL.args


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Showed ranked list: DHI, LEN, NEE, PLD, AMT... Ordered by", ["DHI", "LEN", "NEE", "PLD", "AMT"]),
        ("The best: 1. Lennar (LEN), 2. Apple (AAPL).", ["LEN", "AAPL"]),
        ("Compared D.R. Horton (DHI) vs Apple (AAPL)", ["DHI", "AAPL"]),
        ("Lennar (LEN), Homebuilders: Builds family homes.", ["LEN"]),
    ],
)
def test_the_words_of_an_answer_tell_it_where_no_result_does(text: str, expected: list[str]) -> None:
    assert told(past(user("Hm?"), says(text), user("and it?"))) == [expected]


@pytest.mark.parametrize("text", ["I do not know.", "Showed ranked list: XX, YY", ""])
def test_words_that_name_nothing_show_nothing(text: str) -> None:
    assert told(past(user("Hm?"), says(text), user("and it?"))) == []


def test_a_call_that_failed_showed_nothing() -> None:
    assert told(past(user("?"), says("", CALL), result("no", error="no"), says("Sorry."), user("it?"))) == []


def test_a_first_question_has_no_past() -> None:
    assert past(user("the second one")) == Past()
