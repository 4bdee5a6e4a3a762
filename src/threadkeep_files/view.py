"""The readable view of a conversation: one JSON document with the text of the current branch.

Other programs read and write such documents, so what is read here is checked; missing fields that are not needed are
accepted. The view is made from the log and is never read for what we stored ourselves. No I/O.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any, NamedTuple

from threadkeep.conversation.clock import second_text
from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.cursor import MAX_SEQ
from threadkeep.conversation.entry import Entry, HeadChoice
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.value import check_text
from threadkeep.errors import ContentTooLarge, StoreCorrupt, UnknownRole
from threadkeep.store.base import ROOT
from threadkeep.store.checks import encode_within
from threadkeep.store.codec import Row
from threadkeep.store.record import Imported, ImportedPlace, Record, Tip
from threadkeep.store.sqlite.log import SqliteLog
from threadkeep.text.title import title_from_words

_quoted = json.JSONEncoder(ensure_ascii=False).encode
_SHOWN_ROLES = (Role.SYSTEM, Role.USER, Role.ASSISTANT)


class ViewMessage(NamedTuple):
    """A message as a view has it."""

    role: Role
    content: str
    at: datetime


class Document(NamedTuple):
    """A view that was read, without empty messages; `rest` tells whether it holds more than a conversation can keep."""

    created_at: datetime
    messages: list[ViewMessage]
    rest: bool


def digest(data: bytes) -> bytes:
    """Return a few bytes that stand for these."""
    return blake2b(data, digest_size=12).digest()


def shown_messages(entries: Iterable[Entry]) -> Iterator[tuple[int, ViewMessage]]:
    """Yield the messages that a view shows, with the seq of their entries: text, and no calls of tools or results."""
    for entry in entries:
        if isinstance(entry.body, Message) and entry.body.role in _SHOWN_ROLES and entry.body.content:
            yield entry.seq, ViewMessage(entry.body.role, entry.body.content, entry.created_at)


def render(conversation: Conversation, branch: Iterable[Entry]) -> bytes:
    """Return the view of a conversation as it is, given its current branch."""
    messages = ",\n".join(_render_message(message) for _, message in shown_messages(branch))
    lines = (
        "{",
        f'  "session_id": {_quoted(conversation.id)},',
        f'  "created_at": "{second_text(conversation.created_at)}",',
        f'  "updated_at": "{second_text(conversation.updated_at)}",',
        f'  "messages": [\n{messages}\n  ]' if messages else '  "messages": []',
        "}\n",
    )
    return "\n".join(lines).encode()


def _render_message(message: ViewMessage) -> str:
    """Return one message as `json.dumps` would write it, which is slow for a long conversation."""
    return (
        f'    {{\n      "role": "{message.role.value}",\n      "content": {_quoted(message.content)},\n'
        f'      "timestamp": "{second_text(message.at)}"\n    }}'
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
    messages = [_view_message(number, item, now) for number, item in enumerate(value["messages"], 1)]
    rest = not value.keys() <= {"session_id", "created_at", "updated_at", "messages"} or any(
        not item.keys() <= {"role", "content", "timestamp"} for item in value["messages"]
    )
    began = _moment(value.get("created_at"), "created_at", messages[0].at if messages else now)
    return Document(began, [message for message in messages if message.content], rest)


def _view_message(number: int, item: Any, now: datetime) -> ViewMessage:
    if not isinstance(item, dict) or not isinstance(item.get("content"), str):
        raise StoreCorrupt(f"message {number} has no text as its content")
    if item.get("role") not in _SHOWN_ROLES:
        raise UnknownRole(f"message {number} has the role {item.get('role')!r}, not system, user or assistant")
    at = _moment(item.get("timestamp"), f"the timestamp of message {number}", now)
    return ViewMessage(Role(item["role"]), check_text(item["content"]), at)


def _moment(text: Any, what: str, otherwise: datetime) -> datetime:
    if text is None:
        return otherwise
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        raise StoreCorrupt(f"{what} is not a time in ISO 8601") from None


# What another program wrote


class Taken(NamedTuple):
    """What a document adds to a conversation: messages that continue `parent` (none: the head), or the choice of
    `parent` as the head. `tip` is the end of the log that this was found for."""

    tip: Tip
    parent: int | None
    messages: Sequence[ViewMessage] = ()
    is_choice: bool = False

    def record(self, at: datetime, version: int, follower: Callable[[int], int]) -> Record:
        """Return the step to take. `follower(parent)` returns what continued `parent` in its own run so far, or 0."""
        if self.is_choice:
            return Record(at=at, head=self.parent, parent=self.parent, bodies=self.bodies)
        parent = self.tip.head if self.parent is None else self.parent
        places: list[ImportedPlace] = []
        for seq, message in enumerate(self.messages, self.tip.last + 1):
            beside = follower(parent) if not places and parent != self.tip.newest else 0
            places.append(ImportedPlace(parent=parent, at=message.at, beside=beside))
            parent = seq
        return Record(at=at, bodies=self.bodies, imported=Imported(places=tuple(places), version=version))

    @property
    def bodies(self) -> tuple[HeadChoice | Message, ...]:
        if self.is_choice:
            return (HeadChoice(),)
        return tuple(Message(role=message.role, content=message.content) for message in self.messages)

    def rows(self, max_bytes: int) -> list[Row]:
        """Return the rows of the bodies; `ContentTooLarge` names a message that is too large."""
        rows = []
        for number, body in enumerate(self.bodies, 1):
            try:
                rows.append(encode_within(body, max_bytes))
            except ContentTooLarge as error:
                raise ContentTooLarge(f"new message {number}: {error}") from None
        return rows


def begun(document: Document) -> NewConversation:
    """Return the conversation that another program began: it is called by the first words that were asked."""
    asked = (message.content for message in document.messages if message.role is Role.USER)
    return NewConversation(title=title_from_words(next(asked, "")) or None)


def taken(log: SqliteLog, document: Document, shown: int | None) -> Taken:
    """Return what another program changed: it continues where the document parts from the branch.

    The view may be behind, and `shown` is the head that it had: a program that kept all that it showed has changed
    nothing of what came since.
    """
    head, tip = log.tip.head, log.tip
    ours = list(shown_messages(log.newest(head, MAX_SEQ)))
    same = _common([message for _, message in ours], document.messages)
    added = document.messages[same:]
    is_kept = shown is not None and log.tree.holds(head, shown) and same >= sum(seq <= shown for seq, _ in ours)
    if same == len(ours) or is_kept:
        return Taken(tip, None, added)
    parent = ours[same - 1][0] if same else ROOT
    return Taken(tip, parent, added, is_choice=not added)


def _common(ours: list[ViewMessage], theirs: list[ViewMessage]) -> int:
    """Return how many messages at the beginning are the same; a program may write times in its own way."""
    for at, (mine, their) in enumerate(zip(ours, theirs, strict=False)):
        if mine[:2] != their[:2]:
            return at
    return min(len(ours), len(theirs))
