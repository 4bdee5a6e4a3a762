"""Tool calls of a history as text, for a request that defines no tools: Anthropic refuses the calls themselves there.

Such requests are rare: an assistant without tools goes on with a conversation that had some.
"""

import json
from dataclasses import replace

from threadkeep.context.base import Working
from threadkeep.context.marks import note
from threadkeep.conversation.message import Message, Role, ToolCall


def told_calls(working: Working) -> Working:
    """Tell calls and results as text, if the request has no tools. Calls and results must be paired up before."""
    if working.material.has_tools:
        return working
    names = {call.id: call.name for message in working.messages for call in message.tool_calls}
    return replace(working, messages=tuple(_told(message, names) for message in working.messages))


def _told(message: Message, names: dict[str, str]) -> Message:
    if message.tool_result is not None:
        name = names[message.tool_result.tool_call_id]
        text = note(f"result of the tool {name}:\n{message.content}")
        return Message(id=message.id, role=Role.USER, content=text)
    if not message.tool_calls:
        return message
    texts = [message.content, *(_call(call) for call in message.tool_calls)]
    text = "\n\n".join(text for text in texts if text)
    return message.model_copy(update={"content": text, "tool_calls": (), "tokens": None})


def _call(call: ToolCall) -> str:
    return note(f"called the tool {call.name} with {json.dumps(call.args, ensure_ascii=False)}")
