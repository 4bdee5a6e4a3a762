"""The readable view of a conversation: one JSON document with the text of the current branch (R-E2).

Other programs read such documents and write them too, so what is read here is checked, and what is missing but not
needed is forgiven. The view is made from the journal and is never where we look for what we stored.
"""

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, NamedTuple

from threadkeep.conversation.clock import moment_text
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.value import check_text
from threadkeep.errors import StoreCorrupt, UnknownRole
from threadkeep.store.ledger.ledger import Ledger

_quoted = json.JSONEncoder(ensure_ascii=False).encode
_SPOKEN = (Role.SYSTEM, Role.USER, Role.ASSISTANT)


class Spoken(NamedTuple):
    """A message as a view has it."""

    role: Role
    content: str
    at: datetime


class Document(NamedTuple):
    """A view that was read, without empty messages; `rest` tells whether it holds more than a conversation can keep."""

    created_at: datetime
    messages: list[Spoken]
    rest: bool


def digest(data: bytes) -> str:
    """Return a short text that stands for these bytes."""
    return blake2b(data, digest_size=12).hexdigest()


def spoken(entries: Iterable[Entry]) -> Iterator[tuple[int, Spoken]]:
    """Yield the messages that a view shows, with the seq of their entries: text, and no calls of tools or results."""
    for entry in entries:
        if isinstance(entry.body, Message) and entry.body.role in _SPOKEN and entry.body.content:
            yield entry.seq, Spoken(entry.body.role, entry.body.content, entry.created_at)


def render(ledger: Ledger) -> bytes:
    """Return the view of a conversation as it is."""
    return _render(ledger, [message for _, message in spoken(_branch(ledger, ledger.tip.head))], ledger.updated_at)


def _branch(ledger: Ledger, head: int) -> list[Entry]:
    return list(ledger.backwards(head))[::-1]


def _render(ledger: Ledger, messages: Iterable[Spoken], updated_at: datetime) -> bytes:
    said = ",\n".join(_shown(message) for message in messages)
    lines = (
        "{",
        f'  "session_id": {_quoted(ledger.id)},',
        f'  "created_at": "{moment_text(ledger.created_at)}",',
        f'  "updated_at": "{moment_text(updated_at)}",',
        f'  "messages": [\n{said}\n  ]' if said else '  "messages": []',
        "}\n",
    )
    return "\n".join(lines).encode()


def _shown(message: Spoken) -> str:
    """Return one message as `json.dumps` would write it, which is slow for a long conversation."""
    return (
        f'    {{\n      "role": "{message.role.value}",\n      "content": {_quoted(message.content)},\n'
        f'      "timestamp": "{moment_text(message.at)}"\n    }}'
    )


# Reading


def parse(data: bytes) -> Any:
    """Return the JSON value in these bytes, or raise ValueError."""
    try:
        return json.loads(data.decode("utf-8-sig"))
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def read(value: Any, now: datetime) -> Document:
    """Return the document behind a JSON value; `UnknownRole` and `StoreCorrupt` say what is wrong with it.

    What has no time is from now.
    """
    if not isinstance(value, dict) or not isinstance(value.get("messages"), list):
        raise StoreCorrupt("it is no JSON object with a list of messages")
    messages = [_spoken(number, item, now) for number, item in enumerate(value["messages"], 1)]
    rest = not value.keys() <= {"session_id", "created_at", "updated_at", "messages"} or any(
        not item.keys() <= {"role", "content", "timestamp"} for item in value["messages"]
    )
    began = _moment(value.get("created_at"), "created_at", messages[0].at if messages else now)
    return Document(began, [message for message in messages if message.content], rest)


def _spoken(number: int, item: Any, now: datetime) -> Spoken:
    if not isinstance(item, dict) or not isinstance(item.get("content"), str):
        raise StoreCorrupt(f"message {number} has no text as its content")
    if item.get("role") not in _SPOKEN:
        raise UnknownRole(f"message {number} has the role {item.get('role')!r}, not system, user or assistant")
    at = _moment(item.get("timestamp"), f"the timestamp of message {number}", now)
    return Spoken(Role(item["role"]), check_text(item["content"]), at)


def _moment(text: Any, what: str, otherwise: datetime) -> datetime:
    if text is None:
        return otherwise
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        raise StoreCorrupt(f"{what} is not a time in ISO 8601") from None
