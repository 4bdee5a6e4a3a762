"""The short form of old lines."""

from tests.unit.context.logs import assistant, cut_off, entries, tool, user
from threadkeep.context.base import Audience
from threadkeep.context.lines import lines_of
from threadkeep.context.marks import CUT_OFF
from threadkeep.context.tokens import count_tokens
from threadkeep.conversation.message import Message, Role, ToolCall

LONG = "word " * 1000


def short(message: Message) -> Message:
    return lines_of(entries(message), Audience(count=count_tokens))[0].short.message


def test_a_person_is_never_shortened() -> None:
    assert short(user(LONG)).content == LONG


def test_a_result_keeps_its_ends_and_tells_what_is_missing() -> None:
    text = short(tool("a", f"HEAD {LONG} TAIL")).content
    assert text.startswith("HEAD ")
    assert text.endswith(" TAIL")
    assert "characters left out ...]" in text
    assert len(text) == 200
    assert short(tool("a", "small")).content == "small"


def test_an_answer_keeps_its_head_and_the_mark_that_it_was_cut_off() -> None:
    assert len(short(assistant(LONG)).content) <= 200
    text = short(cut_off(LONG)).content
    assert text.endswith(CUT_OFF)
    assert len(text) < 260


def test_long_arguments_are_shortened_wherever_they_are() -> None:
    call = ToolCall(id="a", name="write", args={"files": [{"text": LONG}], "count": 3})
    args = short(Message(id="m", role=Role.ASSISTANT, tool_calls=(call,), tokens=9)).tool_calls[0].args
    assert len(args["files"][0]["text"]) < 260
    assert args["count"] == 3


def test_masking_twice_is_masking_once() -> None:
    for message in (assistant(LONG), cut_off(LONG, "a"), tool("a", LONG)):
        assert short(short(message)) == short(message)
