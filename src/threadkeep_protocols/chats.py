"""Conversations by the ids that clients choose, the messages in them by theirs, and the whole of what was said."""

import re
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.ids import id_of, is_chosen
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversation.turn import TurnChange
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import ConversationNotFound, InvalidValue
from threadkeep.store.base import MAX_LIMIT
from threadkeep.store.values import LogPage
from threadkeep.tools.registry import Registry
from threadkeep_protocols.answers import transcript
from threadkeep_protocols.parts import AnswerReader

MOST_SHOWN = 1000
"""Messages in a transcript, at most."""
MOST_SEARCHED = 10_000
"""Entries, the newest, among which a message is looked for by its id."""
_OURS = "chat."
"""What is put before an id that has the form of those made here, so that it may be a chosen one."""


_QUOTED = re.compile(r"(?:__[0-9A-F]{2})+")
_HASHED = re.compile(r"h__\.[0-9a-f]{64}")


def _names(scope: Scope, id: str) -> tuple[str, ...]:
    """Return what a conversation may be called that a client calls by an id, which may be any text."""
    name = id if _HASHED.fullmatch(id) else id_of(id)
    return (name,) if scope.user == LOCAL.user or is_chosen(name) else (name, _OURS + name)


async def find_chat(conversations: Conversations, scope: Scope, id: str) -> ConversationHandle:
    """Return the conversation that a client calls by an id; `ConversationNotFound` if there is none."""
    *others, last = _names(scope, id)
    for name in others:
        try:
            return await conversations.get(name, scope=scope)
        except ConversationNotFound:
            continue
    return await conversations.get(last, scope=scope)


async def open_chat(
    conversations: Conversations, scope: Scope, id: str, assistant: str | None = None
) -> ConversationHandle:
    """Return the conversation that a client calls by an id, as it is, or make it. An assistant is taken as long as it
    is empty and nobody has chosen one."""
    try:
        found = await find_chat(conversations, scope, id)
    except ConversationNotFound:
        conversations.check_assistant(assistant)
        return await conversations.get_or_create(_names(scope, id)[-1], scope=scope, assistant=assistant)
    if assistant is not None and found.value.head is None and found.value.assistant is None:
        conversations.check_assistant(assistant)
        await found.update(assistant=assistant)
        return await find_chat(conversations, scope, id)
    return found


def chat_id(conversation: Conversation) -> str:
    """Return what its clients call a conversation: the id that they chose, else its own. In place of one that was too
    long it is another, by which the conversation is found as well."""
    name = (conversation.name or conversation.id).removeprefix(_OURS).removeprefix("u__.")
    return _QUOTED.sub(lambda found: bytes.fromhex(found[0].replace("__", "")).decode(errors="replace"), name)


def who_is_asked(
    conversations: Conversations, conversation: Conversation, *, about_others: bool = False
) -> Callable[[str], bool]:
    """Return what tells whether a person is asked before a tool runs here, by its name; and what it tells
    `about_others`, which the assistant has not now, such as those that a client runs."""
    try:
        tools = conversations.tools_of(conversations.assistant_of(conversation))
    except (InvalidValue, StopIteration):
        return lambda name: about_others
    return lambda name: about_others if (tool := tools.get(name)) is None else tool.needs_approval


def tools_of_client(
    conversations: Conversations, conversation: Conversation, given: Iterable[dict[str, Any]]
) -> list[dict[str, Any]]:
    """Return the tools that a client runs: those that the assistant has itself are its own."""
    tools = list(given)
    known = conversations.assistant_of(conversation).tools if tools else Registry()
    return [tool for tool in tools if known.get(tool["name"]) is None]


async def said_in(conversation: ConversationHandle, most: int = MOST_SHOWN) -> list[Entry | AnswerReader]:
    """Return the newest messages of the current branch and the answers, the one being written included."""
    return transcript(await conversation.snapshot(messages=most))


async def newest_first(conversation: ConversationHandle) -> AsyncIterator[Entry]:
    """Yield the newest entries of the log, all branches included."""
    end = (await conversation.read()).entries
    first = max(0, end - MOST_SEARCHED)
    while end > first:
        start = max(first, end - MAX_LIMIT)
        page = await conversation.reading.log(Cursor(seq=start), limit=end - start)
        for entry in reversed(page.entries):
            yield entry
        end = start


async def pages_behind(conversation: ConversationHandle, seq: int) -> AsyncIterator[LogPage]:
    """Yield what the log holds behind an entry, of all branches, page by page; the last one has the text that is being
    written."""
    while True:
        page = await conversation.reading.log(Cursor(seq=seq), limit=MAX_LIMIT)
        yield page
        if len(page.entries) < MAX_LIMIT:
            return
        seq = page.entries[-1].seq


async def log_behind(conversation: ConversationHandle, seq: int) -> AsyncIterator[Entry]:
    """Yield the entries of the log behind an entry, of all branches."""
    async for page in pages_behind(conversation, seq):
        for entry in page.entries:
            yield entry


async def end_of_turn(conversation: ConversationHandle, turn: int) -> int | None:
    """Return the newest entry of a turn that a message could continue; none if the turn has said nothing."""
    found = None
    async for entry in log_behind(conversation, turn - 1):
        if entry.turn == turn and entry.continues_branch:
            found = entry.seq
        elif entry.turn == turn and isinstance(entry.body, TurnChange) and not entry.body.state.is_open:
            break
    return found
