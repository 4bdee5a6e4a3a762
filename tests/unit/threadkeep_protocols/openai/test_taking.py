"""Input items become messages, with their calls, results and reasoning, and answers about calls that wait."""

from typing import Any

import pytest

from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import Attachment
from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import InvalidValue
from threadkeep.runtime import open_conversations
from threadkeep_protocols.openai.taking import Decision, InputReader, Taken

CALL = {"type": "function_call", "call_id": "c", "name": "look", "arguments": '{"place":"hall"}'}


async def _taken(given: object) -> Taken:
    async with await open_conversations("memory:", []) as conversations:
        return await InputReader(conversations, LOCAL).read(given)


def _shown(message: Message) -> tuple[str, str]:
    return message.role.value, message.content


async def test_a_text_is_a_question() -> None:
    taken = await _taken("hi")
    assert list(map(_shown, taken.messages)) == [("user", "hi")]


async def test_a_history_keeps_calls_with_their_message_and_reasoning_before_it() -> None:
    taken = await _taken(
        [
            {"role": "developer", "content": "Help."},
            {"role": "user", "content": [{"type": "input_text", "text": "a"}, {"type": "input_text", "text": "b"}]},
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]},
            {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "One moment."}]},
            {**CALL, "id": "fc_1"},
            {**CALL, "call_id": "d", "arguments": ""},
            {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "seen"}]},
            {"type": "mcp_approval_request", "id": "x", "name": "y", "arguments": "{}"},
            {
                "type": "mcp_call",
                "id": "m",
                "name": "keep",
                "arguments": "{}",
                "output": None,
                "error": {"content": "no"},
            },
            {"role": "assistant", "content": ""},
        ]
    )
    assert list(map(_shown, taken.messages)) == [
        ("system", "Help."),
        ("user", "a\n\nb"),
        ("assistant", "One moment."),
        ("tool", "seen"),
        ("assistant", ""),
        ("tool", "no"),
    ]
    said = taken.messages[2]
    assert [part.type for part in said.parts] == ["reasoning"]
    assert [(call.id, call.args) for call in said.tool_calls] == [("c", {"place": "hall"}), ("d", {})]
    assert taken.decisions == []


async def test_answers_about_calls_from_before_are_decisions() -> None:
    taken = await _taken(
        [
            {"type": "function_call_output", "call_id": "c", "output": {"city": "Oslo"}},
            {"type": "mcp_approval_response", "approval_request_id": "mcpr_d", "approve": False, "reason": "No."},
        ]
    )
    assert taken.decisions == [Decision("c", result='{"city": "Oslo"}'), Decision("d", approved=False, reason="No.")]


async def test_files_are_kept() -> None:
    part: Any = {"type": "input_file", "filename": "../a.txt", "file_data": "aGVsbG8="}
    (message,) = (await _taken([{"role": "user", "content": [part]}])).messages
    (file,) = message.parts
    assert isinstance(file, Attachment)
    assert (message.role, file.size, file.name) == (Role.USER, 5, "")


@pytest.mark.parametrize(
    "item",
    [
        *({"type": "item_reference", "id": "x"}, {"role": "tool", "content": "x"}, {"role": "user"}, 7),
        *({**CALL, "arguments": "[]"}, {**CALL, "arguments": "{"}, {**CALL, "name": "n" * 65}, {**CALL, "call_id": ""}),
        {"type": "mcp_approval_response", "approval_request_id": "x", "approve": 1},
    ],
)
async def test_what_cannot_be_taken_is_refused(item: object) -> None:
    with pytest.raises(InvalidValue):
        await _taken([item])
