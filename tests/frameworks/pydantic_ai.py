"""Histories and runs of Pydantic AI, driven by the framework itself."""

import asyncio
import runpy
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent, BinaryContent, ModelRetry, Tool, ToolReturn
from pydantic_ai.messages import (
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.usage import RequestUsage

import threadkeep
from tests.documents import programs_of
from tests.integration.killable import killable
from tests.people import asked
from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import KeyReused
from threadkeep_integrations.pydantic_ai import continue_turn, load_messages, run_turn, save_messages

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
ADA = Scope(tenant="acme", user="ada")
AT = datetime(2026, 11, 19, 12, tzinfo=UTC)
IMAGE = BinaryContent(data=b"\x00\xff" * 400_000, media_type="image/png")
SAID: list[ModelMessage] = [
    ModelRequest(
        parts=[SystemPromptPart("Be brief.", timestamp=AT), UserPromptPart("How is Oslo?", timestamp=AT)],
        instructions="Speak plainly.",
        run_id="r1",
        metadata={"a": None},
    ),
    ModelResponse(
        parts=[
            ThinkingPart("They want the weather.", signature="c2ln", provider_name="anthropic"),
            TextPart("Let me see.", id="t1"),
            ToolCallPart("weather", {"city": "Oslo"}, "c1"),
            ToolCallPart("weather", "no json", "c2"),
        ],
        usage=RequestUsage(input_tokens=5, output_tokens=7, details={"x": 1}),
        model_name="m",
        timestamp=AT,
        provider_details={"deep": {"a": None}},
    ),
    ModelRequest(
        parts=[
            ToolReturnPart("weather", {"degrees": 4, "wind": None}, "c1", timestamp=AT, metadata={"k": 1}),
            ToolReturnPart("weather", "no such city", "c2", timestamp=AT, outcome="retried"),
            UserPromptPart(["See", ImageUrl("https://a/b.png"), IMAGE], timestamp=AT),
        ]
    ),
    ModelResponse(parts=[TextPart("It is cold in Oslo: 4 degrees.")], model_name="m", timestamp=AT),
    ModelRequest(parts=[UserPromptPart("Thanks", timestamp=AT)], run_id="r2"),
]
HISTORY = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(SAID))
"""As its own way through JSON leaves it: an image becomes an image of its own class."""


@pytest.fixture
async def conversations(tmp_path: Path) -> AsyncIterator[Conversations]:
    async with threadkeep.open(f"sqlite:///{tmp_path}/threadkeep.db") as opened:
        yield opened


def said(messages: list[threadkeep.Message]) -> list[tuple[str, str]]:
    return [(message.role.value, message.content) for message in messages]


async def test_a_history_comes_back_as_it_was_and_is_shown_and_found(conversations: Conversations) -> None:
    conversation = await conversations.get_or_create("chat-1", scope=ADA)
    await save_messages(conversation, [])
    assert await load_messages(conversation) == []
    await save_messages(conversation, HISTORY[:3], key="run-1")
    await save_messages(conversation, HISTORY[:3], key="run-1")
    await save_messages(conversation, HISTORY[3:])
    assert await load_messages(conversation) == HISTORY
    with pytest.raises(KeyReused):
        await save_messages(conversation, HISTORY[3:], key="run-1")
    messages = await conversation.messages(None)
    assert [each for each in said(messages) if each[1]] == [
        ("system", "Be brief."),
        ("user", "How is Oslo?"),
        ("assistant", "Let me see."),
        ("tool", '{"degrees":4,"wind":null}'),
        ("tool", "no such city"),
        ("user", "See\n\n[image-url]\n\n[binary]"),
        ("assistant", "It is cold in Oslo: 4 degrees."),
        ("user", "Thanks"),
    ]
    assert messages[2].usage == threadkeep.Usage(input_tokens=5, output_tokens=7)
    assert [call.args for call in messages[2].tool_calls] == [{"city": "Oslo"}, {"input": "no json"}]
    assert (await conversations.search("cold Oslo", scope=ADA)).items


async def test_what_is_said_elsewhere_is_part_of_the_history(conversations: Conversations) -> None:
    conversation = await conversations.get_or_create("chat-1")
    call, result = threadkeep.ToolCall(id="c9", name="weather"), threadkeep.ToolResult(tool_call_id="c9")
    await conversation.append(
        threadkeep.Message(role=threadkeep.Role.USER, content="How is Oslo?"),
        threadkeep.Message(role=threadkeep.Role.ASSISTANT, content="I look.", tool_calls=(call,)),
        threadkeep.Message(role=threadkeep.Role.TOOL, content="cold", tool_result=result),
    )
    loaded = await load_messages(conversation)
    assert [part.part_kind for message in loaded for part in message.parts] == [
        "user-prompt",
        "text",
        "tool-call",
        "tool-return",
    ]
    returned = loaded[-1].parts[0]
    assert isinstance(returned, ToolReturnPart)
    assert (returned.tool_name, returned.content) == ("weather", "cold")
    assert loaded == await load_messages(conversation)


Step = Sequence[Any]


def model(*script: Step, shown: list[list[ModelMessage]] | None = None) -> FunctionModel:
    """Return a model that says and calls what the script says, step by step."""
    steps = list(script)

    async def stream(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        if shown is not None:
            shown.append(messages)
        step = steps.pop(0)
        for number, piece in enumerate(step):
            if isinstance(piece, Exception):
                raise piece
            if isinstance(piece, tuple):
                name, args, id = piece
                yield {number: DeltaToolCall(name=name, json_args=args, tool_call_id=id)}
            else:
                yield {number: DeltaThinkingPart(content=piece[1:])} if piece.startswith("~") else piece

    return FunctionModel(stream_function=stream)


def weather(city: str) -> str:
    """Tell the weather."""
    if city == "Atlantis":
        raise ModelRetry("There is no such city.")
    return f"4 degrees in {city}"


def delete_file(name: str) -> str:
    """Delete a file."""
    return f"deleted {name}"


DELETING = [Tool(delete_file, requires_approval=True), weather]


async def test_a_run_is_a_turn(conversations: Conversations) -> None:
    conversation = await conversations.get_or_create("chat-1")
    shown: list[list[ModelMessage]] = []
    calls = [("weather", '{"city": "Oslo"}', "c1"), ("weather", '{"city": "Atlantis"}', "c2")]
    script: list[Step] = [["~Let me ", "I look. ", *calls], ["Oslo is ", "cold."], ["You are welcome."]]
    agent = Agent(model(*script, shown=shown), system_prompt="Be brief.", tools=[weather])
    result = await run_turn(conversation, agent, "How are Oslo and Atlantis?", key="request-1")
    assert result.output == "Oslo is cold."
    messages = await conversation.messages()
    results = {("tool", "4 degrees in Oslo"), ("tool", "There is no such city.")}
    assert set(said(messages)[2:4]) == results
    assert [said(messages)[at] for at in (0, 1, 4)] == [
        ("user", "How are Oslo and Atlantis?"),
        ("assistant", "I look. "),
        ("assistant", "Oslo is cold."),
    ]
    assert [part.type for part in messages[1].parts] == ["reasoning", "raw"]
    assert messages[1].usage is not None
    assert await conversation.turns() == ()
    assert (await run_turn(conversation, agent, "Thanks")).output == "You are welcome."
    assert [message.kind for message in shown[-1]] == ["request", "response", "request", "response", "request"]
    assert isinstance(shown[-1][0].parts[0], SystemPromptPart)
    assert shown[-1][1] == result.all_messages()[1]
    assert {("tool", part.content) for part in shown[-1][2].parts} == results


async def test_what_tools_and_outputs_tell_besides_is_in_the_log(conversations: Conversations) -> None:
    class City(BaseModel):
        name: str

    def look(city: str) -> ToolReturn:
        """Look."""
        return ToolReturn(return_value="seen", content=["a picture of", city])

    shown: list[list[ModelMessage]] = []
    output = ("final_result", '{"name": "Oslo"}', "c2")
    script: list[Step] = [[("look", '{"city": "Oslo"}', "c1")], [output], ["Fine."]]
    conversation = await conversations.get_or_create("chat-1")
    agent: Any = Agent(model(*script, shown=shown), tools=[look], output_type=City)
    assert (await run_turn(conversation, agent, "Which city?")).output == City(name="Oslo")
    assert [role for role, _ in said(await conversation.messages())] == [
        "user",
        "assistant",
        "tool",
        "user",
        "assistant",
        "tool",
    ]
    await run_turn(conversation, agent, "Thanks", options={"output_type": str})
    assert [part.part_kind for message in shown[-1] for part in message.parts] == [
        "user-prompt",
        "tool-call",
        "tool-return",
        "user-prompt",
        "tool-call",
        "tool-return",
        "user-prompt",
    ]


async def test_an_approval_is_a_persons_in_the_log(conversations: Conversations) -> None:
    conversation = await conversations.get_or_create("chat-1")
    calls = [("delete_file", f'{{"name": "{name}"}}', f"c-{name}") for name in "ab"]
    agent = Agent(model(calls, ["One is gone."]), tools=DELETING)
    running = asyncio.create_task(run_turn(conversation, agent, "Delete a and b"))
    await asked(conversation, 2)
    await conversation.approve("c-a")
    await conversation.approve("c-b", approved=False, reason="b is needed")
    assert (await running).output == "One is gone."
    results = [message for message in await conversation.messages() if message.tool_result]
    assert {message.tool_result.tool_call_id: message.content for message in results if message.tool_result} == {
        "c-a": "deleted a",
        "c-b": "b is needed",
    }


async def left(url: str, work: Callable[[Any], Awaitable[Any]], calls: int) -> int:
    """Leave a turn that waits for a person, as a process that ends does, and return its number."""
    async with threadkeep.open(url) as conversations:
        conversation = await conversations.get_or_create("chat-1")
        running = asyncio.ensure_future(work(conversation))
        await asked(conversation, calls)
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        (turn,) = await conversation.turns()
        return turn.number


async def test_a_turn_that_waits_goes_on_in_another_process(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/threadkeep.db"
    calls = [("delete_file", '{"name": "a"}', "c1"), ("weather", '{"city": "Oslo"}', "c2")]
    number = await left(url, lambda one: run_turn(one, Agent(model(calls), tools=DELETING), "Delete a"), 1)
    async with threadkeep.open(url) as conversations:
        conversation = await conversations.get("chat-1")
        await conversation.approve("c1")
        result = await continue_turn(conversation, Agent(model(["Gone."]), tools=DELETING), number)
        assert result.output == "Gone."
        assert sorted(said(await conversation.messages())[2:4]) == [
            ("tool", "4 degrees in Oslo"),
            ("tool", "deleted a"),
        ]
        assert said(await conversation.messages())[4:] == [("assistant", "Gone.")]


async def test_a_stop_ends_the_run(conversations: Conversations) -> None:
    reached, never = asyncio.Event(), asyncio.Event()

    async def wait() -> str:
        """Wait."""
        reached.set()
        await never.wait()
        return ""

    conversation = await conversations.get_or_create("chat-1")
    running = asyncio.create_task(run_turn(conversation, Agent(model([("wait", "{}", "c1")]), tools=[wait]), "Wait"))
    await reached.wait()
    await conversation.cancel()
    assert await running is None
    assert (await run_turn(conversation, Agent(model(["Here."])), "Are you there?")).output == "Here."


async def test_a_failure_of_the_run_fails_the_turn(conversations: Conversations) -> None:
    conversation = await conversations.get_or_create("chat-1")
    with pytest.raises(ValueError, match="away"):
        await run_turn(conversation, Agent(model(["It is", ValueError("away")])), "Hello")
    assert await conversation.turns() == ()
    assert said(await conversation.messages()) == [("user", "Hello"), ("assistant", "It is")]


async def test_the_programs_of_the_page_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    turn, history = programs_of("docs/howto/use-pydantic-ai.md", tmp_path)
    agent = Agent(model(["Cold."]))
    assert await turn["ask"](agent, "How is Oslo?") == "Cold."
    again = FunctionModel(lambda messages, info: ModelResponse(parts=[TextPart("Still cold.")]))
    async with threadkeep.open("sqlite:///threadkeep.db") as conversations:
        conversation = await conversations.get("chat-1")
        await history["run"](conversation, Agent(again))
        messages = await conversation.messages()
    assert [content for _, content in said(messages)] == ["How is Oslo?", "Cold.", "How is Oslo?", "Still cold."]


async def test_the_example_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: Any) -> None:
    monkeypatch.delenv("PYDANTIC_AI_MODEL", raising=False)
    monkeypatch.setenv("THREADKEEP_STORE", f"sqlite:///{tmp_path}/example.db")
    example = runpy.run_path(str(EXAMPLES / "pydantic_ai_chat.py"))
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


async def test_a_history_is_kept_on_a_server(tmp_path: Path) -> None:
    python = str(ROOT / ".venv" / "bin" / "python")
    async with killable(tmp_path, 0, python) as server, threadkeep.connect(server.url) as conversations:
        conversation = await conversations.get_or_create("chat-1")
        for _ in range(2):
            await save_messages(conversation, HISTORY, key="run-1")
        assert await load_messages(conversation) == HISTORY
