"""What clients of OpenAI send: input items, of which a history, a question and answers about calls are made."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.conversation.parts import Attachment, Part, Reasoning, split_text
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.value import check_json, check_text
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue
from threadkeep_protocols.files import kept_file
from threadkeep_protocols.openai.ids import APPROVAL

MOST_ITEMS = 5000
_TEXTS = ("input_text", "output_text", "text", "summary_text", "reasoning_text", "refusal")
_ROLES = {"user": Role.USER, "assistant": Role.ASSISTANT, "system": Role.SYSTEM, "developer": Role.SYSTEM}


@dataclass(frozen=True)
class Decision:
    """What a client says about a call: what it returned, or, without a result, whether it may run."""

    call: str
    result: str | None = None
    approved: bool = True
    reason: str | None = None


@dataclass
class Taken:
    """What an input says: messages in order, and answers about calls that are in none of them."""

    messages: list[Message] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)


class InputReader:
    """Reads input items; files in them are kept."""

    def __init__(self, conversations: Conversations, scope: Scope) -> None:
        self._conversations = conversations
        self._scope = scope
        self._taken = Taken()
        self._calls: dict[str, ToolCall] = {}
        self._thought: list[str] = []

    async def read(self, given: object) -> Taken:
        """Return what an input says, a text or a list of items."""
        if isinstance(given, str):
            self._taken.messages.append(Message(role=Role.USER, content=given))
            return self._taken
        if not isinstance(given, list) or len(given) > MOST_ITEMS:
            raise InvalidValue(f"An input is a text or a list of at most {MOST_ITEMS} items.")
        for item in check_json(given):
            if not isinstance(item, dict):
                raise InvalidValue("An input item is an object.")
            await self._take(item)
        return self._taken

    async def _take(self, item: dict[str, Any]) -> None:
        match item.get("type", "message"):
            case "message":
                await self._said(item)
            case "function_call":
                self._called(_text(item, "call_id"), item)
            case "function_call_output":
                self._returned(_text(item, "call_id"), _output(item.get("output")))
            case "mcp_call":
                self._called(_text(item, "id"), item)
                error = item.get("error")
                wrong = error.get("content") if isinstance(error, dict) else error
                self._returned(_text(item, "id"), _output(item.get("output") or wrong or ""))
            case "mcp_approval_response":
                self._decided(item)
            case "reasoning":
                self._thought += texts_of(item.get("summary") or item.get("content") or [])
            case "mcp_approval_request" | "mcp_list_tools":
                pass  # what came of it is told by items behind it
            case other:
                raise InvalidValue(f"Input items of the type {str(other)[:64]} are not taken here.")

    async def _said(self, item: dict[str, Any]) -> None:
        role = _ROLES.get(str(item.get("role")))
        if role is None:
            raise InvalidValue("A message is one of user, assistant, system or developer.")
        if role is Role.ASSISTANT:
            self._add(Message(role=role, content="".join(texts_of(item.get("content"))), parts=self._thoughts()))
            return
        text, parts = await content_of(item.get("content"), self._conversations, self._scope)
        self._add(Message(role=role, content=text, parts=parts if role is Role.USER else ()))

    def _called(self, id: str, item: dict[str, Any]) -> None:
        try:
            call = ToolCall(id=id, name=_text(item, "name"), args=arguments(item.get("arguments")))
        except ValidationError:
            raise InvalidValue("The id or the name of a call is too long.") from None
        self._calls[id] = call
        messages = self._taken.messages
        last = messages[-1] if messages else None
        if last is None or last.role is not Role.ASSISTANT or self._thought:
            last = Message(role=Role.ASSISTANT, parts=self._thoughts())
            messages.append(last)
        messages[-1] = last.model_copy(update={"tool_calls": (*last.tool_calls, call)})

    def _returned(self, id: str, output: str) -> None:
        if id in self._calls:
            self._add(Message(role=Role.TOOL, content=output, tool_result=ToolResult(tool_call_id=id)))
        else:
            self._taken.decisions.append(Decision(id, result=output))

    def _decided(self, item: dict[str, Any]) -> None:
        approve, reason = item.get("approve"), item.get("reason")
        if not isinstance(approve, bool) or not isinstance(reason, str | None):
            raise InvalidValue("An answer to a request for approval says `approve`, and perhaps a `reason`.")
        id = _text(item, "approval_request_id").removeprefix(APPROVAL)
        self._taken.decisions.append(Decision(id, approved=approve, reason=(reason or "")[:2000] or None))

    def _add(self, message: Message) -> None:
        self._thought = []
        if message.content or message.parts or message.tool_result:
            self._taken.messages.append(message)

    def _thoughts(self) -> tuple[Part, ...]:
        thoughts, self._thought = self._thought, []
        return tuple(Reasoning(text=text) for text in thoughts if text)


async def content_of(given: object, conversations: Conversations, scope: Scope) -> tuple[str, tuple[Part, ...]]:
    """Return the content of a message, in which files are kept, as its text and its parts."""
    if isinstance(given, str):
        return check_text(given), ()
    if not isinstance(given, list):
        raise InvalidValue("The content of a message is a text or a list of parts.")
    parts: list[dict[str, Any] | Attachment] = []
    for part in given:
        kind = part.get("type") if isinstance(part, dict) else None
        if kind in _TEXTS:
            parts.append({"type": "text", "text": _text(part, "text")})
        elif kind in ("input_image", "image_url", "input_file", "file"):
            parts.append(await _file(part, conversations, scope))
        else:
            raise InvalidValue(f"Parts of the type {str(kind)[:64]} are not taken here.")
    return split_text(parts)


async def _file(part: dict[str, Any], conversations: Conversations, scope: Scope) -> Attachment:
    """Keep a file that comes with a message, or find one that is kept here, by its id or its address."""
    about = part.get(str(part.get("type")), part)
    about = about if isinstance(about, dict) else part
    if isinstance(id := about.get("file_id"), str):
        return await conversations.attach(id, scope=scope)
    name = about.get("filename")
    url = next((about[key] for key in ("image_url", "url", "file_data", "file_url") if about.get(key)), None)
    if isinstance(data := about.get("file_data"), str) and not data.startswith("data:"):
        url = f"data:application/octet-stream;base64,{data}"
    return await kept_file(conversations, scope, url, name)


def arguments(given: object) -> dict[str, Any]:
    """Return the arguments of a call, which come as the JSON text of an object."""
    try:
        found = json.loads(given or "{}") if isinstance(given, str) else given
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise InvalidValue("The arguments of a call are the JSON of an object.")
    checked: dict[str, Any] = check_json(found)
    return checked


def _output(given: object) -> str:
    """Return the result of a call as text."""
    if isinstance(given, str):
        return given
    texts = texts_of(given)
    return "\n".join(texts) if texts else json.dumps(given, ensure_ascii=False)


def texts_of(given: object) -> list[str]:
    """Return the texts in the content of an item."""
    if isinstance(given, str):
        return [given]
    parts: Sequence[Any] = given if isinstance(given, list) else ()
    texts = [part.get("text") or part.get("refusal") for part in parts if isinstance(part, Mapping)]
    return [text for text in texts if isinstance(text, str)]


def _text(item: Mapping[str, Any], name: str) -> str:
    found = item.get(name)
    if not isinstance(found, str) or (not found and name != "text"):
        raise InvalidValue(f"An item of the type {str(item.get('type'))[:64]} has a text in `{name}`.")
    return found
