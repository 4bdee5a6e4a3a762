"""The messages of a conversation as assistant-ui has them: one for what somebody says, one for all that a turn answers,
each behind its parent, on every branch.

What a client of theirs keeps here by itself (`Kept`) stands beside the text of an entry. When it changes, another entry
stands beside the first one, and the message is what the newest says.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from threadkeep.conversation.entry import Approval, Entry
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import Raw
from threadkeep.conversation.turn import TurnChange
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.errors import EntryNotFound
from threadkeep.store.values import Snapshot
from threadkeep_protocols.chats import MOST_SEARCHED, log_behind
from threadkeep_protocols.parts import AnswerReader

FORM = "assistant-ui"
"""The name of the form in the part that keeps what a client gave."""
REACHES = (200, 2000, MOST_SEARCHED)
"""How many of the newest entries are read at first, and when what is looked for is not among them."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a client gave: content in a format; `of` is the message that it is a newer form of."""

    format: str
    content: dict[str, Any]
    of: str | None = None

    def part(self) -> Raw:
        """Return the part of a message that keeps it."""
        return Raw(of=FORM, items=[{"format": self.format, "content": self.content, "of": self.of}])

    @classmethod
    def in_message(cls, message: Message) -> "Kept | None":
        """Return what a message keeps."""
        for part in message.parts:
            if isinstance(part, Raw) and part.of == FORM and part.items and isinstance(found := part.items[0], dict):
                form, content, of = found.get("format"), found.get("content"), found.get("of")
                if isinstance(form, str) and isinstance(content, dict):
                    return cls(form, content, of if isinstance(of, str) else None)
        return None


@dataclass(slots=True)
class Node:
    """A message. `first` is its entry, or the first of an answer, which continues the entry `parent`; `last` the one
    that what follows continues; `said` the newest that is a message. It has the `entry` of what was said, or the
    `reader` of an answer, and what a client has `kept`."""

    id: str
    first: int
    parent: int | None
    created_at: datetime
    updated_at: datetime
    last: int
    said: int
    entry: Entry | None = None
    reader: AnswerReader | None = None
    kept: Kept | None = None

    @property
    def turn(self) -> int | None:
        """The turn that it answers in."""
        return self.reader.turn if self.reader is not None else None


class MessageTree:
    """The messages that entries make, oldest first; entries come in the order of the log."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self._of: dict[int, Node] = {}
        self._turns: dict[int, Node] = {}
        self._ids: dict[str, Node] = {}

    def named(self, id: str) -> Node:
        """Return a message by its id."""
        if (node := self._ids.get(id)) is None:
            raise EntryNotFound("There is no such message in this thread.")
        return node

    def has(self, id: str) -> bool:
        """Whether a message with this id is here."""
        return id in self._ids

    def parent_of(self, node: Node) -> Node | None:
        """Return the message that another continues, if it is here."""
        return self._of.get(node.parent or 0)

    def behind(self, parent: Node | None) -> list[Node]:
        """Return the messages that continue another, or that are the first ones."""
        if parent is None:
            return [node for node in self.nodes if not node.parent]
        return [node for node in self.nodes if self.parent_of(node) is parent]

    def at(self, entry: int | None) -> Node | None:
        """Return the message that an entry belongs to."""
        return self._of.get(entry or 0)

    def take(self, entry: Entry) -> None:
        """Add an entry of the log."""
        body = entry.body
        if isinstance(body, Message) and ((kept := Kept.in_message(body)) or body.role in (Role.USER, Role.SYSTEM)):
            self._add_said(entry, body, kept)
        elif isinstance(body, Approval):
            self._read(self._of.get(entry.parent or 0), entry)
        elif (node := self._answer(entry)) is not None:
            self._read(node, entry)
        elif entry.continues_branch and (before := self.at(entry.parent)) is not None:
            self._of[entry.seq] = before

    def _add_said(self, entry: Entry, said: Message, kept: Kept | None) -> None:
        older = self._ids.get(kept.of) if kept is not None and kept.of is not None else None
        if older is None:
            id = kept.of if kept is not None and kept.of is not None else said.id
            older = self._new(id, entry)
        older.entry, older.kept, older.last, older.said = entry, kept, entry.seq, entry.seq
        older.updated_at = entry.created_at
        self._of[entry.seq] = older

    def _answer(self, entry: Entry) -> Node | None:
        """Return the answer that an entry is a part of, which its first message begins."""
        node = self._turns.get(entry.turn) if entry.turn is not None else self._alone(entry)
        if node is None and isinstance(entry.body, Message) and entry.body.role is Role.ASSISTANT:
            reader = AnswerReader(entry.turn)
            reader.take_entry(entry)
            node = self._new(reader.id, entry)
            node.reader = reader
            if entry.turn is not None:
                self._turns[entry.turn] = node
        return node

    def _alone(self, entry: Entry) -> Node | None:
        """Return the answer, of no turn, at whose end an entry stands."""
        node = self.at(entry.parent) if isinstance(entry.body, Message) else None
        return node if node is not None and node.reader is not None and node.last == entry.parent else None

    def _read(self, node: Node | None, entry: Entry) -> None:
        if node is None or node.reader is None:
            return
        node.reader.take_entry(entry)
        node.updated_at = entry.created_at
        if entry.continues_branch:
            node.last, self._of[entry.seq] = entry.seq, node
        if isinstance(entry.body, Message) and entry.body.role is Role.ASSISTANT:
            node.said = entry.seq

    def _new(self, id: str, entry: Entry) -> Node:
        now = entry.created_at
        node = Node(id, entry.seq, entry.parent, now, now, entry.seq, entry.seq)
        self.nodes.append(node)
        self._ids[id] = node
        return node

    def add_present(self, snapshot: Snapshot) -> None:
        """Add the text that is being written."""
        if (draft := snapshot.draft) is None:
            return
        node = self._turns.get(draft.turn)
        if node is None:
            seq, reader = snapshot.conversation.entries + 1, AnswerReader(draft.turn)
            head, at = snapshot.conversation.head, draft.started_at
            node = Node(reader.id, seq, head, at, at, seq, seq, reader=reader)
            self.nodes.append(node)
            self._ids[node.id] = node
        if node.reader is not None:
            node.reader.take_draft(draft.message, draft.text)

    def without_cut(self, start: int) -> None:
        """Leave out messages whose beginning may stand before the first entry that was read."""
        whole = next((node.first for node in self.nodes if node.reader is None), 2**53)
        self.nodes = [node for node in self.nodes if node.first >= whole and (node.turn or start + 1) > start]
        self._ids = {node.id: node for node in self.nodes}


async def read_tree(
    chat: ConversationHandle, enough: Callable[[MessageTree], bool], snapshot: Snapshot | None = None
) -> MessageTree:
    """Return the newest messages of all branches: so many that it is enough, if there are."""
    end = (await chat.read()).entries if snapshot is None else snapshot.conversation.entries
    tree = MessageTree()
    for reach in REACHES:
        start, tree = max(0, end - reach), MessageTree()
        async for entry in log_behind(chat, start):
            if entry.seq <= end:
                tree.take(entry)
        if snapshot is not None:
            tree.add_present(snapshot)
        if not start:
            break
        tree.without_cut(start)
        if enough(tree):
            break
    return tree


async def tree_with(chat: ConversationHandle, *ids: str | None) -> MessageTree:
    """Return a tree that has these messages, if there are such."""
    return await read_tree(chat, lambda tree: all(id is None or tree.has(id) for id in ids))


async def parent_named(chat: ConversationHandle, entry: int) -> str | None:
    """Return the id of the message that an entry belongs to which was not read with the others."""
    found = await chat.reading.entry(entry)
    if isinstance(found.body, Message) and found.body.role in (Role.USER, Role.SYSTEM):
        kept = Kept.in_message(found.body)
        return (kept and kept.of) or found.body.id
    return AnswerReader(found.turn).id if found.turn is not None else None


async def is_turn(chat: ConversationHandle, number: int) -> bool:
    """Whether a number is that of a turn of this conversation."""
    if number > (await chat.read()).entries:
        return False
    entry = await chat.reading.entry(number)
    return entry.turn == number and isinstance(entry.body, Message | TurnChange)
