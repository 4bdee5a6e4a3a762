"""A handle on a conversation: what is cancelled, appended and read, told in one place for everybody who asks."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

import threadkeep
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.message import Message, Role
from threadkeep.conversations import Conversations
from threadkeep.errors import ConversationNotFound, InvalidCursor, InvalidValue, TurnNotFound
from threadkeep.llm.base import Text
from threadkeep.testing.scripted_model import ScriptedModel, Step

PATIENCE = 20


@asynccontextmanager
async def _opened(*answers: list[Step]) -> AsyncIterator[Conversations]:
    async with threadkeep.open("memory:", model=ScriptedModel(*answers)) as conversations:
        yield conversations


async def test_a_turn_that_was_cancelled_has_its_number_and_a_second_cancel_finds_none() -> None:
    async with _opened([Text("Well"), asyncio.Event()]) as conversations:
        conversation = await conversations.create(title="Kept")
        async with asyncio.timeout(PATIENCE):
            turn = await conversation.send("Hello")
            assert await conversation.cancel() == turn.number
            with pytest.raises(TurnNotFound):
                await conversation.cancel()


async def test_what_is_appended_is_answered_by_nobody_and_is_in_the_log() -> None:
    async with _opened() as conversations:
        conversation = await conversations.create(title="Kept")
        history = [Message(role=Role.USER, content="Hello"), Message(role=Role.ASSISTANT, content="Hello!")]
        first, *rest = history
        entries = await conversation.append(first, key="first")
        begun = await conversation.read()
        entries += await conversation.append(*rest, key="once")
        assert await conversation.append(*rest, key="once") == entries[1:]
        assert await conversation.messages(limit=None) == history
        assert [entry async for entry in conversation.reading.entries()] == list(entries)
        assert [entry async for entry in conversation.reading.entries(begun)] == list(entries[:1])
        assert [entry async for entry in conversation.reading.backwards()] == list(entries)[::-1]
        assert await conversation.turns() == ()


async def test_a_place_that_is_not_in_the_log_is_refused_and_none_is_the_present() -> None:
    async with _opened() as conversations:
        conversation = await conversations.create()
        assert await conversation.cursor(None) is None
        assert await conversation.cursor("0") == Cursor()
        with pytest.raises(InvalidCursor):
            await conversation.cursor(Cursor(seq=7).encode(conversation.id))
        with pytest.raises(ConversationNotFound):
            await conversations.at(conversation.scope, "nobody").cursor(None)


async def test_a_handle_that_has_not_read_its_conversation_says_so() -> None:
    async with _opened() as conversations:
        created = await conversations.create(title="Kept")
        assert created.value.title == "Kept"
        with pytest.raises(ValueError, match="was not read"):
            _ = conversations.at(created.scope, created.id).value
        with pytest.raises(InvalidValue, match="nothing to change"):
            await created.update()
        assert (await created.update(title="Other")).version == 1 + created.value.version
