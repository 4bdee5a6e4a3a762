"""Titles of threads: the one that the conversation gets by itself, else one made of the first question's words."""

import asyncio
from contextlib import aclosing, suppress
from typing import Any

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.events import ConversationUpdated
from threadkeep.conversation.message import Role
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.errors import StaleVersion
from threadkeep.text.title import title_from_words
from threadkeep_protocols.assistant_ui.formats import text_of

PATIENCE = 15.0
"""How long the model that writes titles is waited for, in seconds."""


async def title_of(chat: ConversationHandle, messages: list[dict[str, Any]], patience: float = PATIENCE) -> str:
    """Return the title of a thread; if it has none, it is made here. `messages` are those that the client has."""
    now = await chat.read()
    if now.title is None and await _is_answered(chat):
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                return await _given(chat, now.entries)
    title = (await chat.read()).title or title_from_words(await _asked(chat, messages))
    if title and now.title is None:
        with suppress(StaleVersion):
            await chat.update(title=title, expected_version=now.version)
        title = (await chat.read()).title or title
    return title


async def _is_answered(chat: ConversationHandle) -> bool:
    """Whether a turn of ours answered here, which gives a title when it is done."""
    return any(entry.turn is not None for entry in await chat.reading.newest(limit=1))


async def _given(chat: ConversationHandle, entries: int) -> str:
    """Wait for the title that the conversation gets."""
    async with aclosing(chat.follow(Cursor(seq=entries))) as events:
        async for event in events:
            if isinstance(event.what, ConversationUpdated) and event.what.update.title:
                return event.what.update.title
    raise TimeoutError


async def _asked(chat: ConversationHandle, messages: list[dict[str, Any]]) -> str:
    """Return the first question: as it stands here, else as the client has it."""
    for message in await chat.messages(None if (await chat.read()).entries < 100 else 100):
        if message.role is Role.USER and message.content:
            return message.content
    return next((text for each in messages if each.get("role") == Role.USER and (text := text_of(each))), "")
