"""A thread's messages: listed from the log, and kept where a client brings one that the log has not.

After an answer, a client of assistant-ui sends what it has shown. What was said and answered here is known by its turn,
its place and its words, and is not stored again; the log is newer than the client's copy, so changes to it change
nothing. What was answered elsewhere is kept as it comes, beside its text.
"""

import json
import re
from collections.abc import Iterable, Iterator
from copy import deepcopy
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any

from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request

from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import Attachment
from threadkeep.conversation.value import JsonObject
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.server.requests import SentText
from threadkeep.store.values import Snapshot
from threadkeep_protocols.ai_sdk.showing import Asks, Json, answer_message, branches_of, question_message
from threadkeep_protocols.assistant_ui.formats import AI_SDK, AUI, in_format, role_of, text_of, turn_of
from threadkeep_protocols.assistant_ui.tree import (
    Kept,
    MessageTree,
    Node,
    is_turn,
    parent_named,
    read_tree,
    tree_with,
)
from threadkeep_protocols.files import OUR_FILES, kept_file
from threadkeep_protocols.parts import AnswerReader
from threadkeep_protocols.signed import SHOWN_FOR, SIGNED, SignedFiles, signed_address

OURS = re.compile(re.escape(OUR_FILES) + r"file-[0-9a-f]{40}")
"""The address of a file here, for who has a key."""


class NewMessage(BaseModel):
    """A message that a client has shown."""

    model_config = ConfigDict(frozen=True)
    parent_id: SentText | None = None
    format: SentText = Field(min_length=1, max_length=100)
    content: JsonObject


class NewContent(BaseModel):
    """What a message says now."""

    model_config = ConfigDict(frozen=True)
    content: JsonObject


def moment(at: datetime) -> str:
    """Return a time as clients check it: in UTC, with milliseconds."""
    return at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


class Messages:
    """The messages of one thread."""

    def __init__(self, conversations: Conversations, chat: ConversationHandle, asks: Asks) -> None:
        self._conversations = conversations
        self._chat = chat
        self._asks = asks

    # Listing

    async def page(self, request: Request, form: str, limit: int, after: str | None) -> list[Json]:
        """Return a page, the newest first: but first of all the end of the current branch, which clients open."""
        snapshot = await self._chat.snapshot()

        def found(tree: MessageTree) -> list[Node]:
            nodes = sorted(tree.nodes, key=lambda node: -node.first)
            head = tree.at(snapshot.conversation.head)
            if nodes and head is not None and head in nodes and not tree.behind(head):
                nodes.remove(head)
                nodes.insert(0, head)
            if after is None:
                return nodes
            behind = tree.named(after)
            return [node for node in nodes if node.first < behind.first and node is not head]

        tree = await read_tree(
            self._chat, lambda tree: (after is None or tree.has(after)) and len(found(tree)) > limit, snapshot
        )
        shown = [await self._shown(node, tree, snapshot, form) for node in found(tree)[:limit]]
        told = [each for each in shown if each is not None]
        await self._sign(request, told)
        return told

    async def _shown(self, node: Node, tree: MessageTree, snapshot: Snapshot, form: str) -> Json | None:
        content = self._content(node, snapshot, form)
        if content is None:
            return None
        before = tree.parent_of(node)
        parent = before.id if before else (await parent_named(self._chat, node.parent) if node.parent else None)
        return {
            "id": node.id,
            "parent_id": parent,
            "height": node.first,
            "created_at": moment(node.created_at),
            "updated_at": moment(node.updated_at),
            "format": form,
            "content": content,
        }

    def _content(self, node: Node, snapshot: Snapshot, form: str) -> Json | None:
        """Return what a message says in a format; none if it cannot be said in that."""
        if node.kept is not None and node.kept.format == form:
            return deepcopy(node.kept.content)
        if form not in (AUI, *AI_SDK):
            return None
        siblings = branches_of(snapshot, (node.first, node.parent))
        if node.reader is not None:
            return in_format(answer_message(node.reader, siblings, self._asks), form)
        if node.entry is None or not isinstance(node.entry.body, Message):
            return None
        return in_format(question_message(node.entry, node.entry.body, siblings), form)

    async def _sign(self, request: Request, told: Iterable[Json]) -> None:
        """Put addresses that are good without a key in place of those of files."""
        if self._conversations.attachments is None:
            return
        signed = SignedFiles(self._conversations)
        for place, name in (found for each in told for found in _addresses(each["content"])):
            if OURS.fullmatch(place[name]):
                token = await signed.token("file", place[name].removeprefix(OUR_FILES), self._chat.scope, SHOWN_FOR)
                place[name] = signed_address(request, token)

    # Keeping

    async def keep(self, given: NewMessage) -> str:
        """Return the id of a message that a client has shown; it is stored if the log has nothing like it."""
        role, text, turn = role_of(given.content), text_of(given.content), turn_of(given.content)
        if role is Role.ASSISTANT and turn is not None and await is_turn(self._chat, turn):
            return AnswerReader(turn).id
        tree = await tree_with(self._chat, given.parent_id)
        parent = None if given.parent_id is None else tree.named(given.parent_id)
        for node in tree.behind(parent):
            if node.kept is None and _says(node) == (role, text):
                return node.id
        files = await self._files(given.content)
        kept = Kept(given.format, given.content)
        id = _digest(given.parent_id, given.format, given.content)
        message = Message(id=id, role=role, content=text, parts=(kept.part(), *files))
        (entry,) = await self._chat.append(message, key=id, parent=0 if parent is None else parent.last)
        return entry.body.id if isinstance(entry.body, Message) else id

    async def _files(self, content: Json) -> tuple[Attachment, ...]:
        """Return the files whose signed addresses stand in content, which gets their own in place of those."""
        files: dict[str, Attachment] = {}
        for place, name in _addresses(content):
            if SIGNED in place[name] or OURS.fullmatch(place[name]):
                file = await kept_file(self._conversations, self._chat.scope, place[name])
                files[file.file], place[name] = file, OUR_FILES + file.file
        return tuple(files.values())

    async def change(self, id: str, content: dict[str, Any]) -> None:
        """Let a message that a client keeps here say something else; answers of ours stay as the log has them."""
        node = (await tree_with(self._chat, id)).named(id)
        files = () if node.kept is None else await self._files(content)
        if node.kept is None or node.kept.content == content:
            return
        kept = Kept(node.kept.format, content, of=node.id)
        name = _digest(node.id, str(node.said), content)
        message = Message(id=name, role=role_of(content), content=text_of(content), parts=(kept.part(), *files))
        head = (await self._chat.read()).head
        await self._chat.append(message, key=name, parent=node.parent or 0)
        if head is not None and head != node.last:
            await self._chat.choose_head(head)

    async def rated(self, id: str, kind: str, comment: str | None) -> str:
        """Keep what somebody thinks of a message, and return the id of that."""
        node = (await tree_with(self._chat, id)).named(id)
        entry = await self._chat.give_feedback(node.said, "up" if kind == "positive" else "down", comment)
        return f"feedback-{entry.seq}"


def _addresses(content: Any) -> Iterator[tuple[Json, str]]:
    """Yield where in content an address may stand: in which object, under which name."""
    inside = list(content.values()) if isinstance(content, dict) else content if isinstance(content, list) else []
    for name in ("url", "image", "data"):
        if isinstance(content, dict) and isinstance(content.get(name), str):
            yield content, name
    for each in inside:
        yield from _addresses(each)


def _says(node: Node) -> tuple[Role, str] | None:
    """Return who says what in a message that stands in our log."""
    if node.entry is not None and isinstance(node.entry.body, Message):
        return node.entry.body.role, node.entry.body.content
    if node.reader is not None:
        said = [message.content for message in node.reader.messages if message.content]
        return Role.ASSISTANT, "\n\n".join(said)
    return None


def _digest(*named: Any) -> str:
    """Return an id for what a client keeps: the same for the same."""
    return f"kept-{sha256(json.dumps(named, sort_keys=True).encode()).hexdigest()[:32]}"
