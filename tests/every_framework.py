"""What every adapter of a framework keeps where the features of the house meet: run in the environment of the framework
that `THREADKEEP_TEST_FRAMEWORK` names, by tests/integration/test_frameworks.py.

An adapter is here a way to save one more turn in a session, and to read who said what in it.
"""

import asyncio
import io
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from uuid import uuid4

import pytest

import threadkeep
from tests.database_proxy import before
from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import StoreUnavailable
from threadkeep.hosting import SpoolSettings
from threadkeep.transfer.exporter import Selection
from threadkeep.transfer.jsonl import JsonlReader
from threadkeep_postgres.spool.opening import open_spooling_store

ADA, BOB = Scope(tenant="acme", user="ada"), Scope(tenant="acme", user="bob")
Said = list[str]


class Adapter(NamedTuple):
    """Saves a question with its answer in the session `s` of a user, and reads all that was said there."""

    save: Callable[[str], Awaitable[None]]
    read: Callable[[], Awaitable[Said]]


def openai_agents(conversations: Conversations, scope: Scope) -> Adapter:
    from threadkeep_integrations.openai_agents import AgentsSession

    session = AgentsSession(conversations, "s", scope=scope)

    async def save(about: str) -> None:
        await session.add_items(
            [{"role": "user", "content": f"what is {about}?"}, {"role": "assistant", "content": about}]
        )

    async def read() -> Said:
        return [item["content"] for item in await session.get_items()]

    return Adapter(save, read)


def langchain(conversations: Conversations, scope: Scope) -> Adapter:
    from langchain_core.messages import AIMessage, HumanMessage

    from threadkeep_integrations.langchain.history import LangChainHistory

    history = LangChainHistory(conversations, "s", scope=scope)

    async def save(about: str) -> None:
        await history.aadd_messages([HumanMessage(f"what is {about}?"), AIMessage(about)])

    async def read() -> Said:
        return [str(message.content) for message in await history.aget_messages()]

    return Adapter(save, read)


def langgraph(conversations: Conversations, scope: Scope) -> Adapter:
    from langchain_core.messages import AIMessage
    from langgraph.graph import START, MessagesState, StateGraph

    from threadkeep_integrations.langgraph import LogCheckpointer

    def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(str(state["messages"][-1].content).removeprefix("what is ")[:-1])]}

    built = StateGraph(MessagesState)
    built.add_node("answer", answer)
    built.add_edge(START, "answer")
    graph: Any = built.compile(checkpointer=LogCheckpointer(conversations, scope=scope))
    thread: Any = {"configurable": {"thread_id": "s"}}

    async def save(about: str) -> None:
        await graph.ainvoke({"messages": [("user", f"what is {about}?")]}, thread)

    async def read() -> Said:
        state = await graph.aget_state(thread)
        return [str(message.content) for message in state.values.get("messages", ())]

    return Adapter(save, read)


def pydantic_ai(conversations: Conversations, scope: Scope) -> Adapter:
    from pydantic_ai.messages import ModelRequest, ModelResponse, TextPart, UserPromptPart

    from threadkeep_integrations.pydantic_ai import load_messages, save_messages

    async def save(about: str) -> None:
        said = [ModelRequest(parts=[UserPromptPart(f"what is {about}?")]), ModelResponse(parts=[TextPart(about)])]
        await save_messages(await conversations.get_or_create("s", scope=scope), said)

    async def read() -> Said:
        loaded = await load_messages(await conversations.get_or_create("s", scope=scope))
        return [str(part.content) for message in loaded for part in message.parts]

    return Adapter(save, read)


def google_adk(conversations: Conversations, scope: Scope) -> Adapter:
    from google.adk.errors import StaleSessionError
    from google.adk.events.event import Event
    from google.genai import types

    from threadkeep_integrations.google_adk import AdkSessions

    service: Any = AdkSessions(conversations, tenant=scope.tenant)
    place = {"app_name": "app", "user_id": scope.user}

    async def save(about: str) -> None:
        found = await service.get_session(**place, session_id="s")
        session = found or await service.create_session(**place, session_id="s")
        for author, text in (("user", f"what is {about}?"), ("bot", about)):
            content = types.Content(role="user" if author == "user" else "model", parts=[types.Part(text=text)])
            event = Event(author=author, invocation_id="i", content=content)
            while True:
                try:
                    await service.append_event(session, event)
                    break
                except StaleSessionError:  # as its runner does
                    session = await service.get_session(**place, session_id="s")

    async def read() -> Said:
        session = await service.get_session(**place, session_id="s")
        return [] if session is None else [part.text for event in session.events for part in event.content.parts]

    return Adapter(save, read)


def claude_agent_sdk(conversations: Conversations, scope: Scope) -> Adapter:
    from threadkeep_integrations.claude_agent import ClaudeSessions

    store, key = ClaudeSessions(conversations, scope=scope), {"project_key": "p", "session_id": "s"}

    async def save(about: str) -> None:
        await store.append(
            key,
            [
                {"type": role, "uuid": str(uuid4()), "message": {"role": role, "content": text}}
                for role, text in (("user", f"what is {about}?"), ("assistant", about))
            ],
        )

    async def read() -> Said:
        return [line["message"]["content"] for line in await store.load(key) or ()]

    return Adapter(save, read)


ADAPTERS = {
    each.__name__: each for each in (openai_agents, langchain, langgraph, pydantic_ai, google_adk, claude_agent_sdk)
}
made: Callable[[Conversations, Scope], Adapter] = ADAPTERS[os.environ["THREADKEEP_TEST_FRAMEWORK"].replace("-", "_")]


def turns(*about: object) -> Said:
    """Return what is said in turns about these."""
    return [text for each in about for text in (f"what is {each}?", str(each))]


@pytest.fixture(params=["sqlite", "postgresql"])
def url(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/a.db" if request.param == "sqlite" else os.environ["THREADKEEP_TEST_URL"]


@pytest.fixture
async def conversations(url: str) -> AsyncIterator[Conversations]:
    async with threadkeep.open(url) as opened:
        for scope in (ADA, BOB):
            await opened.admin.erasure.erase(scope)
        yield opened


async def test_an_erased_person_leaves_no_word_and_begins_anew(
    conversations: Conversations, url: str, tmp_path: Path
) -> None:
    ada, bob = made(conversations, ADA), made(conversations, BOB)
    for who, word in ((ada, "quetzalbird"), (bob, "pangolin")):
        await who.save(word)
    await conversations.admin.erasure.erase(ADA)
    if url.startswith("sqlite"):
        assert all(b"quetzalbird" not in file.read_bytes() for file in tmp_path.glob("a.db*"))
    assert await ada.read() == []
    await ada.save("later")
    for reader in (ada, made(conversations, ADA)):
        assert await reader.read() == turns("later")
    assert await bob.read() == turns("pangolin")


async def test_a_session_goes_on_where_it_was_imported(conversations: Conversations, tmp_path: Path) -> None:
    ada = made(conversations, ADA)
    for number in range(3):
        await ada.save(f"cloud {number}")
    exported = conversations.export(Selection("acme", "ada"), "jsonl")
    lines = b"".join([line if isinstance(line, bytes) else line.encode() async for line in exported])
    async with threadkeep.open(f"sqlite:///{tmp_path}/other.db") as others:
        importer = others.importer(BOB)
        for item in JsonlReader(io.BytesIO(lines), "file").read():
            await importer.add(item)
        await importer.finish()
        moved = made(others, BOB)
        assert await moved.read() == await ada.read() == turns("cloud 0", "cloud 1", "cloud 2")
        await moved.save("rain")
        assert await made(others, BOB).read() == turns("cloud 0", "cloud 1", "cloud 2", "rain")


async def test_a_second_instance_goes_on_with_it_and_the_first_sees_that(
    conversations: Conversations, url: str
) -> None:
    async with threadkeep.open(url) as others:
        one, other = made(conversations, ADA), made(others, ADA)
        for number in range(3):
            await one.save(f"one {number}")
            await other.save(f"other {number}")
        expected = turns(*(f"{who} {number}" for number in range(3) for who in ("one", "other")))
        assert await one.read() == await other.read() == expected


async def test_two_who_save_at_once_lose_nothing(conversations: Conversations, url: str) -> None:
    async with threadkeep.open(url) as others:

        async def five(who: str, adapter: Adapter) -> None:
            for number in range(5):
                await adapter.save(f"{who} {number}")

        await made(conversations, ADA).save("before")
        await asyncio.gather(five("one", made(conversations, ADA)), five("other", made(others, ADA)))
        said = await made(others, ADA).read()
        (listed,) = (await conversations.list(scope=ADA, archived=False)).items
        entries = conversations.at(ADA, listed.id).reading.entries()
        logged = [entry.body.content async for entry in entries if isinstance(entry.body, threadkeep.Message)]
    everything = sorted(turns("before", *(f"{who} {number}" for who in ("one", "other") for number in range(5))))
    assert sorted(logged) == everything
    assert made is pydantic_ai or str(listed.title).lower() == "what is before?"  # it is given a conversation
    if made is not langgraph:  # of runs that begin at one checkpoint LangGraph takes that which ends last
        assert sorted(said) == everything


async def test_what_is_said_in_an_outage_is_there_afterwards(tmp_path: Path) -> None:
    async with threadkeep.open(os.environ["THREADKEEP_TEST_URL"]) as others:
        await others.admin.erasure.erase(ADA)
    async with before(os.environ["THREADKEEP_TEST_URL"]) as proxy:
        store = await open_spooling_store(proxy.url(), SpoolSettings(folder=tmp_path, patience=1.0))
        async with threadkeep.open(store) as conversations:
            ada = made(conversations, ADA)
            await ada.save("calm")
            proxy.fall_silent()
            await ada.save("storm")
            assert await ada.read() == turns("calm", "storm")
            proxy.speak()
            async with asyncio.timeout(30):
                while store.operations.outage() is not None:  # noqa: ASYNC110 - what is looked at is no event
                    await asyncio.sleep(0.02)
            await ada.save("sun")
    async with threadkeep.open(os.environ["THREADKEEP_TEST_URL"]) as conversations:
        assert await made(conversations, ADA).read() == turns("calm", "storm", "sun")


async def test_a_session_of_which_only_the_end_is_known_is_not_taken_for_whole_in_an_outage(tmp_path: Path) -> None:
    if made is pydantic_ai:
        return
    url = os.environ["THREADKEEP_TEST_URL"]
    async with threadkeep.open(url) as others:
        await others.admin.erasure.erase(ADA)
        for number in range(15):
            await made(others, ADA).save(str(number))
        (listed,) = (await others.list(scope=ADA, archived=False)).items
    async with before(url) as proxy:
        store = await open_spooling_store(proxy.url(), SpoolSettings(folder=tmp_path, patience=1.0))
        async with threadkeep.open(store) as conversations:
            await conversations.at(ADA, listed.id).messages(1)
            proxy.fall_silent()
            with pytest.raises(StoreUnavailable):
                await made(conversations, ADA).read()
            proxy.speak()
    async with threadkeep.open(url) as others:
        assert await made(others, ADA).read() == turns(*range(15))


async def test_a_process_that_is_killed_while_it_saves_leaves_all_that_was_saved(
    conversations: Conversations, url: str
) -> None:
    saved: list[int] = []
    for first in (100, 200):
        with subprocess.Popen(
            [sys.executable, __file__, url, str(first)], stdout=subprocess.PIPE, text=True
        ) as program:
            assert program.stdout is not None
            told = [program.stdout.readline() for _ in range(first // 30)]
            program.send_signal(signal.SIGKILL)
            told += program.stdout.readlines()
        saved += [int(line) for line in told if line.endswith("\n")]
        answers = [int(text) for text in await made(conversations, ADA).read() if text.isdigit()]
        assert answers == sorted({*answers})
        assert {*saved} <= {*answers}
        assert len(answers) <= len(saved) + first // 100, "each process had begun at most one more"


async def save_for_ever(url: str, first: str) -> None:
    """Save turns, and tell of each that it is saved."""
    async with threadkeep.open(url) as conversations:
        ada = made(conversations, ADA)
        for number in count(int(first)):
            await ada.save(str(number))
            print(number, flush=True)


if __name__ == "__main__":
    asyncio.run(save_for_ever(*sys.argv[1:]))
