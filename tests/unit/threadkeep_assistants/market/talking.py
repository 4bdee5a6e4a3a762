"""A conversation with the market assistant in this process: every question with the calls and the answer it led to."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from tests.unit.turn.processes import Processes
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.llm.base import Model
from threadkeep.runtime import open_conversations, open_store
from threadkeep.testing.clock import FakeClock
from threadkeep_assistants.market import ASSISTANT


@dataclass(frozen=True)
class Talk:
    """A conversation. `ask` returns the calls of a turn, without looks into the past, and its answer."""

    chat: ConversationHandle

    async def ask(self, question: str) -> tuple[list[tuple[str, dict[str, Any]]], Message]:
        """Ask, wait for the end, and tell what happened."""
        answer = await (await self.chat.send(question)).answer()
        assert answer is not None
        messages = await self.chat.messages(limit=50)
        last = max(place for place, message in enumerate(messages) if message.role is Role.USER)
        calls = [(call.name, call.args) for message in messages[last:] for call in message.tool_calls]
        return calls, answer


@asynccontextmanager
async def talking() -> AsyncIterator[Talk]:
    """Begin a conversation with the scripted model in a store in memory."""
    conversations = await open_conversations("memory:", [ASSISTANT], model="demo", pace=0)
    try:
        yield Talk(await conversations.create(title="Stocks"))
    finally:
        await conversations.close()


@asynccontextmanager
async def talking_to(model: Model) -> AsyncIterator[Talk]:
    """Begin a conversation with another model, which is asked again at once when it fails, twice."""
    processes = Processes(lambda: open_store("memory:"), FakeClock())
    conversations = await processes.open(model, assistant=ASSISTANT)
    try:
        yield Talk(await conversations.create(title="Stocks"))
    finally:
        await processes.close()
