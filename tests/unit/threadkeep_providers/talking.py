"""What tests of forms share: an answer from events, and the body that a form writes."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.conversation.parts import Attachment
from threadkeep.llm.answer import Answer
from threadkeep.llm.base import Delta, ToolSpec
from threadkeep_providers.deltas import DeltaBuffer, Reader
from threadkeep_providers.form import Form, WrittenMessages, dumps

LOOK = ToolSpec(name="look", description="Look.", parameters={"type": "object", "properties": {}})
IMAGE = Attachment(type="image", file="f1", name="cat.png", media_type="image/png", size=3)
PDF = Attachment(type="file", file="f2", name="a.pdf", media_type="application/pdf", size=3, at=4)
SOUND = Attachment(type="audio", file="f3", name="a.mp3", media_type="audio/mpeg", size=3, at=4)
BYTES = {"f1": b"png", "f2": b"pdf", "f3": b"mp3"}
SHOWN = [
    Message(role=Role.USER, content="Look here", parts=(IMAGE, PDF)),
    Message(role=Role.ASSISTANT, tool_calls=(ToolCall(id="c1", name="draw"),)),
    Message(role=Role.TOOL, content="Drawn.", parts=(IMAGE,), tool_result=ToolResult(tool_call_id="c1")),
]
GONE = "[Threadkeep: attached image cat.png (image/png, 3 bytes), which cannot be shown now]"


def said(reader: Reader, *events: Any) -> list[Delta]:
    """Return the deltas of an answer that came at once."""
    buffer = DeltaBuffer()
    for event in events:
        reader(event, buffer)
    return [*buffer.drain(), *buffer.end()]


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
    """Return the conversation in which an answer was given and its calls were answered."""
    results = (
        Message(role=Role.TOOL, content="7", tool_result=ToolResult(tool_call_id=call.id)) for call in answer.tool_calls
    )
    return [Message(role=Role.USER, content="Go"), answer, *results]


def sent(
    form: Form,
    messages: Iterable[Message],
    files: Mapping[str, bytes] | None = None,
    tools: tuple[ToolSpec, ...] = (LOOK,),
    **options: Any,
) -> Any:
    """Return the body of a request for the model `m`, with options by the names of the form."""
    history = WrittenMessages(form).of(messages, files or {})
    return json.loads(form.body("m", options, history, dumps([form.tool(tool) for tool in tools])[1:-1].encode()))
