"""Messages: what fits together, and what is refused."""

from typing import Any

import pytest

from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.errors import InvalidId, InvalidText, InvalidValue, UnknownRole


@pytest.mark.parametrize("role", ["robot", "", "USER", None, 7, ["user"], {"role": "user"}])
def test_an_unknown_role_is_refused(role: Any) -> None:
    with pytest.raises(UnknownRole):
        Message(role=role, content="x")


@pytest.mark.parametrize("id", ["", "../x", "a\x00", "x" * 129, 7])
def test_a_message_with_a_bad_id_is_refused(id: Any) -> None:
    with pytest.raises(InvalidId):
        Message(id=id, role=Role.USER)


def test_messages_get_ids_of_their_own() -> None:
    assert Message(role=Role.USER).id != Message(role=Role.USER).id


@pytest.mark.parametrize(
    ("content", "error"), [("\ud800", InvalidText), (b"\xff", InvalidText), (7, InvalidValue), (None, InvalidValue)]
)
def test_content_that_is_no_text_is_refused(content: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Message(role=Role.USER, content=content)


def test_a_tool_message_says_which_call_it_answers_and_no_other_does() -> None:
    assert Message(role=Role.TOOL, tool_result=ToolResult(tool_call_id="c")).tool_result is not None
    with pytest.raises(InvalidValue):
        Message(role=Role.TOOL, content="result of nothing")
    with pytest.raises(InvalidValue):
        Message(role=Role.USER, tool_result=ToolResult(tool_call_id="c"))


def test_only_an_assistant_calls_tools() -> None:
    call = ToolCall(id="c", name="search")
    assert Message(role=Role.ASSISTANT, tool_calls=(call,)).tool_calls == (call,)
    for role in (Role.USER, Role.SYSTEM):
        with pytest.raises(InvalidValue):
            Message(role=role, tool_calls=(call,))
