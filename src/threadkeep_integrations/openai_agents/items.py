"""The items of OpenAI's Responses as messages of ours, and back: what goes into a model and what comes out of it.

An item that follows from its message (a plain text, a call, a result) is made from it again; any other is kept beside
it. What a model says in one response (reasoning, text, calls) is one message.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.conversation.parts import Reasoning
from threadkeep_integrations.raw_items import plain
from threadkeep_integrations.records import Form, text_with_files

Item = dict[str, Any]
_ROLES = {"user": Role.USER, "system": Role.SYSTEM, "developer": Role.SYSTEM}


def messages_of(items: Iterable[Any]) -> list[Message]:
    """Return the items as messages, each with what it cannot be made from again."""
    return [message for group in _groups([fields_of(item) for item in items]) for message in FORM.messages(group)]


def fields_of(item: Any) -> Item:
    """Return an item as plain JSON."""
    fields: Item = plain(item if isinstance(item, Mapping) else item.model_dump(mode="json", exclude_unset=True))
    return fields


def calls_of(items: Iterable[Item]) -> tuple[ToolCall, ...]:
    """Return the calls that somebody here has to answer: not those that the provider runs itself."""
    return tuple(_call(item) for item in items if _is_call(item))


def thoughts_of(items: Iterable[Item]) -> str:
    """Return what a model shows of its thoughts."""
    told = [text for item in items if item.get("type") == "reasoning" for text in _thoughts(item)]
    return "\n\n".join(told)


def text_of(content: Any) -> str:
    """Return the text of a content that may be a list of parts; those of other kinds are named."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else json.dumps(content, ensure_ascii=False)
    return "".join(_text_of_part(part) for part in content)


def unanswered(items: Sequence[Item]) -> list[Item]:
    """Return the calls that have no result."""
    answered = {item.get("call_id") for item in items if _is_result(item)}
    return [item for item in items if _is_call(item) and item.get("call_id") not in answered]


def _groups(items: Sequence[Item]) -> Iterator[list[Item]]:
    said: list[Item] = []
    for item in items:
        is_said = _role(item) is Role.ASSISTANT
        if said and not (is_said and _goes_on(said, item)):
            yield said
            said = []
        if is_said:
            said.append(item)
        else:
            yield [item]
    if said:
        yield said


def _goes_on(said: Sequence[Item], item: Item) -> bool:
    """Whether an item belongs to what was said before it: a response does not think or speak behind its calls."""
    return _is_call(item) or not any(_is_call(before) for before in said)


def _role(item: Item) -> Role:
    return _ROLES.get(str(item.get("role"))) or (Role.TOOL if _is_result(item) else Role.ASSISTANT)


def message_of(group: Sequence[Item]) -> Message:
    """Return what is said in items that belong together."""
    first = group[0]
    role = _role(first)
    if role in (Role.USER, Role.SYSTEM):
        return Message(role=role, content=text_of(first.get("content")))
    if role is Role.TOOL:
        result = ToolResult(tool_call_id=_id(first.get("call_id")))
        return Message(role=Role.TOOL, content=text_of(first.get("output")), tool_result=result)
    content = "\n\n".join(text for item in group if (text := text_of(item.get("content"))) and _is_text(item))
    thoughts = thoughts_of(group)
    parts = (Reasoning(text=thoughts),) if thoughts else ()
    return Message(role=Role.ASSISTANT, content=content, parts=parts, tool_calls=calls_of(group))


def _plain_items(message: Message) -> list[Item]:
    text = text_with_files(message.content, message.parts)
    match message.role:
        case Role.TOOL:
            call = message.tool_result.tool_call_id if message.tool_result else ""
            return [{"call_id": call, "output": message.content, "type": "function_call_output"}]
        case Role.ASSISTANT:
            said = [{"role": "assistant", "content": text}] if text else []
            return [*said, *map(_plain_call, message.tool_calls)]
        case _:
            return [{"role": message.role.value, "content": text}]


def _usual_items(message: Message) -> list[Item]:
    """Return text and calls as responses have them, but for their ids."""
    said = {"type": "message", "role": "assistant", "status": "completed"}
    text = {"type": "output_text", "text": message.content, "annotations": [], "logprobs": []}
    texts = [{**said, "content": [text]}] if message.content else []
    return [*texts, *({**_plain_call(call), "status": "completed"} for call in message.tool_calls)]


def _packed(message: Message, group: list[Item]) -> list[Any]:
    """Return items as they are kept: of those in the usual form of a response only the id."""
    usual = iter(_usual_items(message))
    expected = [next(usual, None) if _is_text(item) or _is_call(item) else None for item in group]
    return [
        item["id"]
        if form is not None and isinstance(item.get("id"), str) and item == {**form, "id": item["id"]}
        else item
        for item, form in zip(group, expected, strict=True)
    ]


def _unpacked(message: Message, kept: list[Any]) -> list[Item]:
    usual = iter(_usual_items(message) if any(isinstance(item, str) for item in kept) else ())
    items: list[Item] = []
    for item in kept:
        if isinstance(item, str):
            items.append({**next(usual, {}), "id": item})
        elif isinstance(item, dict):
            if _is_text(item) or _is_call(item):
                next(usual, None)
            items.append(item)
    return items


def _plain_call(call: ToolCall) -> Item:
    arguments = json.dumps(call.args, ensure_ascii=False, separators=(",", ":"))
    return {"arguments": arguments, "call_id": call.id, "name": call.name, "type": "function_call"}


def _is_text(item: Item) -> bool:
    return bool(item.get("type", "message") == "message")


def _is_call(item: Item) -> bool:
    return str(item.get("type", "")).endswith("_call") and bool(item.get("call_id"))


def _is_result(item: Item) -> bool:
    return str(item.get("type", "")).endswith("_output") and bool(item.get("call_id"))


def _call(item: Item) -> ToolCall:
    name = item.get("name") or str(item["type"]).removesuffix("_call")
    return ToolCall(id=_id(item["call_id"]), name=str(name)[:64], args=_args(item))


def _id(call: Any) -> str:
    return str(call)[:255] or "unknown"


def _args(item: Item) -> dict[str, Any]:
    given = item.get("arguments", item.get("input", item.get("action", {})))
    if isinstance(given, str):
        try:
            given = plain(json.loads(given or "{}", parse_constant=str))
        except ValueError:
            return {"input": given}
    return given if isinstance(given, dict) else {"input": given}


def _thoughts(item: Item) -> Iterator[str]:
    for part in (*(item.get("summary") or ()), *(item.get("content") or ())):
        if isinstance(part, dict) and isinstance(part.get("text"), str) and part["text"]:
            yield part["text"]


def _text_of_part(part: Any) -> str:
    if not isinstance(part, dict):
        return str(part)
    text = part.get("text", part.get("refusal"))
    return text if isinstance(text, str) else f"[{part.get('type', 'data')}]"


FORM = Form(
    "openai-agents",
    lambda items: [message_of(items)],
    _plain_items,
    roles=lambda item: (_role(item),),
    packed=_packed,
    unpacked=_unpacked,
)
