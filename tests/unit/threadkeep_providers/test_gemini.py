"""Gemini's form: what is written is what Gemini takes, and what it streams becomes our deltas."""

from tests.unit.threadkeep_providers.talking import (
    BYTES,
    GONE,
    IMAGE,
    LOOK,
    PDF,
    SOUND,
    answered,
    conversation,
    said,
    sent,
)
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.llm.base import CallPart, Reasoned, Stopped, Text
from threadkeep_providers.gemini import Contents, read_contents


def test_contents_are_read() -> None:
    calls = [{"functionCall": {"name": "f", "args": {"x": 1}}}, {"functionCall": {"id": "c2", "name": "g"}}]
    assert said(
        read_contents,
        {"candidates": [{"content": {"parts": [{"text": "hm", "thought": True}, {"text": "Hi"}]}}]},
        {"candidates": [{"content": {"parts": calls}, "finishReason": "STOP"}]},
    ) == [
        Reasoned(text="hm"),
        Text("Hi"),
        CallPart(index=0, name="f", args='{"x": 1}'),
        CallPart(index=1, id="c2", name="g", args="{}"),
        Stopped("stop"),
    ]


def test_contents_that_go_on_elsewhere_were_cut_off_and_a_blocked_question_was_not() -> None:
    assert said(read_contents, {"candidates": [{"finishReason": "CONTINUATION"}]}) == []
    assert said(read_contents, {"promptFeedback": {"blockReason": "SAFETY"}}) == [Stopped("blocked: safety")]


def test_gemini_gets_the_signature_of_each_call_back_with_it_and_results_by_the_name_of_the_tool() -> None:
    parts = [
        {"text": "hm", "thought": True},
        {"functionCall": {"id": "c1", "name": "look"}, "thoughtSignature": "c2ln"},
        {"functionCall": {"id": "c2", "name": "look"}},
    ]
    answer = answered(read_contents, {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})
    assert [part.model_dump(exclude={"type", "duration", "model"}) for part in answer.parts] == [
        {"text": "hm"},
        {"payload": {"signature": "c2ln"}, "call": "c1"},
    ]
    body = sent(Contents(), conversation(answer))
    assert body["contents"][1:] == [
        {
            "role": "model",
            "parts": [
                {"functionCall": {"id": "c1", "name": "look", "args": {}}, "thoughtSignature": "c2ln"},
                {"functionCall": {"id": "c2", "name": "look", "args": {}}},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"id": id, "name": "look", "response": {"output": "7"}}} for id in ("c1", "c2")
            ],
        },
    ]
    declared = {"name": "look", "description": "Look.", "parametersJsonSchema": LOOK.parameters}
    assert body["tools"] == [{"functionDeclarations": [declared]}]


def test_a_tool_that_failed_says_so() -> None:
    failed = Message(role=Role.TOOL, content="no", tool_result=ToolResult(tool_call_id="c", error="it broke"))
    asked = Message(role=Role.ASSISTANT, tool_calls=(ToolCall(id="c", name="look"),))
    (part,) = sent(Contents(), [asked, failed])["contents"][1]["parts"]
    assert part["functionResponse"]["response"] == {"error": "no"}


def test_files_are_sent_in_their_order() -> None:
    heard = Message(role=Role.USER, content="Look here", parts=(IMAGE, PDF, SOUND))
    system = Message(role=Role.SYSTEM, content="Be brief.")
    body = sent(Contents(), [system, heard], BYTES, thinkingConfig="low", topP=0.5)
    assert body["contents"][0]["parts"] == [
        {"inlineData": {"mimeType": "image/png", "data": "cG5n"}},
        {"text": "Look"},
        {"inlineData": {"mimeType": "application/pdf", "data": "cGRm"}},
        {"inlineData": {"mimeType": "audio/mp3", "data": "bXAz"}},
        {"text": " here"},
    ]
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert body["generationConfig"] == {"thinkingConfig": {"thinkingLevel": "low"}, "topP": 0.5}
    (gone,) = sent(Contents(), [heard.model_copy(update={"parts": (IMAGE,)})])["contents"]
    assert gone["parts"][0] == {"text": GONE}
