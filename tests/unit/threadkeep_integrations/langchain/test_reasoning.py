"""Reasoning and files in LangChain's standard form, and what its classes make of them."""

from typing import Any

from langchain_core.messages import AIMessage, AIMessageChunk

from tests.unit.threadkeep_providers.talking import BYTES, GONE, IMAGE, PDF, SHOWN, SOUND
from threadkeep.conversation.message import Message, Role, ToolCall
from threadkeep.conversation.parts import Part, Reasoning
from threadkeep.llm.answer import Answer
from threadkeep_integrations.langchain.messages import GEMINI_SIGNATURES, ChunkReader, to_langchain
from threadkeep_integrations.langchain.model import accepted_by, chat_model_named


def thought(**fields: Any) -> Message:
    calls = (ToolCall(id="c1", name="look"),)
    return Message(role=Role.ASSISTANT, tool_calls=calls, parts=(Reasoning(text="hm", model="m", **fields),))


def test_the_signature_of_a_call_stands_where_the_class_for_gemini_looks_for_it() -> None:
    sent = to_langchain([thought(payload={"signature": "c2ln"}, call="c1")])[0]
    assert sent.additional_kwargs == {GEMINI_SIGNATURES: {"c1": "c2ln"}}
    assert sent.content == ""


def test_reasoning_that_a_provider_wants_back_is_a_block_and_no_other_is() -> None:
    signed, encrypted, shown = (
        to_langchain([thought(payload=payload)])[0].content
        for payload in ({"signature": "s"}, {"id": "rs_1", "encrypted_content": "e"}, None)
    )
    assert signed[0] == {"type": "reasoning", "reasoning": "hm", "extras": {"signature": "s"}}
    assert encrypted[0] == {"type": "reasoning", "summary": [], "id": "rs_1", "encrypted_content": "e"}
    assert shown == ""


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
            "text": GONE,
        },
        {"type": "text", "text": "Look here"},
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
