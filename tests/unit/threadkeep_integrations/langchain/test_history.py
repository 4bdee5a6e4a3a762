"""LangChain keeps its histories here: what it gives comes back as it was, in asynchronous and synchronous programs."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.runnables.history import RunnableWithMessageHistory

import threadkeep
from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue
from threadkeep_integrations.langchain.history import LangChainHistory

# It says that LangGraph should be used; programs that have it go on using it.
pytestmark = pytest.mark.filterwarnings("ignore:RunnableWithMessageHistory is deprecated")
ADA = Scope(tenant="acme", user="ada")
IMAGE: Any = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "https://a/b.png"}}]
CALL = {"name": "weather", "args": {"city": "Oslo"}, "id": "c1", "type": "tool_call"}
GIVEN: list[BaseMessage] = [
    SystemMessage("Be brief."),
    HumanMessage("How is Oslo?", name="ada", id="h-1"),
    HumanMessage("How is Oslo?"),
    HumanMessage(IMAGE),
    AIMessage(
        "Let me see.",
        tool_calls=[CALL],
        response_metadata={"model_name": "m", "finish_reason": "tool_calls"},
        usage_metadata={"input_tokens": 5, "output_tokens": 7, "total_tokens": 12},
    ),
    ToolMessage("4 degrees", tool_call_id="c1", artifact={"raw": [4]}, name="weather"),
    ToolMessage("no such city", tool_call_id="c2", status="error"),
    AIMessage("Cold.", invalid_tool_calls=[{"name": "x", "args": "{", "id": "c3", "error": "no JSON"}]),
    ChatMessage(content="Aye.", role="pirate"),
    FunctionMessage(content="42", name="f"),
    AIMessage("It is cold in Oslo."),
]


@pytest.fixture
async def conversations(tmp_path: Path) -> AsyncIterator[Conversations]:
    async with threadkeep.open(f"sqlite:///{tmp_path}/threadkeep.db") as opened:
        yield opened


async def test_messages_come_back_as_they_were(conversations: Conversations) -> None:
    history = LangChainHistory(conversations, "chat-1", scope=ADA, title="Weather")
    assert await history.aget_messages() == []
    await history.aclear()
    await history.aadd_messages([])
    await history.aadd_messages(GIVEN[:4])
    await history.aadd_messages(GIVEN[4:])
    await history.aadd_messages(GIVEN[1:2])
    assert await history.aget_messages() == [*GIVEN, GIVEN[1]]
    assert await LangChainHistory(conversations, "chat-1").aget_messages() == []
    conversation = await conversations.get("chat-1", scope=ADA)
    assert conversation.value.title == "Weather"
    await history.aclear()
    assert await history.aget_messages() == []
    await history.aadd_messages(GIVEN[:1])
    assert await history.aget_messages() == GIVEN[:1]


async def test_they_are_messages_that_are_shown_and_found(conversations: Conversations) -> None:
    await LangChainHistory(conversations, "chat-1").aadd_messages(GIVEN)
    conversation = await conversations.get("chat-1")
    messages = await conversation.messages(None)
    assert [message.role.value for message in messages[3:8]] == ["user", "assistant", "tool", "tool", "assistant"]
    assert messages[3].content == "What is this?"
    assert (messages[4].model, messages[4].usage) == ("m", threadkeep.Usage(input_tokens=5, output_tokens=7))
    assert [messages[at].parts for at in (0, 2, 10)] == [(), (), ()]
    assert (await conversations.search("cold Oslo")).items
    note = threadkeep.Message(role=threadkeep.Role.USER, content="A note from the page.")
    await conversation.append(note)
    assert (await LangChainHistory(conversations, "chat-1").aget_messages())[-1] == HumanMessage(note.content)


async def test_a_chain_keeps_its_history_from_either_kind_of_code(conversations: Conversations) -> None:
    model = FakeListChatModel(responses=["Cold.", "As I said: cold."])
    histories: dict[str, LangChainHistory] = {}

    def history(session_id: str) -> LangChainHistory:
        return histories[session_id]

    histories["chat-1"] = LangChainHistory(conversations, "chat-1")
    chain: Any = RunnableWithMessageHistory(model, history)
    config = {"configurable": {"session_id": "chat-1"}}
    await chain.ainvoke([HumanMessage("How is Oslo?")], config)
    await asyncio.to_thread(chain.invoke, [HumanMessage("Again?")], config)
    said = await histories["chat-1"].aget_messages()
    assert [message.content for message in said] == ["How is Oslo?", "Cold.", "Again?", "As I said: cold."]
    with pytest.raises(InvalidValue, match="aget_messages"):
        _ = histories["chat-1"].messages


def test_a_synchronous_program_needs_no_event_loop(tmp_path: Path) -> None:
    with threadkeep.ConversationStore(f"sqlite:///{tmp_path}/threadkeep.db") as store:
        chain: Any = RunnableWithMessageHistory(
            FakeListChatModel(responses=["Cold.", "Still cold."]), store.langchain_history
        )
        config = {"configurable": {"session_id": "chat 1"}}
        chain.invoke([HumanMessage("How is Oslo?")], config)
        asyncio.run(chain.ainvoke([HumanMessage("And now?")], config))
        history = store.langchain_history("chat 1")
        assert [message.content for message in history.messages] == ["How is Oslo?", "Cold.", "And now?", "Still cold."]
        history.clear()
        assert history.messages == []
        history.add_user_message("Hello")
        assert history.messages == [HumanMessage("Hello")]
