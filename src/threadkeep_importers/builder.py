"""What other programs said, as a log of ours: nodes of a tree become entries, with ids that are the same every time."""

import heapq
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from pydantic import ValidationError

from threadkeep.conversation.entry import Entry, HeadChoice, Update
from threadkeep.conversation.facts import Status
from threadkeep.conversation.ids import check_id
from threadkeep.conversation.message import Message, Role, ToolCall, ToolResult
from threadkeep.errors import InvalidId, InvalidImport, InvalidInput
from threadkeep.text.title import title_from_words
from threadkeep.transfer.portable import Header, ImportProblem, LogCheck, Portable, validated

_MILLISECONDS = 1e11
_LONGEST_NAME = 64


@dataclass(slots=True)
class Node:
    """A message of another program, and the node that it continues. One without a role is no message: it is left out,
    and those that continue it continue what it continues."""

    key: str
    parent: str | None = None
    role: Role | None = None
    content: str = ""
    at: datetime | None = None
    calls: list[dict[str, Any]] = field(default_factory=list)
    answers: str | None = None
    error: str | None = None
    model: str | None = None


@dataclass(slots=True)
class Foreign:
    """A conversation of another program."""

    source: str
    id: str | None
    nodes: list[Node]
    title: str | None = None
    created_at: datetime | None = None
    head: str | None = None
    archived: bool = False
    system: str | None = None
    place: str = ""


def built(place: str, foreign: Foreign) -> Portable | ImportProblem:
    """Return the conversation as one of ours, or what is wrong with it."""
    foreign.place = place
    try:
        return build(foreign)
    except InvalidInput as error:
        return ImportProblem.of(place, error)
    except (ValidationError, TypeError, ValueError, LookupError, AttributeError, RecursionError):
        return ImportProblem.of(place, InvalidImport("A message has a shape that no known export has."))


def build(foreign: Foreign) -> Portable:
    """Return the conversation as one of ours; `InvalidImport` and others say what is wrong with it."""
    kept = _kept(foreign.nodes)
    ordered = _ordered(kept)
    began = foreign.created_at or min(
        (node.at for node in ordered if node.at), default=datetime(1970, 1, 1, tzinfo=UTC)
    )
    name = _name(foreign, ordered)
    entries, seqs = _entries(name, ordered, began)
    head = _nearest(foreign.head, {node.key: node.parent for node in foreign.nodes}, seqs)
    if head is not None and entries and head != entries[-1].seq:
        entries.append(_remark(name, entries, HeadChoice(), head))
    if foreign.archived:
        entries.append(_remark(name, entries, Update(archived=True), entries[-1].seq if entries else None))
    check = LogCheck()
    for entry in entries:
        check.add(entry)
    header = validated(
        Header,
        {
            "id": name,
            "assistant": None,
            "title": (foreign.title or "").strip()[:500] or _first_words(ordered),
            "system": foreign.system,
            "model": None,
            "metadata": {"imported": {"from": foreign.source, **({"id": foreign.id[:500]} if foreign.id else {})}},
            "status": Status.ACTIVE,
            "archived": foreign.archived,
            "version": 1 + check.changes,
            "head": check.tip.head or None,
            "entries": len(entries),
            "created_at": began,
            "updated_at": entries[-1].created_at if entries else began,
        },
    )
    check.finish(header)
    return Portable(header, lambda: iter(entries), {}, foreign.place)


def _first_words(nodes: list[Node]) -> str | None:
    """Return a title for a conversation that came without one."""
    asked = (node.content for node in nodes if node.role is Role.USER and node.content.strip())
    return title_from_words(next(asked, "")) or None


def _kept(nodes: Sequence[Node]) -> list[Node]:
    """Return the messages, each continuing the nearest message before it."""
    by_key = {node.key: node for node in nodes}
    if len(by_key) != len(nodes):
        raise InvalidImport("Two messages have the same id.")
    kept = {node.key for node in nodes if node.role is not None}
    parents = {node.key: node.parent for node in nodes}
    for node in nodes:
        node.parent = _nearest(node.parent, parents, kept)
    return [by_key[node.key] for node in nodes if node.role is not None]


def _nearest(key: str | None, parents: dict[str, str | None], kept: Iterable[str]) -> Any:
    """Return the first of these nodes on the way to the root; of a mapping of them, its value."""
    seen: set[str] = set()
    while key is not None and key not in kept:
        if key in seen:
            raise InvalidImport("The messages continue each other in a circle.")
        seen.add(key)
        key = parents.get(key)
    return kept[key] if key is not None and isinstance(kept, dict) else key


def _ordered(nodes: list[Node]) -> list[Node]:
    """Return messages in the order of their times, none before the one that it continues."""
    children: dict[str | None, list[tuple[float, int]]] = {}
    for place, node in enumerate(nodes):
        children.setdefault(node.parent, []).append((node.at.timestamp() if node.at else 0.0, place))
    ready, ordered = list(children.get(None, [])), []
    heapq.heapify(ready)
    while ready:
        moment, place = heapq.heappop(ready)
        ordered.append(nodes[place])
        for at, child in children.get(nodes[place].key, []):
            heapq.heappush(ready, (at or moment, child))
    if len(ordered) < len(nodes):
        raise InvalidImport("The messages continue each other in a circle.")
    return ordered


def _name(foreign: Foreign, nodes: list[Node]) -> str:
    """Return the conversation's own id where it can be one of ours, else one that is the same every time."""
    if foreign.id:
        try:
            return check_id(foreign.id)
        except InvalidId:
            return f"import-{_digest(foreign.source, foreign.id)}"
    said = [[node.role, node.content, str(node.at), node.calls] for node in nodes]
    return f"import-{_digest(foreign.source, json.dumps(said, ensure_ascii=True, default=str))}"


def _digest(*parts: str) -> str:
    return blake2b(json.dumps(parts).encode(), digest_size=12).hexdigest()


def _entries(name: str, nodes: list[Node], began: datetime) -> tuple[list[Entry], dict[str, int]]:
    entries: list[Entry] = []
    seqs: dict[str, int] = {}
    for seq, node in enumerate(nodes, 1):
        parent = seqs[node.parent] if node.parent is not None else None
        before = entries[parent - 1].created_at if parent else began
        seqs[node.key] = seq
        entries.append(
            Entry(
                conversation=name,
                seq=seq,
                parent=parent,
                created_at=node.at or before,
                body=_message(name, node),
            )
        )
    return entries, seqs


def _message(name: str, node: Node) -> Message:
    try:
        id = check_id(node.key)
    except InvalidId:
        id = f"m-{_digest(name, node.key)}"
    calls = [
        ToolCall(
            id=str(call.get("id") or f"call-{_digest(id, str(number))}")[:255],
            name=str(call.get("name") or "tool")[:_LONGEST_NAME],
            args=_arguments(call.get("args")),
        )
        for number, call in enumerate(node.calls)
    ]
    result = None
    if node.role is Role.TOOL:
        result = ToolResult(tool_call_id=(node.answers or f"call-{_digest(id)}")[:255], error=node.error)
    return Message(
        id=id,
        role=node.role or Role.USER,
        content=node.content,
        tool_calls=tuple(calls) if node.role is Role.ASSISTANT else (),
        tool_result=result,
        model=(node.model or "")[:200] or None,
    )


def _arguments(given: Any) -> dict[str, Any]:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return {"input": given}
    return given if isinstance(given, dict) else {} if given is None else {"input": given}


def _remark(name: str, entries: list[Entry], body: HeadChoice | Update, parent: int | None) -> Entry:
    at = entries[-1].created_at if entries else datetime(1970, 1, 1, tzinfo=UTC)
    return Entry(conversation=name, seq=len(entries) + 1, parent=parent, created_at=at, body=body)


def moment(value: Any) -> datetime | None:
    """Return a time as programs write it: ISO 8601, or seconds or milliseconds since 1970."""
    try:
        match value:
            case None | "" | bool():
                return None
            case int() | float():
                return datetime.fromtimestamp(value / 1000 if value > _MILLISECONDS else value, UTC)
            case str():
                found = datetime.fromisoformat(value)
                return found.replace(tzinfo=UTC) if found.tzinfo is None else found.astimezone(UTC)
            case datetime():
                return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        pass
    raise InvalidImport("A time is neither ISO 8601 nor a number of seconds.")


def role_of(name: Any) -> Role:
    """Return the role behind the names that programs have for it."""
    try:
        return _ROLES[name]
    except (KeyError, TypeError):
        raise InvalidImport(f"The role {str(name)[:40]!r} is none of system, user, assistant and tool.") from None


_ROLES = {
    "system": Role.SYSTEM,
    "developer": Role.SYSTEM,
    "user": Role.USER,
    "human": Role.USER,
    "assistant": Role.ASSISTANT,
    "ai": Role.ASSISTANT,
    "model": Role.ASSISTANT,
    "bot": Role.ASSISTANT,
    "tool": Role.TOOL,
    "function": Role.TOOL,
}


def text_of(content: Any) -> str:
    """Return the text of a message's content, in any of the usual shapes; what is no text leaves a mark."""
    match content:
        case None:
            return ""
        case str():
            return content
        case list():
            return "\n".join(part for part in map(_part, content) if part)
        case dict():
            return _part(content)
        case _:
            raise InvalidImport("The content of a message is neither text nor a list of parts.")


def _part(part: Any) -> str:
    match part:
        case str():
            return part
        case {"text": str(text)}:
            return text
        case {"content": str(text)}:
            return text
        case {"type": "tool_use" | "tool_call" | "tool_result" | "thinking" | "reasoning"}:
            return ""
        case {"type": str(kind)} | {"content_type": str(kind)}:
            return f"[{kind}]"
        case _:
            return ""
