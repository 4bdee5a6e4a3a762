"""The adapters of the OpenAI Agents SDK, driven by the SDK itself."""

import asyncio
import json
import os
import re
import runpy
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
from agents import (
    Agent,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    SQLiteSession,
    function_tool,
    handoff,
)
from agents.memory import Session, SessionSettings
from agents.testing import ScriptedModel, assistant_message, function_call
from openai import AsyncOpenAI

import threadkeep
from tests.documents import blocks_of, programs_of
from tests.integration.killable import killable
from tests.people import asked
from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep_integrations.openai_agents import AgentsSession, continue_turn, run_turn

ROOT = Path(__file__).parents[2]
EXAMPLES = Path(__file__).parents[2] / "examples"
ADA = Scope(tenant="acme", user="ada")
REASONING = {
    "id": "rs_1",
    "type": "reasoning",
    "summary": [{"type": "summary_text", "text": "The user wants the weather."}],
    "encrypted_content": "gAAAA",
}
ITEMS: list[Any] = [
    {"role": "user", "content": "How is Oslo?"},
    REASONING,
    {"id": "fc_1", "type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Oslo"}'},
    {"type": "function_call", "call_id": "c2", "name": "weather", "arguments": "not json"},
    {"type": "function_call_output", "call_id": "c1", "output": "4 degrees"},
    {"type": "function_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "no such city"}]},
    {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [
            {"type": "output_text", "text": "It is cold in Oslo: 4 degrees.", "annotations": [], "logprobs": []}
        ],
    },
    {"role": "user", "content": [{"type": "input_text", "text": "And?"}, {"type": "input_image", "image_url": "x"}]},
    {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}},
    {"type": "compaction", "encrypted_content": "zzz"},
    {"role": "developer", "content": "Be brief."},
]


@pytest.fixture
async def conversations(tmp_path: Path) -> AsyncIterator[Conversations]:
    async with threadkeep.open(f"sqlite:///{tmp_path}/threadkeep.db") as opened:
        yield opened


def test_it_is_a_session_of_the_sdk(conversations: Conversations) -> None:
    assert isinstance(AgentsSession(conversations, "chat-1"), Session)


async def test_it_does_what_the_sdks_own_session_does(conversations: Conversations, tmp_path: Path) -> None:
    ours, theirs = AgentsSession(conversations, "a b@c/ü"), SQLiteSession("s", tmp_path / "theirs.db")
    for session in (ours, theirs):
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.clear_session()
        await session.add_items([])
        await session.add_items(ITEMS)
        assert await session.get_items() == ITEMS
        for limit in (0, 1, 2, 3, 5, 7, 100):
            assert await session.get_items(limit) == (ITEMS[-limit:] if limit else []), limit
        for number in range(len(ITEMS)):
            assert await session.pop_item() == ITEMS[-1 - number], number
        assert await session.get_items() == []
        assert await session.pop_item() is None
        await session.add_items(ITEMS[:1])
        await session.clear_session()
        await session.add_items(ITEMS[:2])
        assert await session.get_items() == ITEMS[:2]
    theirs.close()


async def test_its_items_are_messages_that_are_shown_and_found(conversations: Conversations) -> None:
    session = AgentsSession(conversations, "chat-1", scope=ADA, title="Weather")
    await session.add_items(ITEMS)
    conversation = await conversations.get("chat-1", scope=ADA)
    messages = await conversation.messages(None)
    assert [(message.role.value, message.content) for message in messages] == [
        ("user", "How is Oslo?"),
        ("assistant", ""),
        ("tool", "4 degrees"),
        ("tool", "no such city"),
        ("assistant", "It is cold in Oslo: 4 degrees."),
        ("user", "And?[input_image]"),
        ("assistant", ""),
        ("system", "Be brief."),
    ]
    assert [call.args for call in messages[1].tool_calls] == [{"city": "Oslo"}, {"input": "not json"}]
    assert [part.type for part in messages[1].parts] == ["reasoning", "raw"]
    assert not messages[0].parts
    found = await conversations.search("cold Oslo", scope=ADA)
    assert [hit.conversation for hit in found.items] == [conversation.id]
    assert (await conversations.search("cold Oslo")).items == ()
    assert await AgentsSession(conversations, "chat-1").get_items() == []


async def test_a_key_adds_once_and_a_limit_of_the_settings_holds(conversations: Conversations) -> None:
    session = AgentsSession(conversations, "chat-1", session_settings=SessionSettings(limit=2))
    await session.add_items(ITEMS[:3], key="request-1")
    await session.add_items(ITEMS[:3], key="request-1")
    assert await session.get_items() == ITEMS[1:3]
    assert len(await session.get_items(100)) == 3


async def test_what_is_said_elsewhere_is_part_of_the_session(conversations: Conversations) -> None:
    session = AgentsSession(conversations, "chat-1")
    await session.add_items(ITEMS[:1])
    conversation = await conversations.get("chat-1")
    call = threadkeep.ToolCall(id="c9", name="weather", args={"city": "Oslo"})
    await conversation.append(
        threadkeep.Message(role=threadkeep.Role.ASSISTANT, content="Let me see.", tool_calls=(call,)),
        threadkeep.Message(
            role=threadkeep.Role.TOOL, content="cold", tool_result=threadkeep.ToolResult(tool_call_id="c9")
        ),
    )
    assert (await session.get_items())[1:] == [
        {"role": "assistant", "content": "Let me see."},
        {"type": "function_call", "call_id": "c9", "name": "weather", "arguments": '{"city":"Oslo"}'},
        {"type": "function_call_output", "call_id": "c9", "output": "cold"},
    ]


async def test_a_deleted_session_begins_anew(conversations: Conversations) -> None:
    session = AgentsSession(conversations, "chat-1")
    await session.add_items(ITEMS[:1])
    await (await conversations.get("chat-1")).delete()
    assert await session.get_items() == []
    await session.add_items(ITEMS[:2])
    assert await session.get_items() == ITEMS[:2]


async def test_the_runner_keeps_its_history_in_it(conversations: Conversations) -> None:
    session = AgentsSession(conversations, "chat-1")
    model = ScriptedModel([[function_call("weather", {"city": "Oslo"}, call_id="c1")], [assistant_message("Cold.")]])
    agent = Agent(name="Weather", model=model, tools=[weather])
    assert (await Runner.run(agent, "How is Oslo?", session=session)).final_output == "Cold."
    model.extend([[assistant_message("As I said: cold.")]])
    assert (await Runner.run(agent, "Again?", session=session)).final_output == "As I said: cold."
    assert model.last_call is not None
    assert [item.get("role", item.get("type")) for item in model.last_call.input] == [
        "user",
        "function_call",
        "function_call_output",
        "assistant",
        "user",
    ]


@function_tool
def weather(city: str) -> str:
    """Tell the weather."""
    return f"4 degrees in {city}"


@function_tool(needs_approval=True)
def delete_file(name: str) -> str:
    """Delete a file."""
    return f"deleted {name}"


def said(messages: list[threadkeep.Message]) -> list[tuple[str, str]]:
    return [(message.role.value, message.content) for message in messages]


async def test_a_run_is_a_turn(conversations: Conversations) -> None:
    conversation = await conversations.get_or_create("chat-1")
    step: Any = [
        function_call("weather", {"city": "Oslo"}, call_id="c1"),
        function_call("weather", {"city": "Rome"}, call_id="c2"),
    ]
    model = ScriptedModel([step, [assistant_message("Oslo and Rome are both cold today.")]])
    agent = Agent(name="Weather", model=model, tools=[weather])
    result = await run_turn(conversation, agent, "How are Oslo and Rome?", key="request-1")
    assert result.final_output == "Oslo and Rome are both cold today."
    assert said(await conversation.messages()) == [
        ("user", "How are Oslo and Rome?"),
        ("assistant", ""),
        ("tool", "4 degrees in Oslo"),
        ("tool", "4 degrees in Rome"),
        ("assistant", "Oslo and Rome are both cold today."),
    ]
    assert await conversation.turns() == ()
    model.extend([[assistant_message("You are welcome.")]])
    await run_turn(conversation, agent, "Thanks")
    assert model.last_call is not None
    items = await AgentsSession(conversations, "chat-1").get_items()
    assert model.last_call.input == items[:-1]
    assert items[-1]["id"] == "scripted-message"


async def test_an_approval_is_a_persons_in_the_log(conversations: Conversations) -> None:
    conversation = await conversations.get_or_create("chat-1")
    step: Any = [
        function_call("delete_file", {"name": "a"}, call_id="c1"),
        function_call("delete_file", {"name": "b"}, call_id="c2"),
    ]
    model = ScriptedModel([step, [assistant_message("One is gone.")]])
    agent = Agent(name="Files", model=model, tools=[delete_file])
    running = asyncio.create_task(run_turn(conversation, agent, "Delete a and b"))
    await asked(conversation, 2)
    await conversation.approve("c1")
    await conversation.approve("c2", approved=False, reason="b is needed")
    assert (await running).final_output == "One is gone."
    results = [message for message in await conversation.messages() if message.tool_result]
    assert {message.tool_result.tool_call_id: message.content for message in results if message.tool_result} == {
        "c1": "deleted a",
        "c2": "b is needed",
    }


async def test_a_turn_that_waits_goes_on_in_another_process(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/threadkeep.db"
    step: Any = [function_call("delete_file", {"name": "a"}, call_id="c1")]
    async with threadkeep.open(url) as conversations:
        conversation = await conversations.get_or_create("chat-1")
        agent = Agent(name="Files", model=ScriptedModel([step]), tools=[delete_file])
        running = asyncio.create_task(run_turn(conversation, agent, "Delete a"))
        await asked(conversation, 1)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    async with threadkeep.open(url) as conversations:
        conversation = await conversations.get("chat-1")
        (turn,) = await conversation.turns()
        await conversation.approve("c1")
        agent = Agent(name="Files", model=ScriptedModel([[assistant_message("Gone.")]]), tools=[delete_file])
        result = await continue_turn(conversation, agent, turn.number)
        assert result.final_output == "Gone."
        assert said(await conversation.messages())[1:] == [
            ("assistant", ""),
            ("tool", "deleted a"),
            ("assistant", "Gone."),
        ]


async def test_a_stop_ends_the_run(conversations: Conversations) -> None:
    reached, never = asyncio.Event(), asyncio.Event()

    @function_tool
    async def wait() -> str:
        """Wait."""
        reached.set()
        await never.wait()
        return ""

    conversation = await conversations.get_or_create("chat-1")
    agent = Agent(name="Waiter", model=ScriptedModel([[function_call("wait", {}, call_id="c1")]]), tools=[wait])
    running = asyncio.create_task(run_turn(conversation, agent, "Wait"))
    await reached.wait()
    await conversation.cancel()
    assert await running is None
    agent = Agent(name="Waiter", model=ScriptedModel([[assistant_message("Here.")]]))
    assert (await run_turn(conversation, agent, "Are you there?")).final_output == "Here."


async def test_a_handoff_is_a_call_with_its_result(conversations: Conversations) -> None:
    other = Agent(name="Other", model=ScriptedModel([[assistant_message("I am the other.")]]))
    model = ScriptedModel([[function_call("transfer_to_other", {}, call_id="c1")]])
    conversation = await conversations.get_or_create("chat-1")
    result = await run_turn(conversation, Agent(name="First", model=model, handoffs=[handoff(other)]), "Hello")
    assert result.last_agent is other
    assert [role for role, _ in said(await conversation.messages())] == ["user", "assistant", "tool", "assistant"]


async def test_the_programs_of_the_page_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    turn, session = programs_of("docs/howto/use-the-openai-agents-sdk.md", tmp_path)
    model = ScriptedModel([[assistant_message("Cold.")], [assistant_message("Still cold.")]])
    agent = Agent(name="Weather", model=model)
    assert await turn["ask"](agent, "How is Oslo?") == "Cold."
    async with threadkeep.open("sqlite:///threadkeep.db") as conversations:
        await session["run"](conversations, agent)
        messages = await (await conversations.get("chat-1")).messages()
    assert [content for _, content in said(messages)] == ["How is Oslo?", "Cold.", "How is Oslo?", "Still cold."]


async def test_an_item_that_is_larger_than_an_entry_comes_back_and_is_taken_back(conversations: Conversations) -> None:
    session = AgentsSession(conversations, "chat-1")
    image = {"type": "input_image", "image_url": f"data:image/png;base64,{'A' * 3_000_000}"}
    large: list[Any] = [
        ITEMS[0],
        {"role": "user", "content": [image]},
        {"type": "function_call_output", "call_id": "c1", "output": "é" * 900_000},
        ITEMS[6],
    ]
    await session.add_items(large)
    assert await session.get_items() == large
    assert await session.get_items(3) == large[1:]
    assert [await session.pop_item() for _ in large] == large[::-1]
    assert await session.get_items() == []


async def test_who_takes_back_at_once_takes_different_items(conversations: Conversations) -> None:
    await AgentsSession(conversations, "chat-1").add_items(ITEMS)
    taken = await asyncio.gather(*(AgentsSession(conversations, "chat-1").pop_item() for _ in ITEMS[3:]))
    assert all(item in taken for item in ITEMS[3:])
    assert await AgentsSession(conversations, "chat-1").get_items() == ITEMS[:3]


async def test_the_example_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("THREADKEEP_STORE", f"sqlite:///{tmp_path}/example.db")
    example = runpy.run_path(str(EXAMPLES / "openai_agents_chat.py"))
    await example["main"]("How is Oslo?")
    await example["main"]("And again?")
    told = capsys.readouterr().out.splitlines()
    assert told[-8:-4] == told[:4]
    assert told[-4:] == [
        "user: And again?",
        "assistant: ['weather']",
        "tool: 4 degrees and rain in Oslo",
        "assistant: Take a coat: 4 degrees and rain.",
    ]


async def test_a_failure_of_the_run_fails_the_turn(conversations: Conversations) -> None:
    conversation = await conversations.get_or_create("chat-1")
    with pytest.raises(ValueError, match="away"):
        await run_turn(conversation, Agent(name="A", model=ScriptedModel([ValueError("away")])), "Hello")
    assert await conversation.turns() == ()


@function_tool
def locate(place: str) -> str:
    """Return where a place is."""
    return f"{place} is in Oslo"


async def test_agents_run_on_a_server_of_ours_as_their_model(tmp_path: Path) -> None:
    python = str(ROOT / ".venv" / "bin" / "python")
    async with (
        killable(tmp_path, 0, python) as server,
        AsyncOpenAI(base_url=f"{server.url}/openai/v1", api_key="x") as ask,
    ):
        responses = OpenAIResponsesModel("helper", ask)
        for model in (responses, OpenAIChatCompletionsModel("helper", ask)):
            agent = Agent(name="guide", instructions="Be kind.", model=model, tools=[locate])
            result = await Runner.run(agent, "use locate\nuse locate locate\nthere")
            assert result.final_output.startswith("there [hall 0 is in Oslo]")
            more = [*result.to_input_list(), {"role": "user", "content": "and then?"}]
            assert (await Runner.run(agent, more)).final_output == "and then? "
        native = ask.with_options(base_url=server.url)
        listed: Any = await native.get("/v1/conversations", cast_to=object)
        assert len(listed["data"]) == 1, "the SDK sends all of a run again and again; it is stored once"
        conversation = (await ask.conversations.create()).id
        agent = Agent(name="guide", instructions="Be kind.", model=responses, tools=[locate])
        for how in (
            {"auto_previous_response_id": True},
            {"conversation_id": conversation},
            {"conversation_id": conversation},
        ):
            streamed = Runner.run_streamed(agent, "use locate\nthere", **how)
            texts = [
                getattr(event.data, "delta", "")
                async for event in streamed.stream_events()
                if event.type == "raw_response_event"
            ]
            assert streamed.final_output == "there [hall 0 is in Oslo]"
            assert "".join(texts).endswith(streamed.final_output)
        items = [item async for item in ask.conversations.items.list(conversation, order="asc")]
        assert [getattr(item, "role", item.type) for item in items] == [
            *("system", "user", "assistant", "function_call", "function_call_output", "assistant"),
            *("user", "assistant", "function_call", "function_call_output", "assistant"),
        ]


async def test_the_agent_of_the_how_to_asks_a_server(tmp_path: Path) -> None:
    blocks = blocks_of("docs/howto/use-openai-clients.md")
    (block,) = (block for block in blocks if block.text.startswith("# agents.py"))
    program: dict[str, Any] = {}
    async with killable(tmp_path, 0, str(ROOT / ".venv" / "bin" / "python")) as server:
        exec(block.text.replace("http://127.0.0.1:8000", server.url).replace('"chat"', '"helper"'), program)  # noqa: S102
        assert await program["ask"]("hello") == "hello "


async def test_an_agent_hands_over_to_another_on_the_same_server(tmp_path: Path) -> None:
    python = str(ROOT / ".venv" / "bin" / "python")
    async with (
        killable(tmp_path, 0, python) as server,
        AsyncOpenAI(base_url=f"{server.url}/openai/v1", api_key="x") as ask,
    ):
        second = Agent(name="second", instructions="Be second.", model=OpenAIResponsesModel("other", ask))
        over = handoff(second, tool_name_override="give")
        first = Agent(
            name="first", instructions="Be first.", model=OpenAIResponsesModel("helper", ask), handoffs=[over]
        )
        for how in ({}, {"auto_previous_response_id": True}):
            result = await Runner.run(first, "use give\nthere", **how)
            assert result.last_agent is second


@contextmanager
def serving(app: str, store: str) -> Iterator[str]:
    """Serve an example as its page says, and yield the address."""
    environment = {**os.environ, "THREADKEEP_STORE": store}
    environment.pop("OPENAI_API_KEY", None)
    command = [sys.executable, "-m", "uvicorn", "--app-dir", str(EXAMPLES), "--port", "0", app]
    with subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True) as server:
        assert server.stderr is not None
        told = ""
        try:
            while not (found := re.search(r"running on (\S+)", told)):
                told += (line := server.stderr.readline())
                assert line, told
            yield found[1]
        finally:
            server.terminate()
            server.communicate()


def followed(lines: Iterator[bytes]) -> list[tuple[str, Any]]:
    """Return the events of a stream until a turn is over."""
    events: list[tuple[str, Any]] = []
    name = ""
    for line in lines:
        field, _, value = line.decode().strip().partition(": ")
        name = value if field == "event" else name
        if field == "data":
            events.append((name, json.loads(value)))
            if name == "turn.completed":
                break
    return events


def test_an_app_of_fastapi_has_the_agent_as_a_turn_with_its_tools_in_the_log(tmp_path: Path) -> None:
    assert len((EXAMPLES / "fastapi_openai_agents.py").read_text(encoding="utf-8").splitlines()) < 60
    with serving("fastapi_openai_agents:app", f"sqlite:///{tmp_path}/example.db") as address:
        web = HTTPConnection(address.removeprefix("http://"), timeout=60)
        place = ""
        for _ in range(2):  # a repeated request is the same turn
            web.request("POST", "/chats/oslo?question=Oslo", headers={"Idempotency-Key": "1"})
            place = json.load(web.getresponse())
        web.request("GET", place)
        events = followed(iter(web.getresponse()))
        web.close()
        web.request("GET", "/keep/v1/conversations/oslo")
        messages = json.load(web.getresponse())["messages"]
        web.close()
    assert [(message["role"], message["content"]) for message in messages] == [
        ("user", "Oslo"),
        ("assistant", ""),
        ("tool", "4 degrees and rain in Oslo"),
        ("assistant", "Take a coat: 4 degrees and rain."),
    ]
    assert {"tool.called", "tool.result", "turn.completed"} <= {name for name, _ in events}
