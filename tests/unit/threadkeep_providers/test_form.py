"""What a form writes: providers take it by their strict rules, and a message is written once as long as it is equal."""

from typing import Any

import pytest

from tests.unit.threadkeep_providers.talking import BYTES, IMAGE, sent
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.conversation.parts import Reasoning
from threadkeep.testing.providers import anthropic, gemini, openai, openai_responses
from threadkeep_providers.anthropic import Messages
from threadkeep_providers.form import Files, Form, WrittenMessages, joined
from threadkeep_providers.gemini import Contents
from threadkeep_providers.openai import ChatCompletions, Responses

FORMS: list[tuple[Form, Any, dict[str, Any]]] = [
    (ChatCompletions(), openai, {}),
    (Responses(), openai_responses, {"encrypted_content": "e"}),
    (Messages(), anthropic, {"signature": "s"}),
    (Contents(), gemini, {}),
]


def call(id: str) -> ToolCall:
    return ToolCall(id=id, name="look", args={"at": 'the "é" \u2028'})


def result(id: str) -> Message:
    return Message(role=Role.TOOL, content="found", tool_result=ToolResult(tool_call_id=id))


@pytest.mark.parametrize(("form", "rules", "payload"), FORMS, ids=[type(form).__name__ for form, *_ in FORMS])
def test_a_provider_takes_what_is_written(form: Form, rules: Any, payload: dict[str, Any]) -> None:
    thought = (Reasoning(text="hm", payload=payload, model="m"),) if payload else ()
    body = sent(
        form,
        [
            Message(role=Role.SYSTEM, content="Be kind."),
            Message(role=Role.USER, content="hello \U0001f600"),
            Message(role=Role.ASSISTANT, tool_calls=(call("a"), call("b")), parts=thought),
            result("a"),
            result("b"),
            Message(role=Role.ASSISTANT, content="Once more.", tool_calls=(call("c"),)),
            result("c"),
        ],
    )
    for item in body.get("input", ()):
        for block in item.get("content", ()):
            block["type"] = "text"  # the rules know one kind of text
    rules.check_body(body)


class Counting(ChatCompletions):
    """Counts what it writes."""

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def written(self, message: Message, files: Files, tool: str) -> bytes:
        self.count += 1
        return super().written(message, files, tool)


def test_a_message_is_written_once_as_long_as_it_is_equal() -> None:
    form = Counting()
    kept = WrittenMessages(form)
    messages = [Message(id=f"m{number}", role=Role.USER, content=str(number)) for number in range(10)]
    first = kept.of(messages, {})
    again = [message.model_copy() for message in messages]
    assert [written for _, written in kept.of(again, {})] == [written for _, written in first]
    assert form.count == 10
    edited = messages[3].model_copy(update={"content": "three"})
    ((_, written),) = kept.of([edited], {})
    assert written == b'{"role":"user","content":"three"}'
    assert form.count == 11


def test_the_name_of_a_tool_counts_for_its_result() -> None:
    kept = WrittenMessages(Contents())
    answered = result("a")
    for name in ("look", "hear"):
        asked = Message(role=Role.ASSISTANT, tool_calls=(ToolCall(id="a", name=name),))
        assert name.encode() in kept.of([asked, answered], {})[1][1]


def test_files_are_read_anew_each_time() -> None:
    kept = WrittenMessages(ChatCompletions())
    seen = Message(role=Role.USER, content="Look", parts=(IMAGE,))
    ((_, shown),) = kept.of([seen], BYTES)
    ((_, gone),) = kept.of([seen], {})
    assert b"cG5n" in shown
    assert b"cannot be shown" in gone


def test_what_is_kept_has_a_limit_and_the_oldest_make_room() -> None:
    form = Counting()
    kept = WrittenMessages(form, most=1000)
    messages = [Message(id=f"m{number}", role=Role.USER, content="x" * 300) for number in range(5)]
    kept.of(messages, {})
    kept.of(messages[3:], {})
    assert form.count == 5
    kept.of(messages[:1], {})
    assert form.count == 6
    kept.of([Message(id="huge", role=Role.USER, content="x" * 2000)], {})
    kept.of(messages[:1], {})
    assert form.count == 8


def test_lists_are_joined_to_the_fields_as_they_are() -> None:
    assert joined({"a": "é"}, b=b"1", c=b"", d=b"2,3") == '{"a":"é","b":[1],"d":[2,3]}'.encode()
    assert joined({}, b=b"1", c=b"2") == b'{"b":[1],"c":[2]}'
