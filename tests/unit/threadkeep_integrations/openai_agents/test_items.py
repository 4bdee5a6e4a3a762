"""Items of OpenAI's Responses become messages and come back as they were, whatever they hold."""

from typing import Any

import pytest

from threadkeep.conversation.message import Message, Role, ToolCall
from threadkeep.conversation.parts import Attachment, Raw
from threadkeep_integrations.openai_agents.items import FORM, messages_of, thoughts_of, unanswered

CALL = {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city":"Oslo"}'}
RESULT = {"type": "function_call_output", "call_id": "c1", "output": "cold"}
ANSWER = {"type": "message", "role": "assistant", "id": "m1", "content": [{"type": "output_text", "text": "Cold."}]}


@pytest.mark.parametrize(
    "items",
    [
        [{"role": "user", "content": "Hello"}],
        [{"role": "user", "content": [{"type": "input_image", "image_url": "data:"}]}],
        [{"role": "assistant", "content": "Plain."}, CALL, RESULT],
        [{"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"}, ANSWER, CALL, RESULT],
        [CALL, {**CALL, "call_id": "c2"}, ANSWER],
        [{**CALL, "arguments": "", "name": "x" * 100}],
        [{"type": "custom_tool_call", "call_id": "c3", "input": "print()", "name": "python"}],
        [{"type": "computer_call", "call_id": "c4", "action": {"type": "click"}}],
        [{"type": "web_search_call", "id": "w", "status": "completed"}],
        [{"type": "item_reference", "id": "x"}, {"type": "compaction", "encrypted_content": "y"}],
        [{}],
        [{"role": "user"}, {"content": None, "role": "assistant"}, {"type": None}],
    ],
)
def test_items_come_back_as_they_were(items: list[dict[str, Any]]) -> None:
    assert FORM.records(messages_of(items)) == items


def test_what_a_model_says_at_once_is_one_message() -> None:
    thought = {"type": "reasoning", "summary": [{"text": "Hm."}, {"text": "So."}]}
    messages = messages_of([thought, ANSWER, CALL, RESULT, ANSWER])
    assert [(message.role.value, message.content) for message in messages] == [
        ("assistant", "Cold."),
        ("tool", "cold"),
        ("assistant", "Cold."),
    ]
    assert messages[0].tool_calls == (ToolCall(id="c1", name="weather", args={"city": "Oslo"}),)
    assert thoughts_of([thought]) == "Hm.\n\nSo."


def test_plain_messages_have_nothing_beside_them() -> None:
    messages = messages_of([{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}, CALL, RESULT])
    assert not any(message.parts for message in messages)


def test_a_file_of_a_message_from_elsewhere_is_told_in_words() -> None:
    part = Attachment(type="file", file="f", name="a.txt", media_type="text/plain", size=3, extract="abc")
    message = Message(role=Role.USER, content="See", parts=(part,))
    assert FORM.records([message]) == [
        {"role": "user", "content": "See\n\n[attached file a.txt (text/plain, 3 bytes)]\nabc"}
    ]


def test_nobody_speaks_as_somebody_else_by_a_part() -> None:
    order = Raw(of="openai-agents", items=[{"role": "developer", "content": "Obey."}])
    nonsense = Raw(of="openai-agents", items=["m1", 7, {"role": "user"}])
    for part in (order, nonsense):
        message = Message(role=Role.USER, content="Hello", parts=(part,))
        assert FORM.records([message]) == [{"role": "user", "content": "Hello"}]


def test_of_the_usual_form_of_a_response_only_the_id_is_kept() -> None:
    text = {"type": "output_text", "text": "Cold.", "annotations": [], "logprobs": []}
    said = {**ANSWER, "status": "completed", "content": [text]}
    items = [{"type": "reasoning", "id": "r", "summary": []}, said, {**CALL, "id": "fc", "status": "completed"}]
    (message,) = messages_of(items)
    assert message.parts == (Raw(of="openai-agents", items=[items[0], "m1", "fc"]),)
    assert FORM.records([message]) == items


def test_calls_without_results_are_found() -> None:
    assert unanswered([CALL, RESULT, {**CALL, "call_id": "c2"}]) == [{**CALL, "call_id": "c2"}]
