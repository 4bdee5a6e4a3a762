"""The service of sessions for Google's ADK, beside the kit's own services and driven by its runner."""

import asyncio
import os
import runpy
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.agents import LlmAgent
from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models import BaseLlm, LlmResponse
from google.adk.runners import Runner
from google.adk.sessions import BaseSessionService, Session
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

import threadkeep
from tests.documents import programs_of
from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep_integrations.google_adk import AdkSessions

EXAMPLES = Path(__file__).parents[2] / "examples"
WHO: Any = {"app_name": "weather", "user_id": "ada@example.org"}
CALL = types.FunctionCall(id="c1", name="weather", args={"city": "Oslo"})
RESULTS = [
    types.FunctionResponse(id="c1", name="weather", response={"result": "4 degrees"}),
    types.FunctionResponse(id="c2", name="weather", response={"error": "no such city"}),
]


def event(author: str, *parts: types.Part, at: float = 1.0, **fields: Any) -> Event:
    content = types.Content(role="user" if author == "user" else "model", parts=list(parts))
    return Event(author=author, invocation_id="i-1", content=content, timestamp=1_800_000_000 + at, **fields)


def events() -> list[Event]:
    image = types.Part(inline_data=types.Blob(data=b"\x00\xff" * 700_000, mime_type="image/png"))
    return [
        event("user", types.Part(text="How is Oslo?")),
        event(
            "bot",
            types.Part(text="I look it up.", thought=True, thought_signature=b"\x00sig"),
            types.Part(function_call=CALL),
            at=2,
            model_version="gemini-x",
            usage_metadata=types.GenerateContentResponseUsageMetadata(
                prompt_token_count=5, candidates_token_count=2, thoughts_token_count=3
            ),
        ),
        event(
            "bot",
            *(types.Part(function_response=result) for result in RESULTS),
            at=3,
            actions=EventActions(state_delta={"city": "Oslo", "user:unit": "C", "app:calls": 1, "temp:x": 7}),
        ),
        event("bot", types.Part(text="It is cold in Oslo: 4 degrees."), at=4, long_running_tool_ids={"c1"}),
        event("user", image, types.Part(text="And here?"), at=5),
        Event(
            author="bot",
            invocation_id="i-2",
            actions=EventActions(state_delta={"city": None}),
            timestamp=1_800_000_006.0,
        ),
        event("bot", types.Part(text="no"), partial=True),
    ]


@pytest.fixture
async def conversations(tmp_path: Path) -> AsyncIterator[Conversations]:
    async with threadkeep.open(f"sqlite:///{tmp_path}/threadkeep.db") as opened:
        yield opened


async def fed(service: BaseSessionService, said: list[Event]) -> Session:
    session = await service.create_session(**WHO, session_id=" s 1/ü ", state={"app:motd": "hi", "lang": "en"})
    for each in said:
        await service.append_event(session, each.model_copy(deep=True))
    return session


def seen(session: Session | None) -> Any:
    if session is None:
        return None
    return session.id, session.app_name, session.user_id, session.state, session.events


async def test_it_does_what_the_kits_own_service_does(conversations: Conversations, tmp_path: Path) -> None:
    said, told = events(), list[Any]()
    theirs = SqliteSessionService(f"{tmp_path}/theirs.db")
    for service in (theirs, AdkSessions(conversations)):
        tale = [await service.get_session(**WHO, session_id="s 1/ü"), (await service.list_sessions(app_name="weather"))]
        session = await fed(service, said)
        tale.append(seen(session))
        for config in (None, GetSessionConfig(num_recent_events=0), GetSessionConfig(num_recent_events=2)):
            tale.append(seen(await service.get_session(**WHO, session_id=" s 1/ü", config=config)))
        since = GetSessionConfig(after_timestamp=1_800_000_003)
        tale.append(seen(await service.get_session(**WHO, session_id="s 1/ü", config=since)))
        with pytest.raises(AlreadyExistsError):
            await service.create_session(**WHO, session_id="s 1/ü")
        other = await service.create_session(app_name="weather", user_id="bob")
        tale += [other.state, (await service.create_session(**WHO, session_id="s2", state={"user:unit": "F"})).state]
        await service.create_session(app_name="elsewhere", user_id="bob", session_id="s2")
        tale += [sorted(map(seen, (await service.list_sessions(app_name="weather", user_id=WHO["user_id"])).sessions))]
        tale += [len((await service.list_sessions(app_name="weather")).sessions)]
        tale += [await service.get_user_state(**WHO), await service.get_user_state(app_name="weather", user_id="bob")]
        await service.delete_session(**WHO, session_id="s2")
        await service.delete_session(**WHO, session_id="never")
        tale += [seen(await service.get_session(**WHO, session_id="s2"))]
        with pytest.raises(SessionNotFoundError):
            await service.append_event(Session(id="never", **WHO), said[0])
        told.append(tale)
    await theirs.close()
    assert told[1] == told[0]


async def test_its_events_are_messages_that_are_shown_and_found(conversations: Conversations) -> None:
    await fed(AdkSessions(conversations, tenant="acme"), events())
    ada = Scope(tenant="acme", user="ada__40example.org")
    (listed,) = (await conversations.list(scope=ada, archived=False)).items
    messages = await conversations.at(ada, listed.id).messages(None)
    assert [(message.role.value, message.content) for message in messages if message.content] == [
        ("user", "How is Oslo?"),
        ("tool", "4 degrees"),
        ("tool", '{"error":"no such city"}'),
        ("assistant", "It is cold in Oslo: 4 degrees."),
        ("user", "And here?"),
    ]
    assert messages[1].usage == threadkeep.Usage(input_tokens=5, output_tokens=5)
    assert messages[1].model == "gemini-x"
    assert messages[3].tool_result is not None
    assert messages[3].tool_result.error == "no such city"
    assert (await conversations.search("cold Oslo", scope=ada)).items
    assert await AdkSessions(conversations).get_session(**WHO, session_id="s 1/ü") is None


async def test_a_session_that_somebody_went_on_with_is_stale(conversations: Conversations) -> None:
    service: Any = AdkSessions(conversations)
    said = events()
    mine = await fed(service, said[:1])
    theirs = await service.get_session(**WHO, session_id="s 1/ü")
    await service.append_event(theirs, said[1])
    with pytest.raises(StaleSessionError):
        await service.append_event(mine, said[2])
    again = await service.get_session(**WHO, session_id="s 1/ü")
    await service.append_event(again, said[2])
    unheard = await service.get_session(**WHO, session_id="s 1/ü")
    unheard._storage_update_marker = mine._storage_update_marker
    await service.append_event(unheard, said[2])
    stored = await service.get_session(**WHO, session_id="s 1/ü")
    assert [each.id for each in stored.events] == [each.id for each in said[:3]]


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
async def test_states_of_users_and_apps_lose_no_change(store: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db" if store == "sqlite" else os.environ["THREADKEEP_TEST_URL"]
    async with threadkeep.open(url) as conversations:
        await _written_at_once(AdkSessions(conversations, tenant="acme"))


async def _written_at_once(service: AdkSessions) -> None:

    async def one(number: int) -> None:
        session = await service.create_session(app_name="weather", user_id=f"u{number % 2}")
        for step in range(5):
            delta = {f"app:{number}.{step}": step, f"user:{number}.{step}": step, f"{step}": step}
            await service.append_event(session, Event(author="bot", actions=EventActions(state_delta=delta)))

    await asyncio.gather(*(one(number) for number in range(8)))
    sessions = (await service.list_sessions(app_name="weather")).sessions
    assert len(sessions) == 8
    assert {sum(name.startswith("app:") for name in session.state) for session in sessions} == {40}
    assert {sum(name.startswith("user:") for name in session.state) for session in sessions} == {20}
    assert {sum(":" not in name for name in session.state) for session in sessions} == {5}


async def test_what_is_said_elsewhere_is_part_of_the_session(conversations: Conversations) -> None:
    service: Any = AdkSessions(conversations)
    await fed(service, [])
    (listed,) = (await conversations.list(scope=Scope(tenant="local", user="ada__40example.org"), archived=False)).items
    call = threadkeep.ToolCall(id="c9", name="weather", args={"city": "Oslo"})
    result = threadkeep.ToolResult(tool_call_id="c9")
    await conversations.at(listed.scope, listed.id).append(
        threadkeep.Message(role=threadkeep.Role.USER, content="How is Oslo?"),
        threadkeep.Message(role=threadkeep.Role.ASSISTANT, content="Let me see.", tool_calls=(call,)),
        threadkeep.Message(role=threadkeep.Role.TOOL, content="cold", tool_result=result),
    )
    session = await service.get_session(**WHO, session_id="s 1/ü")
    assert [(each.author, each.content.role) for each in session.events] == [
        ("user", "user"),
        ("assistant", "model"),
        ("tool", "user"),
    ]
    (response,) = session.events[2].get_function_responses()
    assert (response.name, response.response) == ("weather", {"result": "cold"})
    assert session.events[0].timestamp <= session.events[2].timestamp


class Scripted(BaseLlm):  # type: ignore[misc]
    """A model that follows a script, and tells what it was shown."""

    script: list[types.Part]
    shown: list[list[str]]

    async def generate_content_async(self, request: Any, stream: bool = False) -> AsyncGenerator[LlmResponse, None]:
        self.shown.append([content.role for content in request.contents])
        yield LlmResponse(content=types.Content(role="model", parts=[self.script.pop(0)]))


def weather(city: str) -> str:
    """Tell the weather."""
    return f"4 degrees in {city}"


async def test_the_runner_keeps_its_sessions_in_it(conversations: Conversations) -> None:
    service: Any = AdkSessions(conversations)
    model = Scripted(
        model="scripted",
        shown=[],
        script=[types.Part(function_call=CALL), types.Part(text="Cold."), types.Part(text="As I said: cold.")],
    )
    agent = LlmAgent(name="bot", model=model, tools=[weather], output_key="answer")
    runner = Runner(app_name="weather", agent=agent, session_service=service)
    session = await service.create_session(**WHO, session_id="s1")
    for question in ("How is Oslo?", "Again?"):
        asked = types.Content(role="user", parts=[types.Part(text=question)])
        async for _ in runner.run_async(user_id=WHO["user_id"], session_id=session.id, new_message=asked):
            pass
    stored = await service.get_session(**WHO, session_id="s1")
    assert stored.state["answer"] == "As I said: cold."
    assert model.shown[-1] == ["user", "model", "user", "model", "user"]
    await runner.close()


async def test_the_program_of_the_page_runs(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (program,) = programs_of("docs/howto/use-google-adk.md", tmp_path)
    model = Scripted(model="scripted", shown=[], script=[types.Part(text="Cold.")])
    await program["ask"](LlmAgent(name="bot", model=model), "How is Oslo?")
    assert "Cold." in capsys.readouterr().out
    async with threadkeep.open("sqlite:///threadkeep.db") as conversations:
        (listed,) = (await conversations.list(scope=Scope(tenant="local", user="ada"), archived=False)).items
    assert listed.title == "How is Oslo?"


async def test_the_example_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> None:
    monkeypatch.delenv("GOOGLE_API_KEY", raising=False)
    monkeypatch.setenv("THREADKEEP_STORE", f"sqlite:///{tmp_path}/example.db")
    example = runpy.run_path(str(EXAMPLES / "google_adk_chat.py"))
    await example["main"]("How is Oslo?")
    await example["main"]("What did I ask?")
    assert capsys.readouterr().out.splitlines() == [
        "Cold. You have shown me 1 messages.",
        "Cold. You have shown me 3 messages.",
    ]
