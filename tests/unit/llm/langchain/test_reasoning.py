"""Reasoning there and back: what a provider streams is stored, and sent back to it exactly as it wants it."""

from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk

from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.conversation.parts import Attachment, Part, Reasoning
from threadkeep.llm.answer import Answer
from threadkeep.llm.langchain.messages import GEMINI_SIGNATURES, ChunkReader, to_langchain
from threadkeep.llm.langchain.model import accepted_by, chat_model_named
from threadkeep.llm.langchain.wire import (
    AnthropicReader,
    DeltaBuffer,
    Reader,
    read_gemini,
    read_openai_chat,
    read_openai_response,
)

IMAGE = Attachment(type="image", file="f1", name="cat.png", media_type="image/png", size=3)
PDF = Attachment(type="file", file="f2", name="a.pdf", media_type="application/pdf", size=3, at=4)


def answered(read: Reader, *events: dict[str, Any]) -> Message:
    """Return the message that is stored of an answer."""
    buffer, answer = DeltaBuffer(), Answer()
    for event in events:
        read(event, buffer)
        for delta in buffer.drain():
            answer.add(delta)
    calls = answer.calls(lambda: "new")
    parts = answer.reasoning("the:model", calls)
    return Message(role=Role.ASSISTANT, content=answer.text, tool_calls=calls, parts=parts)


def conversation(answer: Message) -> list[Message]:
    results = (
        Message(role=Role.TOOL, content="7", tool_result=ToolResult(tool_call_id=call.id)) for call in answer.tool_calls
    )
    return [Message(role=Role.USER, content="Go"), answer, *results]


def block(index: int, first: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    start = {"type": "content_block_start", "index": index, "content_block": first}
    return [start, *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas)]


def test_anthropic_gets_its_thinking_back_with_signatures_redacted_and_in_order() -> None:
    answer = answered(
        AnthropicReader(),
        *block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            {"type": "thinking_delta", "thinking": "Let me "},
            {"type": "thinking_delta", "thinking": "see."},
            {"type": "signature_delta", "signature": "EqQB"},
        ),
        *block(1, {"type": "redacted_thinking", "data": "EmwK"}),
        *block(2, {"type": "text", "text": ""}, {"type": "text_delta", "text": "I look."}),
        *block(3, {"type": "thinking", "thinking": ""}, {"type": "signature_delta", "signature": "Hidden"}),
        *block(4, {"type": "tool_use", "id": "t1", "name": "look", "input": {}}),
    )
    assert [part.model_dump(exclude={"type", "duration", "model"}) for part in answer.parts] == [
        {"text": "Let me see.", "payload": {"signature": "EqQB"}},
        {"payload": {"data": "EmwK"}},
        {"at": 7, "payload": {"signature": "Hidden"}},
    ]
    chat: Any = chat_model_named("anthropic:claude-sonnet-4-5", api_key="k")
    sent = chat._get_request_payload(to_langchain(conversation(answer)))["messages"]
    assert sent[1] == {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "Let me see.", "signature": "EqQB"},
            {"type": "redacted_thinking", "data": "EmwK"},
            {"type": "text", "text": "I look."},
            {"type": "thinking", "thinking": "", "signature": "Hidden"},
            {"type": "tool_use", "id": "t1", "name": "look", "input": {}},
        ],
    }


def test_openai_gets_its_encrypted_reasoning_items_back_before_what_follows_them() -> None:
    first = {
        "type": "reasoning",
        "id": "rs_1",
        "summary": [{"type": "summary_text", "text": "One."}, {"type": "summary_text", "text": "Two."}],
        "encrypted_content": "gAAA",
    }
    second = {"type": "reasoning", "id": "rs_2", "summary": [], "encrypted_content": "gBBB"}
    call = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": ""}
    other = {**call, "call_id": "c2"}
    answer = answered(
        read_openai_response,
        {"type": "response.reasoning_summary_part.added", "summary_index": 0},
        {"type": "response.reasoning_summary_text.delta", "delta": "One."},
        {"type": "response.reasoning_summary_part.added", "summary_index": 1},
        {"type": "response.reasoning_summary_text.delta", "delta": "Two."},
        {"type": "response.output_item.done", "item": first},
        {"type": "response.output_item.added", "output_index": 1, "item": call},
        {"type": "response.output_item.done", "item": second},
        {"type": "response.output_item.added", "output_index": 3, "item": other},
    )
    assert [(part.text, part.call) for part in answer.parts if isinstance(part, Reasoning)] == [
        ("One.\n\nTwo.", None),
        ("", "c2"),
    ]
    chat: Any = chat_model_named("openai:gpt-5", api_key="k")
    sent = chat._get_request_payload(to_langchain(conversation(answer)))["input"]
    assert sent[1:5] == [
        first,
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"},
        second,
        {"type": "function_call", "call_id": "c2", "name": "look", "arguments": "{}"},
    ]


def test_gemini_gets_the_signature_of_each_call_back_with_it() -> None:
    parts = [
        {"text": "hm", "thought": True},
        {"functionCall": {"id": "c1", "name": "look"}, "thoughtSignature": "c2ln"},
        {"functionCall": {"id": "c2", "name": "look"}},
    ]
    answer = answered(read_gemini, {"candidates": [{"content": {"parts": parts}, "finishReason": "STOP"}]})
    assert [part.model_dump(exclude={"type", "duration", "model"}) for part in answer.parts] == [
        {"text": "hm"},
        {"payload": {"signature": "c2ln"}, "call": "c1"},
    ]
    sent = to_langchain([answer])[0]
    assert sent.additional_kwargs == {GEMINI_SIGNATURES: {"c1": "c2ln"}}
    assert sent.content == ""


def test_what_compatible_servers_show_of_reasoning_is_shown_and_never_sent_back() -> None:
    for name in ("reasoning_content", "reasoning"):
        answer = answered(
            read_openai_chat,
            {"choices": [{"delta": {"content": None, name: "Hm."}}]},
            {"choices": [{"delta": {"content": "Yes."}}]},
        )
        assert [part.model_dump(exclude={"duration"}) for part in answer.parts] == [
            {"type": "reasoning", "text": "Hm.", "model": "the:model"}
        ]
        assert to_langchain([answer])[0].content == "Yes."


def test_reasoning_comes_through_langchain_in_its_standard_form() -> None:
    reader = ChunkReader()
    chunks = [
        AIMessageChunk(content="", additional_kwargs={"reasoning_content": "Hm."}),
        AIMessageChunk(content=[{"type": "reasoning", "reasoning": "So.", "extras": {"signature": "s"}}]),
        AIMessageChunk(content=[{"type": "text", "text": "Yes."}]),
    ]
    said = Answer()
    for chunk in chunks:
        for delta in reader.deltas(chunk):
            said.add(delta)
    (part,) = said.reasoning("m", ())
    assert (part.text, part.payload, said.text) == ("Hm.So.", {"signature": "s"}, "Yes.")


def test_attachments_become_standard_blocks_and_those_without_bytes_are_told() -> None:
    parts: tuple[Part, ...] = (IMAGE, PDF)
    message = Message(role=Role.USER, content="Look here", parts=parts)
    (sent,) = to_langchain([message], {"f1": b"png", "f2": b"pdf"})
    assert sent.content == [
        {"type": "image", "base64": "cG5n", "mime_type": "image/png"},
        {"type": "text", "text": "Look"},
        {"type": "file", "base64": "cGRm", "mime_type": "application/pdf", "filename": "a.pdf"},
        {"type": "text", "text": " here"},
    ]
    (gone,) = to_langchain([message.model_copy(update={"parts": (IMAGE,)})])
    assert gone.content == [
        {
            "type": "text",
            "text": "[Threadkeep: attached image cat.png (image/png, 3 bytes), which cannot be shown now]",
        },
        {"type": "text", "text": "Look here"},
    ]


SOUND = Attachment(type="audio", file="f3", name="a.mp3", media_type="audio/mpeg", size=3, at=4)
SHOWN = [
    Message(role=Role.USER, content="Look here", parts=(IMAGE, PDF)),
    Message(role=Role.ASSISTANT, tool_calls=(ToolCall(id="c1", name="draw"),)),
    Message(role=Role.TOOL, content="Drawn.", parts=(IMAGE,), tool_result=ToolResult(tool_call_id="c1")),
]
BYTES = {"f1": b"png", "f2": b"pdf", "f3": b"mp3"}


def test_anthropic_gets_images_and_documents_in_their_order() -> None:
    claude: Any = chat_model_named("anthropic:claude-sonnet-4-5", api_key="k")
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "cG5n"}}
    document = {"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "cGRm"}}
    asked, called, result = claude._get_request_payload(to_langchain(SHOWN, BYTES))["messages"]
    assert asked["content"][:2] == [image, {"type": "text", "text": "Look"}]
    assert {key: asked["content"][2][key] for key in document} == document
    assert asked["content"][3] == {"type": "text", "text": " here"}
    assert [block["type"] for block in called["content"]] == ["tool_use"]
    assert result["content"][0]["content"] == [image, {"type": "text", "text": "Drawn."}]


def test_openai_gets_images_and_documents_in_their_order_in_responses_and_in_chat_completions() -> None:
    gpt: Any = chat_model_named("openai:gpt-5", api_key="k")
    image = {"type": "input_image", "image_url": "data:image/png;base64,cG5n"}
    file = {"file_data": "data:application/pdf;base64,cGRm", "filename": "a.pdf"}
    asked, _, result = gpt._get_request_payload(to_langchain(SHOWN, BYTES))["input"]
    first, last = ({"type": "input_text", "text": text} for text in ("Look", " here"))
    assert asked["content"] == [image, first, {"type": "input_file", **file}, last]
    assert result["output"] == [image, {"type": "input_text", "text": "Drawn."}]
    other: Any = chat_model_named("openai:gpt-5", api_key="k", base_url="http://127.0.0.1:1/v1")
    heard = Message(role=Role.USER, content="Look here", parts=(IMAGE, PDF, SOUND))
    (asked,) = other._get_request_payload(to_langchain([heard], BYTES))["messages"]
    assert asked["content"] == [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,cG5n"}},
        {"type": "text", "text": "Look"},
        {"type": "file", "file": file},
        {"type": "input_audio", "input_audio": {"data": "bXAz", "format": "mp3"}},
        {"type": "text", "text": " here"},
    ]


def test_ollama_gets_images_beside_the_text() -> None:
    llava: Any = chat_model_named("ollama:llava")
    seen = SHOWN[0].model_copy(update={"parts": (IMAGE,)})
    (asked,) = llava._convert_messages_to_ollama_messages(to_langchain([seen], BYTES))
    assert (asked["content"].strip(), asked["images"]) == ("Look here", ["cG5n"])


def test_gemini_gets_blocks_that_its_class_makes_inline_data_of() -> None:
    # Its package does not fit beside the others: these are the blocks of which it makes one part each, in this order.
    heard = Message(role=Role.USER, content="Look here", parts=(IMAGE, PDF, SOUND))
    (asked,) = to_langchain([heard], BYTES)
    assert asked.content == [
        {"type": "image", "base64": "cG5n", "mime_type": "image/png"},
        {"type": "text", "text": "Look"},
        {"type": "file", "base64": "cGRm", "mime_type": "application/pdf", "filename": "a.pdf"},
        {"type": "audio", "base64": "bXAz", "mime_type": "audio/mp3"},
        {"type": "text", "text": " here"},
    ]


def test_a_model_that_openai_answers_by_responses_is_not_sent_recordings() -> None:
    heard = {"profile": {"audio_inputs": True, "image_inputs": True}}
    assert accepted_by(chat_model_named("openai:gpt-5", api_key="k", **heard)) == {"image"}
    elsewhere = chat_model_named("openai:gpt-5", api_key="k", base_url="http://127.0.0.1:1/v1", **heard)
    assert accepted_by(elsewhere) == {"image", "audio"}


def test_a_message_without_parts_is_sent_as_it_always_was() -> None:
    assert to_langchain([Message(id="m", role=Role.ASSISTANT, content="Hi")]) == [AIMessage(content="Hi", id="m")]
