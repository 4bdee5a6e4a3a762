"""The readable view of a conversation: one JSON document with the text of the current branch.

Other programs read and write such documents, so what is read here is checked; missing fields that are not needed are
accepted. The view is made from the journal and is never read for what we stored ourselves. It is replaced as a whole,
and only if no other program has changed it; such changes become records.
"""

import json
import os
import time
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any, NamedTuple

from threadkeep.conversation.clock import second_text
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Entry, HeadChoice
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.value import check_text
from threadkeep.errors import ContentTooLarge, StoreCorrupt, UnknownRole
from threadkeep.store import filesystem
from threadkeep.store.base import ROOT
from threadkeep.store.checks import encode_within
from threadkeep.store.filesystem import NEVER, Signature
from threadkeep.store.ledger.ledger import Ledger
from threadkeep.store.record import Opening, Record
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


def digest(data: bytes) -> str:
    """Return a short text that stands for these bytes."""
    return blake2b(data, digest_size=12).hexdigest()


def shown_messages(entries: Iterable[Entry]) -> Iterator[tuple[int, ViewMessage]]:
    """Yield the messages that a view shows, with the seq of their entries: text, and no calls of tools or results."""
    for entry in entries:
        if isinstance(entry.body, Message) and entry.body.role in _SHOWN_ROLES and entry.body.content:
            yield entry.seq, ViewMessage(entry.body.role, entry.body.content, entry.created_at)


def render(ledger: Ledger) -> bytes:
    """Return the view of a conversation as it is."""
    branch = reversed(list(ledger.backwards(ledger.tip.head)))
    messages = ",\n".join(_render_message(message) for _, message in shown_messages(branch))
    lines = (
        "{",
        f'  "session_id": {_quoted(ledger.id)},',
        f'  "created_at": "{second_text(ledger.created_at)}",',
        f'  "updated_at": "{second_text(ledger.updated_at)}",',
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


_SETTLING = 1.0
"""Seconds in which a file that is no JSON may still be in the middle of being written."""


class Found(NamedTuple):
    """A view as it was found, and its signature."""

    data: bytes
    signature: Signature


class View:
    """The view of one conversation, and which state of it we know."""

    def __init__(self, path: Path, hidden: Path) -> None:
        self.path = path
        self.seen: Signature | None = NEVER
        self._draft = hidden / f"{path.name}.new"
        self._original = hidden / path.name

    def signature(self) -> Signature | None:
        return filesystem.signature(self.path)

    def read(self) -> Found | None:
        """Return the file; one that another program seems to be writing is read again until it is complete."""
        patience = time.monotonic() + _SETTLING
        while (signature := self.signature()) is not None:
            try:
                data = self.path.read_bytes()
            except FileNotFoundError:
                return None
            is_old = time.time() - signature.changed / 1e9 > _SETTLING
            if is_old or _is_json(data) or time.monotonic() > patience:
                return Found(data, signature)
            time.sleep(0.05)
        return None

    def write(self, data: bytes) -> None:
        """Replace the file, unless another program has changed it since it was read: that is imported the next time."""
        filesystem.write_file(self._draft, data)
        if self.signature() == self.seen:
            os.replace(self._draft, self.path)
            filesystem.sync_folder(self.path.parent)
            self.seen = self.signature()

    def set_aside(self, now: datetime) -> Path:
        """Move a file that cannot be read out of the way, and return where it is."""
        aside = filesystem.unused_name(self.path, "corrupt", now)
        os.rename(self.path, aside)
        filesystem.sync_folder(aside.parent)
        self.seen = None
        return aside

    def aside(self) -> list[Path]:
        return filesystem.set_aside_files(self.path, "corrupt")

    def keep_original(self, data: bytes, now: datetime) -> None:
        """Keep a copy of a file that holds more than a conversation can."""
        filesystem.write_file(filesystem.unused_name(self._original, "imported", now), data)
        filesystem.sync_folder(self._original.parent)

    def files(self) -> list[Path]:
        """Return the file, its copies and what was set aside, as far as they are there."""
        copies = filesystem.set_aside_files(self._original, "imported")
        return [path for path in (self.path, self._draft, *self.aside(), *copies) if path.is_file()]


def _is_json(data: bytes) -> bool:
    try:
        parse(data)
    except ValueError:
        return False
    return True


class Importer:
    """Makes records of documents, at this moment and with this limit for one message."""

    def __init__(self, now: datetime, max_bytes: int) -> None:
        self._now = now
        self._max_bytes = max_bytes

    def conversation(self, scope: Scope, name: str, document: Document, view: str) -> list[Record]:
        """Return the records of a conversation that another program began."""
        asked = (message.content for message in document.messages if message.role is Role.USER)
        new = NewConversation(title=title_from_words(next(asked, "")) or None)
        opening = Opening(tenant=scope.tenant, user=scope.user, id=name, mark=new_id(), new=new)
        return [
            Record(at=document.created_at, opening=opening),
            *self._message_records(document.messages, None),
            self._view_record(view),
        ]

    def change(self, ledger: Ledger, document: Document, view: str) -> list[Record]:
        """Return the records of what another program changed: it continues where the document parts from the branch.

        The view may be behind: a program that kept all that it showed has changed nothing of what came since.
        """
        ours = list(shown_messages(list(ledger.backwards(ledger.tip.head))[::-1]))
        same = _common([message for _, message in ours], document.messages)
        added = document.messages[same:]
        shown = sum(1 for _ in shown_messages(ledger.backwards(ledger.shown_head)))
        is_behind = not ledger.is_shown and ledger.tree.holds(ledger.tip.head, ledger.shown_head)
        if same == len(ours) or (is_behind and same >= shown):
            return [*self._message_records(added, None), self._view_record(view)]
        parent = ours[same - 1][0] if same else ROOT
        if added:
            return [*self._message_records(added, parent), self._view_record(view)]
        return [Record(at=self._now, head=parent, parent=parent, bodies=(HeadChoice(),)), self._view_record(view)]

    def _message_records(self, messages: list[ViewMessage], parent: int | None) -> list[Record]:
        records = []
        for number, message in enumerate(messages, 1):
            body = Message(role=message.role, content=message.content)
            try:
                size = encode_within(body, self._max_bytes).size
            except ContentTooLarge as error:
                raise ContentTooLarge(f"new message {number}: {error}") from None
            records.append(Record(at=message.at, parent=parent, bodies=(body,), bytes=size))
            parent = None
        return records

    def _view_record(self, view: str) -> Record:
        return Record(at=self._now, view=view)


def _common(ours: list[ViewMessage], theirs: list[ViewMessage]) -> int:
    """Return how many messages at the beginning are the same; a program may write times in its own way."""
    for at, (mine, their) in enumerate(zip(ours, theirs, strict=False)):
        if mine[:2] != their[:2]:
            return at
    return min(len(ours), len(theirs))
