"""The formats of messages: what is read of them, and how ours look in each."""

import pytest

from threadkeep.conversation.message import Role
from threadkeep.errors import InvalidValue
from threadkeep_protocols.ai_sdk.showing import Json
from threadkeep_protocols.assistant_ui.formats import AI_SDK, AUI, in_format, role_of, text_of, turn_of

CALL = {"type": "tool-look", "toolCallId": "c1", "input": {"place": "hall"}}
ANSWER: Json = {
    "id": "answer-1",
    "role": "assistant",
    "metadata": {"turn": 1, "state": "cancelled"},
    "parts": [
        {"type": "step-start"},
        {"type": "text", "text": "Look:"},
        {**CALL, "state": "output-available", "output": 5},
        {**CALL, "state": "approval-requested", "approval": {"id": "c1"}},
        {"type": "file", "mediaType": "image/png", "url": "/v1/files/a"},
        {"type": "file", "mediaType": "text/plain", "url": "/v1/files/b", "filename": "b.txt"},
        {"type": "source-url", "sourceId": "s", "url": "https://example.org/", "title": "Example"},
        {"type": "source-document", "sourceId": "d", "mediaType": "text/plain", "title": "Map"},
        {"type": "data-table", "id": "t", "data": {"rows": []}},
    ],
}


def test_an_answer_of_ours_has_each_part_in_the_words_of_the_format() -> None:
    for form in AI_SDK:
        assert in_format(ANSWER, form) == {name: value for name, value in ANSWER.items() if name != "id"}
    told = in_format(ANSWER, AUI)
    call = {"type": "tool-call", "toolCallId": "c1", "toolName": "look", "args": {"place": "hall"}}
    assert told["content"] == [
        {"type": "text", "text": "Look:"},
        {**call, "result": 5},
        {**call, "approval": {"id": "c1"}},
        {"type": "image", "image": "/v1/files/a"},
        {"type": "file", "data": "/v1/files/b", "mimeType": "text/plain", "filename": "b.txt"},
        {"type": "source", "sourceType": "url", "id": "s", "title": "Example", "url": "https://example.org/"},
        {"type": "source", "sourceType": "document", "id": "d", "title": "Map", "mediaType": "text/plain"},
        {"type": "data", "name": "table", "data": {"rows": []}},
    ]
    assert told["status"] == {"type": "incomplete", "reason": "cancelled"}
    assert turn_of(told) == turn_of(ANSWER) == 1
    assert text_of(told) == text_of(ANSWER) == "Look:"


@pytest.mark.parametrize("role", [None, 5, "tool", ["user"], {}])
def test_a_message_of_nobody_is_refused(role: object) -> None:
    with pytest.raises(InvalidValue, match="role"):
        role_of({"role": role})
    assert role_of({"role": "system"}) is Role.SYSTEM
