"""Items: what is said in a conversation, in the shapes of OpenAI's API."""

import json
from typing import Any

from threadkeep.conversation.entry import Approval
from threadkeep.conversation.message import Message, Role, ToolCall
from threadkeep.conversation.parts import Attachment, Part, Raw, in_order
from threadkeep_protocols.openai.ids import APPROVAL, item_id, said_id
from threadkeep_protocols.parts import AnswerCall, AnswerText

Json = dict[str, Any]
SERVER = "threadkeep"
"""The label of the server that runs tools: this one."""


def text_item(text: AnswerText, said: str, of: str, *, is_whole: bool) -> Json:
    """Return a piece of an answer `of` a conversation: text, or reasoning."""
    status = "completed" if is_whole else "in_progress"
    if text.is_reasoning:
        summary = [{"type": "summary_text", "text": said}] if said else []
        return {"type": "reasoning", "id": item_id("rs", text.id, of), "summary": summary, "status": status}
    content = [output_text(said)] if said else []
    return {
        "type": "message",
        "id": item_id("msg", text.id, of),
        "role": "assistant",
        "status": status,
        "content": content,
    }


def output_text(text: str) -> Json:
    """Return the content of an assistant's message."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def function_call_item(call: AnswerCall, of: str, *, is_whole: bool = True) -> Json:
    """Return a call that the client runs."""
    return {
        "type": "function_call",
        "id": item_id("fc", f"{call.message}-{call.id}", of),
        "call_id": call.id,
        "name": call.call.name,
        "arguments": arguments_of(call.call) if is_whole else "",
        "status": "completed" if is_whole else "in_progress",
    }


def server_call_item(call: AnswerCall, of: str, *, was_asked: bool, is_begun: bool = False) -> Json:
    """Return a call that runs here; with its result, if it has one."""
    item: Json = {
        "type": "mcp_call",
        "id": item_id("mcp", f"{call.message}-{call.id}", of),
        "server_label": SERVER,
        "name": call.call.name,
        "arguments": "" if is_begun else arguments_of(call.call),
        "approval_request_id": f"{APPROVAL}{call.id}" if was_asked else None,
        "output": None,
        "error": None,
        "status": "in_progress",
    }
    if call.state == "returned":
        return item | {"output": call.content, "status": "completed"}
    if call.has_result:
        content = [{"type": "text", "text": call.content or call.error or ""}]
        return item | {"error": {"type": "mcp_tool_execution_error", "content": content}, "status": "failed"}
    return item


def approval_item(call: AnswerCall) -> Json:
    """Return the question whether a call may run."""
    return {
        "type": "mcp_approval_request",
        "id": f"{APPROVAL}{call.id}",
        "server_label": SERVER,
        "name": call.call.name,
        "arguments": arguments_of(call.call),
    }


def decision_item(approval: Approval, entry: int) -> Json:
    """Return what was answered about a call: its result, from the client that ran it, or whether it may run."""
    if approval.is_result:
        return _output(f"fco_{entry}", approval.tool_call_id, approval.result or approval.error or "")
    return {
        "type": "mcp_approval_response",
        "id": f"mcpa_{entry}",
        "approval_request_id": f"{APPROVAL}{approval.tool_call_id}",
        "approve": approval.approved,
        "reason": approval.reason,
    }


def result_item(message: Message) -> Json:
    """Return the result of a call that a client ran."""
    if message.tool_result is None:
        raise TypeError("not a result")
    return _output(f"fco_{message.id}", message.tool_result.tool_call_id, message.content)


def _output(id: str, call: str, text: str) -> Json:
    return {"type": "function_call_output", "id": id, "call_id": call, "output": text, "status": "completed"}


def message_item(message: Message) -> Json:
    """Return what a person said, or instructions, or what an assistant said elsewhere."""
    role = message.role.value
    if message.role is Role.ASSISTANT:
        content = [output_text(message.content)]
    else:
        pieces = in_order(message.content, [part for part in message.parts if not isinstance(part, Raw)])
        content = [_said(piece) for piece in pieces]
    return {"type": "message", "id": said_id(message.id), "role": role, "status": "completed", "content": content}


def _said(piece: str | Part) -> Json:
    if isinstance(piece, str):
        return {"type": "input_text", "text": piece}
    if isinstance(piece, Attachment):
        url = f"/v1/files/{piece.file}"
        if piece.type == "image":
            return {"type": "input_image", "detail": "auto", "file_id": piece.file, "image_url": url}
        return {"type": "input_file", "file_id": piece.file, "filename": piece.name, "file_url": url}
    return {"type": "input_text", "text": json.dumps(piece.model_dump(mode="json"), ensure_ascii=False)}


def arguments_of(call: ToolCall) -> str:
    """Return the arguments of a call as the JSON text that clients parse."""
    return json.dumps(call.args, ensure_ascii=False, separators=(",", ":"))
