"""The JSON of other programs, found by its content: ChatGPT, Claude, Open WebUI, LibreChat, session files, lists of
messages. Each reader turns one JSON value into a conversation; how values are found in files is not decided here."""

from collections.abc import Callable, Iterator
from typing import Any

from threadkeep.conversation.message import Role
from threadkeep.errors import InvalidImport, UnknownFormat
from threadkeep.transfer.portable import ImportProblem, Portable
from threadkeep_importers.builder import Foreign, Node, built, moment, role_of, text_of

Reader = Callable[[dict[str, Any]], Foreign]


def read(place: str, value: Any) -> Portable | ImportProblem:
    """Return the conversation in a JSON value as one of ours; `UnknownFormat` if no known program wrote it."""
    return built(place, foreign(value))


def foreign(value: Any) -> Foreign:
    """Return the conversation in a JSON value; `UnknownFormat` if no known program wrote it."""
    if isinstance(value, list):
        value = {"messages": value}
    if isinstance(value, dict):
        for fits, read in _READERS:
            if fits(value):
                return read(value)
    raise UnknownFormat


def _chatgpt(value: dict[str, Any]) -> Foreign:
    nodes = [_chatgpt_node(key, node) for key, node in _items(value["mapping"])]
    return Foreign(
        "chatgpt",
        _text(value, "conversation_id") or _text(value, "id"),
        nodes,
        title=_text(value, "title"),
        created_at=moment(value.get("create_time")),
        head=_text(value, "current_node"),
        archived=value.get("is_archived") is True,
    )


def _chatgpt_node(key: str, node: Any) -> Node:
    message = _dict(_dict(node).get("message"))
    found = Node(key, _text(node, "parent"))
    content = _dict(message.get("content"))
    text = text_of(content.get("parts")) or text_of(content.get("text"))
    hidden = _dict(message.get("metadata")).get("is_visually_hidden_from_conversation") is True
    if not message or hidden or not text.strip():
        return found
    author = _dict(message.get("author"))
    found.role = role_of(author.get("role"))
    found.content, found.at = text, moment(message.get("create_time"))
    found.model = _text(_dict(message.get("metadata")), "model_slug")
    recipient = message.get("recipient")
    if found.role is Role.ASSISTANT and recipient not in (None, "all"):
        found.calls = [{"id": key, "name": recipient, "args": {"input": text}}]
        found.content = ""
    if found.role is Role.TOOL:
        found.answers = found.parent
    return found


def _claude(value: dict[str, Any]) -> Foreign:
    nodes: list[Node] = []
    for number, message in enumerate(_list(value["chat_messages"])):
        before = nodes[-1].key if nodes else None
        parent = _text(message, "parent_message_uuid") if "parent_message_uuid" in message else before
        if parent == "00000000-0000-4000-8000-000000000000":
            parent = None
        key = _text(message, "uuid") or f"message-{number}"
        content = text_of(message.get("content")) or text_of(message.get("text"))
        node = Node(key, parent, role_of(message.get("sender")), content, moment(message.get("created_at")))
        uses = [
            part for part in message.get("content") or [] if isinstance(part, dict) and part.get("type") == "tool_use"
        ]
        node.calls = [{"id": use.get("id"), "name": use.get("name"), "args": use.get("input")} for use in uses]
        nodes.append(node)
    return Foreign(
        "claude",
        _text(value, "uuid"),
        nodes,
        title=_text(value, "name"),
        created_at=moment(value.get("created_at")),
        head=nodes[-1].key if nodes else None,
    )


def _open_webui(value: dict[str, Any]) -> Foreign:
    chat = value["chat"]
    history = _dict(chat.get("history"))
    nodes = [
        Node(
            key,
            _text(message, "parentId"),
            role_of(message.get("role")),
            text_of(message.get("content")),
            moment(message.get("timestamp")),
            model=_text(message, "model"),
        )
        for key, message in _items(history.get("messages"))
    ]
    return Foreign(
        "open-webui",
        _text(value, "id") or _text(chat, "id"),
        nodes,
        title=_text(value, "title") or _text(chat, "title"),
        created_at=moment(value.get("created_at") or chat.get("timestamp")),
        head=_text(history, "currentId"),
        archived=value.get("archived") is True,
    )


def _librechat(value: dict[str, Any]) -> Foreign:
    nodes: list[Node] = []
    for message in _flat(_list(value["messages"])):
        parent = _text(message, "parentMessageId")
        role = Role.USER if message.get("isCreatedByUser") is True else Role.ASSISTANT
        node = Node(
            _text(message, "messageId") or f"message-{len(nodes)}",
            None if parent == "00000000-0000-0000-0000-000000000000" else parent,
            role,
            text_of(message.get("text")) or text_of(message.get("content")),
            moment(message.get("createdAt")),
            model=_text(message, "model"),
        )
        nodes.append(node)
    keys = {node.key for node in nodes}
    for node in nodes:
        node.parent = node.parent if node.parent in keys else None
    return Foreign(
        "librechat",
        _text(value, "conversationId"),
        nodes,
        title=_text(value, "title"),
        created_at=moment(value.get("createdAt")),
        head=nodes[-1].key if nodes else None,
    )


def _flat(messages: list[Any]) -> Iterator[dict[str, Any]]:
    """Yield messages, those that are nested in others after them."""
    waiting = list(reversed(messages))
    while waiting:
        message = _dict(waiting.pop())
        yield message
        waiting += reversed(_list(message.get("children") or []))


def _session(value: dict[str, Any]) -> Foreign:
    """Session files of R-E2, and the messages of R-A5 as a table keeps them."""
    nodes, system = list[Node](), None
    for number, message in enumerate(_list(value["messages"]), 1):
        node = said(message, number, nodes[-1].key if nodes else None)
        if node.role is Role.SYSTEM and not nodes and system is None:
            system = node.content
        elif node.content or node.calls or node.role is Role.TOOL:
            nodes.append(node)
    return Foreign(
        "messages",
        next(
            (found for name in ("session_id", "conversation_id", "thread_id", "id") if (found := _text(value, name))),
            None,
        ),
        nodes,
        title=_text(value, "title"),
        created_at=moment(value.get("created_at")),
        system=system,
    )


def said(message: Any, number: int, parent: str | None) -> Node:
    """Return a message of a list, as OpenAI, LangChain and most others write it."""
    message = _dict(message)
    if "data" in message and isinstance(message["data"], dict):  # LangChain's `message_to_dict`
        message = {"type": message.get("type"), **message["data"]}
    if message.get("type") in ("function_call", "function_call_output"):
        return _call_item(message, number, parent)
    role = role_of(message.get("role") or message.get("type"))
    node = Node(f"message-{number}", parent, role, text_of(message.get("content")))
    node.key = _text(message, "id") or node.key
    node.at = moment(message.get("timestamp") or message.get("created_at"))
    node.calls = [_call(_dict(call)) for call in _list(message.get("tool_calls") or [])]
    node.answers = _text(message, "tool_call_id")
    node.error = "error" if message.get("status") == "error" else None
    return node


def _call_item(item: dict[str, Any], number: int, parent: str | None) -> Node:
    """Return a call or its result as the Responses API and the Agents SDK keep them."""
    key = f"item-{number}"
    if item["type"] == "function_call":
        call = {"id": item.get("call_id"), "name": item.get("name"), "args": item.get("arguments")}
        return Node(key, parent, Role.ASSISTANT, calls=[call])
    output = item.get("output")
    return Node(key, parent, Role.TOOL, text_of(output), answers=_text(item, "call_id"))


def _call(call: dict[str, Any]) -> dict[str, Any]:
    function = call.get("function")
    if isinstance(function, dict):
        return {"id": call.get("id"), "name": function.get("name"), "args": function.get("arguments")}
    return {"id": call.get("id"), "name": call.get("name"), "args": call.get("args")}


_READERS: tuple[tuple[Callable[[dict[str, Any]], bool], Reader], ...] = (
    (lambda value: isinstance(value.get("mapping"), dict), _chatgpt),
    (lambda value: isinstance(value.get("chat_messages"), list), _claude),
    (lambda value: isinstance(value.get("chat"), dict), _open_webui),
    (lambda value: "conversationId" in value and isinstance(value.get("messages"), list), _librechat),
    (lambda value: isinstance(value.get("messages"), list), _session),
)


def _dict(value: Any) -> dict[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, dict):
        raise InvalidImport("An object was expected where there is none.")
    return value


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise InvalidImport("A list was expected where there is none.")
    return value


def _items(value: Any) -> list[tuple[str, Any]]:
    return list(_dict(value).items())


def _text(value: Any, name: str) -> str | None:
    found = _dict(value).get(name)
    return found if isinstance(found, str) and found else str(found) if isinstance(found, int) else None
