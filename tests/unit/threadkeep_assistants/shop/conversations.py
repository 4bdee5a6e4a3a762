"""Talking to the shop in tests: questions in, what was said and how it came about out."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tests.told import data_of, name_of
from threadkeep.conversation.message import Message
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.llm.base import Model
from threadkeep.runtime import open_conversations
from threadkeep_assistants.shop import ASSISTANT


@dataclass(frozen=True)
class Told:
    """An answer, the nodes that ran for it, and the tools that were called."""

    message: Message
    nodes: tuple[str, ...]
    tools: tuple[str, ...]

    @property
    def text(self) -> str:
        """What was said."""
        return self.message.content

    @property
    def query(self) -> dict[str, Any]:
        """What the trace tells about the query."""
        return next(item for item in self.message.tool_trace if item["kind"] == "query")

    @property
    def cited(self) -> list[str]:
        """The products that the answer cites."""
        return [block.model_dump()["source"] for block in self.message.blocks if block.type == "citation"]


@asynccontextmanager
async def shopping(
    store: str = "memory:", model: str | Model = "demo", id: str | None = None
) -> AsyncIterator[ConversationHandle]:
    """Open a conversation with the shop, a new one or one that is there."""
    conversations = await open_conversations(store, [ASSISTANT], model=model, pace=0)
    try:
        yield await conversations.create(title="Kept") if id is None else await conversations.get(id)
    finally:
        await conversations.close()


async def ask(chat: ConversationHandle, question: str) -> Told:
    """Ask and wait for the whole answer."""
    events = [event async for event in (await chat.send(question)).events()]
    assert name_of(events[-1]) == "turn.completed", data_of(events[-1])
    message = data_of([event for event in events if name_of(event) == "message.completed"][-1])["message"]
    return Told(
        Message.model_validate(message),
        tuple(data_of(event)["set"]["node"] for event in events if name_of(event) == "state.changed"),
        tuple(data_of(event)["name"] for event in events if name_of(event) == "tool.called"),
    )


async def ask_all(*questions: str) -> Told:
    """Ask one question after the other in a new conversation, and return what was told last."""
    async with shopping() as chat:
        for question in questions[:-1]:
            await ask(chat, question)
        return await ask(chat, questions[-1])
