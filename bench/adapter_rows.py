"""How frameworks save a turn: in the store that they have themselves, or else as their own examples do, and in ours.

Each is made in the environment of its framework. What is compared is what a program waits for.
"""

import asyncio
import json
import os
import sqlite3
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

from threadkeep.conversations import Conversations

Said = tuple[str, str]
"""A turn: what a person said, and the answer."""
Save = Callable[[str, Sequence[Said]], Awaitable[None]]
"""Saves turns in a session of this name, one after the other; where a store takes many at once, as one."""


class Rivals(NamedTuple):
    """How the framework's own store saves, what that is, how ours does, whether it is to be faster, and how many times
    at 5,000 messages."""

    name: str
    theirs: Save
    ours: Save
    has_store: bool = True
    times: float = 1


Row = Callable[[Path, Conversations], AbstractAsyncContextManager[Rivals]]


@asynccontextmanager
async def google_adk(folder: Path, conversations: Conversations) -> AsyncIterator[Rivals]:
    """The runner adds the question, and then what came of it."""
    from google.adk.events.event import Event
    from google.adk.sessions import BaseSessionService, DatabaseSessionService
    from google.genai import types

    from threadkeep_integrations.google_adk import AdkSessions

    def saving(service: BaseSessionService) -> Save:
        sessions: dict[str, Any] = {}

        async def save(session: str, said: Sequence[Said]) -> None:
            if session not in sessions:
                sessions[session] = await service.create_session(app_name="bench", user_id="ada", session_id=session)
            for question, answer in said:
                for author, role, text in (("user", "user", question), ("bot", "model", answer)):
                    content = types.Content(role=role, parts=[types.Part(text=text)])
                    event = Event(author=author, invocation_id="i", content=content)
                    await service.append_event(sessions[session], event)

        return save

    # Without patience it fails where many sessions are saved at once: "database is locked".
    theirs = DatabaseSessionService(f"sqlite+aiosqlite:///{folder}/adk.db", connect_args={"timeout": 120})
    yield Rivals("DatabaseSessionService", saving(theirs), saving(AdkSessions(conversations)))
    await theirs.close()


@asynccontextmanager
async def langgraph(folder: Path, conversations: Conversations) -> AsyncIterator[Rivals]:
    """A run of a graph: it loads the thread, answers and saves, with what that costs in LangGraph itself."""
    from langchain_core.messages import AIMessage, HumanMessage
    from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
    from langgraph.graph import START, MessagesState, StateGraph

    from threadkeep_integrations.langgraph import LogCheckpointer

    def saving(checkpointer: Any) -> Save:
        def answer(state: MessagesState) -> dict[str, Any]:
            return {"messages": [AIMessage(state["messages"][-1].additional_kwargs["answer"])]}

        built = StateGraph(MessagesState)
        built.add_node("answer", answer)
        built.add_edge(START, "answer")
        graph = built.compile(checkpointer=checkpointer)

        async def save(session: str, said: Sequence[Said]) -> None:
            thread: Any = {"configurable": {"thread_id": session}}
            *before, (question, answer) = said
            messages = [message for turn in before for message in (HumanMessage(turn[0]), AIMessage(turn[1]))]
            asked = HumanMessage(question, additional_kwargs={"answer": answer})
            await graph.ainvoke({"messages": [*messages, asked]}, thread)

        return save

    async with AsyncSqliteSaver.from_conn_string(str(folder / "langgraph.db")) as theirs:
        yield Rivals("AsyncSqliteSaver", saving(theirs), saving(LogCheckpointer(conversations)), times=20)


@asynccontextmanager
async def langchain(folder: Path, conversations: Conversations) -> AsyncIterator[Rivals]:
    """A chain adds question and answer in one call."""
    from langchain_community.chat_message_histories import SQLChatMessageHistory
    from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
    from sqlalchemy import create_engine

    from threadkeep_integrations.langchain.history import LangChainHistory

    def messages(said: Sequence[Said]) -> list[BaseMessage]:
        return [each for question, answer in said for each in (HumanMessage(question), AIMessage(answer))]

    engine = create_engine(f"sqlite:///{folder}/langchain.db")
    made: dict[str, Any] = {}

    async def theirs(session: str, said: Sequence[Said]) -> None:
        SQLChatMessageHistory(session, connection=engine).add_messages(messages(said))

    async def ours(session: str, said: Sequence[Said]) -> None:
        made.setdefault(session, LangChainHistory(conversations, session))
        await made[session].aadd_messages(messages(said))

    yield Rivals("SQLChatMessageHistory", theirs, ours)
    engine.dispose()


@asynccontextmanager
async def pydantic_ai(folder: Path, conversations: Conversations) -> AsyncIterator[Rivals]:
    """A program saves the new messages of a run. The framework has no store on disk: its example of a chat inserts them
    as JSON into SQLite, in a thread."""
    from pydantic_ai.messages import (
        ModelMessage,
        ModelMessagesTypeAdapter,
        ModelRequest,
        ModelResponse,
        TextPart,
        UserPromptPart,
    )

    from threadkeep_integrations.pydantic_ai import save_messages

    database = sqlite3.connect(folder / "chat.db", check_same_thread=False)
    database.execute("CREATE TABLE messages (id INTEGER PRIMARY KEY, session TEXT, message_list TEXT)")
    one_at_a_time = asyncio.Lock()

    def messages(said: Sequence[Said]) -> list[ModelMessage]:
        made: list[ModelMessage] = []
        for question, answer in said:
            made.append(ModelRequest(parts=[UserPromptPart(question)], run_id=str(uuid4())))
            made.append(ModelResponse(parts=[TextPart(answer)], model_name="bench"))
        return made

    def insert(session: str, new: bytes) -> None:
        database.execute("INSERT INTO messages (session, message_list) VALUES (?, ?)", (session, new))
        database.commit()

    async def theirs(session: str, said: Sequence[Said]) -> None:
        async with one_at_a_time:
            await asyncio.to_thread(insert, session, ModelMessagesTypeAdapter.dump_json(messages(said)))

    handles: dict[str, Any] = {}

    async def ours(session: str, said: Sequence[Said]) -> None:
        if session not in handles:
            handles[session] = await conversations.get_or_create(session)
        await save_messages(handles[session], messages(said))

    yield Rivals("JSON in SQLite (its example)", theirs, ours)
    database.close()


@asynccontextmanager
async def claude_agent_sdk(folder: Path, conversations: Conversations) -> AsyncIterator[Rivals]:
    """The SDK mirrors the lines of a turn. It has a store in memory alone; beside ours is what its own transcripts are,
    a file of lines, here synced: a bare one, so that nothing is promised."""
    from threadkeep_integrations.claude_agent import ClaudeSessions

    store = ClaudeSessions(conversations)

    def lines(said: Sequence[Said]) -> list[dict[str, Any]]:
        made = []
        for question, answer in said:
            for role, content in (("user", question), ("assistant", [{"type": "text", "text": answer}])):
                message = {"role": role, "content": content}
                known = {"uuid": str(uuid4()), "sessionId": "s", "timestamp": "2026-11-19T12:00:00.000Z"}
                made.append({"type": role, "message": message, "parentUuid": str(uuid4()), "cwd": "/work", **known})
        return made

    async def theirs(session: str, said: Sequence[Said]) -> None:
        with (folder / f"{session}.jsonl").open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines(said))
            file.flush()
            os.fsync(file.fileno())

    async def ours(session: str, said: Sequence[Said]) -> None:
        await store.append({"project_key": "bench", "session_id": session}, lines(said))

    yield Rivals("JSON Lines, synced", theirs, ours, has_store=False)
