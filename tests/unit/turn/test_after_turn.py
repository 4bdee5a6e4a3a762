"""What a turn leaves behind: token counts with every message, and a summary of what fell out of the window."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from threadkeep.context.base import Policy, Window
from threadkeep.conversation.entry import Summary
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.hosting import Hosting
from threadkeep.llm.base import Delta, Model, Request, Stopped, Text
from threadkeep.runtime import open_conversations
from threadkeep.store.paging import walk
from threadkeep.turn.after_turn import INSTRUCTIONS
from threadkeep.turn.assistant import Assistant

PATIENCE = 20
FORGETFUL = Assistant(name="forgetful", policy=Policy(window=Window.NEWEST, size=2, recall=False, summary=True))


class Echo(Model):
    """Repeats the question; sums up and gives titles when it is asked to."""

    name = "echo"

    def __init__(self) -> None:
        self.requests: list[Request] = []

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Answer."""
        self.requests.append(request)
        sums_up = request.messages[0].content == INSTRUCTIONS
        yield Text(f"SUMMARY of {len(request.messages[-1].content)}" if sums_up else "Yes.")
        yield Stopped("stop")


@pytest.fixture
async def conversations() -> AsyncIterator[Conversations]:
    conversations = await open_conversations(
        "memory:", [FORGETFUL], model=Echo(), hosting=Hosting(count=lambda message: 7)
    )
    yield conversations
    await conversations.close()


async def _summary(conversations: Conversations, chat: ConversationHandle) -> str:
    """Wait for a summary of the conversation."""
    async with asyncio.timeout(PATIENCE):
        while (found := await conversations._store.summary(LOCAL, chat.id)) is None:  # noqa: ASYNC110 - nobody is told of it
            await asyncio.sleep(0.001)
    assert isinstance(found.body, Summary)
    return found.body.content


async def test_what_fell_out_of_the_window_is_summed_up_and_told_to_the_model(conversations: Conversations) -> None:
    chat = await conversations.create()
    for text in ("I live in Bergen.", "I have a boat.", "It is red.", "And fast."):
        await (await chat.send(text)).answer()
    text = await _summary(conversations, chat)
    assert text.startswith("SUMMARY of")
    turn = await chat.send("What do you know?")
    await turn.answer()
    model = conversations._runner.deps.models(None, FORGETFUL)
    assert isinstance(model, Echo)
    asked = [request for request in model.requests if "What do you know?" in request.messages[-1].content]
    assert any("SUMMARY of" in message.content for request in asked for message in request.messages)
    assert len(await chat.messages(limit=100)) == 10


async def test_every_message_is_stored_with_the_tokens_that_were_counted(conversations: Conversations) -> None:
    chat = await conversations.create()
    await (await chat.send("Hello")).answer()
    bodies = [entry.body async for entry in walk(conversations._store, LOCAL, chat.id)]
    assert [body.tokens for body in bodies if isinstance(body, Message)] == [7, 7]
