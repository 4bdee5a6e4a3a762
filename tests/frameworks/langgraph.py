"""The checkpointer of LangGraph: its own suite, and real graphs beside LangGraph's own checkpointer in memory."""

import asyncio
import io
import json
import operator
import os
import random
import runpy
import signal
import subprocess
import sys
from base64 import b64encode
from collections.abc import AsyncIterator
from datetime import timedelta
from functools import reduce
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict

import ormsgpack
import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langgraph.channels import DeltaChannel
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

import threadkeep
from tests.database_proxy import before
from tests.documents import programs_of
from threadkeep.conversation.entry import Kept
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue, StoreUnavailable
from threadkeep.hosting import SpoolSettings
from threadkeep.transfer.exporter import Selection
from threadkeep.transfer.jsonl import JsonlReader
from threadkeep_integrations.langgraph import LogCheckpointer
from threadkeep_postgres.spool.opening import open_spooling_store

ADA, BOB = Scope(tenant="acme", user="ada"), Scope(tenant="acme", user="bob")
CHAT: Any = {"configurable": {"thread_id": "chat-1"}}
EVERYTHING = 8
EXAMPLES = Path(__file__).parents[2] / "examples"


def at(thread: str) -> Any:
    return {"configurable": {"thread_id": thread}}


@pytest.fixture
async def conversations(tmp_path: Path) -> AsyncIterator[Conversations]:
    async with threadkeep.open(f"sqlite:///{tmp_path}/threadkeep.db") as opened:
        yield opened


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
async def test_it_passes_all_of_langgraphs_suite(store: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db" if store == "sqlite" else os.environ["THREADKEEP_TEST_URL"]
    async with threadkeep.open(url) as conversations:

        @checkpointer_test(name=store)
        async def made() -> Any:
            yield LogCheckpointer(conversations, scope=ADA)

        report = await validate(made)
    results = report.results.values()
    assert [result.failures for result in results] == [[]] * EVERYTHING
    assert all(result.passed for result in results)


class State(TypedDict):
    messages: Annotated[list[AnyMessage], add_messages]
    notes: Annotated[list[dict[str, Any]], operator.add]
    count: int


def scripted(saver: BaseCheckpointSaver[Any]) -> Any:
    """A graph that does what it is told to: what a node returns stands in the question."""

    def act(state: State) -> dict[str, Any]:
        told = json.loads(str(state["messages"][-1].content))
        before = list(state["messages"])[:-1]
        changed: list[Any] = []
        match told["do"]:
            case "answer":
                changed = [AIMessage(told["say"], id=told["id"], additional_kwargs={"n": [1, {"deep": True}]})]
            case "call":
                call = {"name": "weather", "args": {"city": "Oslo"}, "id": told["id"]}
                changed = [AIMessage("", id=told["id"], tool_calls=[call])]
                changed.append(ToolMessage("4 degrees", tool_call_id=told["id"], id=f"{told['id']}-r"))
            case "edit in place" if before:
                before[-1].content = told["say"]
                before[-1].additional_kwargs["edited"] = [told["say"]]
                changed = [before[-1]]
            case "edit" if before:
                old = before[told["place"] % len(before)]
                changed = [old.model_copy(update={"content": told["say"]})]
            case "summarize" if len(before) > 1:
                changed = [*(RemoveMessage(id=str(old.id)) for old in before[:-1])]
                changed.append(SystemMessage(told["say"], id=told["id"]))
        return {"messages": changed, "notes": [{"told": told["do"]}], "count": state.get("count", 0) + 1}

    graph = StateGraph(State)
    graph.add_node("act", act)
    graph.add_edge(START, "act")
    graph.add_edge("act", END)
    return graph.compile(checkpointer=saver)


async def seen(graph: Any, thread: str) -> list[Any]:
    """Return all that is told of a thread but for times and ids of checkpoints."""
    history = [found async for found in graph.aget_state_history(at(thread))]
    return [
        (found.values, found.next, found.metadata["step"], [task.name for task in found.tasks]) for found in history
    ]


@pytest.mark.parametrize("seed", range(3))
async def test_a_graph_sees_the_same_as_with_langgraphs_own(conversations: Conversations, seed: int) -> None:
    choose = random.Random(seed)
    theirs, ours = InMemorySaver(), LogCheckpointer(conversations, scope=ADA)
    graphs = [scripted(theirs), scripted(ours)]
    for number in range(25):
        told = {
            "do": choose.choice(["answer", "answer", "call", "edit", "edit in place", "summarize"]),
            "say": f"what was said {number} " * choose.randint(0, 4),
            "id": f"id-{number}",
            "place": choose.randrange(10),
        }
        asked = {"messages": [HumanMessage(json.dumps(told), id=f"q-{number}")]}
        durability = choose.choice(["sync", "async", "exit"])
        back = choose.randrange(5) if choose.random() < 0.2 else 0
        for graph in graphs:
            history = [found async for found in graph.aget_state_history(at("t"), limit=back + 1)]
            config = history[-1].config if back and len(history) > back else at("t")
            await graph.ainvoke(asked, config, durability=durability)
        if choose.random() < 0.3:
            ours = LogCheckpointer(conversations, scope=ADA)  # as another process would begin
            graphs[1] = scripted(ours)
        assert (await graphs[0].aget_state(at("t"))).values == (await graphs[1].aget_state(at("t"))).values, told
    assert await seen(graphs[0], "t") == await seen(graphs[1], "t")
    ours_copied = LogCheckpointer(conversations, scope=ADA)
    await ours_copied.acopy_thread("t", "copied")
    assert await seen(scripted(ours_copied), "copied") == await seen(graphs[1], "t")


async def test_messages_of_the_state_are_those_of_the_conversation(conversations: Conversations) -> None:
    graph = scripted(LogCheckpointer(conversations).at(ADA))
    for number, do in enumerate(["answer", "call", "answer"]):
        told = json.dumps({"do": do, "say": f"Oslo is cold, {number}", "id": f"a{number}"})
        await graph.ainvoke({"messages": [("user", told)]}, CHAT)
    conversation = await conversations.get("chat-1", scope=ADA)
    messages = await conversation.messages(None)
    said = [(message.role.value, message.content) for message in messages if message.role.value != "user"]
    assert said == [
        ("assistant", "Oslo is cold, 0"),
        ("assistant", ""),
        ("tool", "4 degrees"),
        ("assistant", "Oslo is cold, 2"),
    ]
    assert messages[3].tool_calls[0].args == {"city": "Oslo"}
    assert [hit.conversation for hit in (await conversations.search("cold Oslo", scope=ADA)).items][:1] == [
        conversation.id
    ]
    for other in (BOB, Scope(tenant="other", user="ada"), LOCAL):
        saver = LogCheckpointer(conversations, scope=other)
        assert await saver.aget_tuple(CHAT) is None
        assert [found async for found in saver.alist(None)] == []
        assert (await conversations.search("cold Oslo", scope=other)).items == ()
        await saver.adelete_thread("chat-1")
        await saver.adelete_for_runs(["any"])
    assert len((await graph.aget_state(CHAT)).values["messages"]) == len(messages)
    found = [each async for each in LogCheckpointer(conversations, scope=ADA).alist(None, limit=1)]
    assert found[0].config["configurable"]["thread_id"] == "chat-1"


async def test_another_try_from_before_is_a_branch(conversations: Conversations) -> None:
    graph = scripted(LogCheckpointer(conversations))

    async def tell(say: str, config: Any) -> None:
        asked = HumanMessage(json.dumps({"do": "answer", "say": say, "id": say}), id=f"q {say}")
        await graph.ainvoke({"messages": [asked]}, config)

    await tell("first", CHAT)
    before = (await graph.aget_state(CHAT)).config
    await tell("second", CHAT)
    await tell("third", before)
    conversation = await conversations.get("chat-1")
    said = [message.content for message in await conversation.messages(None) if message.role.value == "assistant"]
    assert said == ["first", "third"]
    assert len([entry async for entry in conversation.reading.entries() if entry.body.kind == "message"]) == 6


def add_all(old: Any, new: Any) -> Any:
    return reduce(add_messages, new, old)


class Deltas(TypedDict):
    messages: Annotated[list[AnyMessage], DeltaChannel(add_all)]


async def test_a_delta_channel_is_rebuilt_and_shown(conversations: Conversations) -> None:
    async def answer(state: Deltas) -> dict[str, Any]:
        number = len(state["messages"])
        return {"messages": [AIMessage(f"answer {number}", id=f"a{number}")]}

    graphs: list[Any] = []
    for saver in (InMemorySaver(), LogCheckpointer(conversations)):
        graph = StateGraph(Deltas)
        graph.add_node("answer", answer)
        graph.add_edge(START, "answer")
        graph.add_edge("answer", END)
        graphs.append(graph.compile(checkpointer=saver))
    for number in range(60):  # beyond the first snapshot
        for graph in graphs:
            await graph.ainvoke({"messages": [HumanMessage(f"question {number}", id=f"q{number}")]}, CHAT)
    theirs, ours = [(await graph.aget_state(CHAT)).values["messages"] for graph in graphs]
    assert ours == theirs
    fresh = LogCheckpointer(conversations)
    await fresh.aprune(["chat-1"])
    graphs[1].checkpointer = fresh
    assert (await graphs[1].aget_state(CHAT)).values["messages"] == theirs
    messages = await (await conversations.get("chat-1")).messages(None)
    assert [message.content for message in messages] == [message.content for message in theirs]


def asking(saver: BaseCheckpointSaver[Any], done: list[str]) -> Any:
    def first(state: MessagesState) -> dict[str, Any]:
        done.append("first")
        return {"messages": [AIMessage("I will delete the file.", id="a1")]}

    def second(state: MessagesState) -> dict[str, Any]:
        answer = interrupt({"may": "delete"})
        done.append(str(answer))
        return {"messages": [AIMessage(f"You said {answer}.", id="a2")]}

    graph = StateGraph(MessagesState)
    graph.add_node("first", first)
    graph.add_node("second", second)
    graph.add_edge(START, "first")
    graph.add_edge("first", "second")
    return graph.compile(checkpointer=saver)


async def test_an_interrupt_waits_in_the_log(conversations: Conversations) -> None:
    done: list[str] = []
    result = await asking(LogCheckpointer(conversations), done).ainvoke({"messages": [("user", "Tidy up")]}, CHAT)
    assert result["__interrupt__"][0].value == {"may": "delete"}
    other = asking(LogCheckpointer(conversations), done)
    assert (await other.aget_state(CHAT)).tasks[0].interrupts[0].value == {"may": "delete"}
    await other.ainvoke(Command(resume="yes"), CHAT)
    assert done == ["first", "yes"]
    messages = await (await conversations.get("chat-1")).messages(None)
    assert [message.content for message in messages] == ["Tidy up", "I will delete the file.", "You said yes."]


@pytest.mark.parametrize("durability", ["sync", "async", "exit"])
async def test_graphs_within_graphs_see_the_same(conversations: Conversations, durability: Any) -> None:
    def inner(state: State) -> dict[str, Any]:
        asked = interrupt({"step": state.get("count", 0)})
        return {"messages": [AIMessage(f"inner {asked}", id=f"i{len(state['messages'])}")], "notes": [{"x": 1}]}

    def outer(state: State) -> dict[str, Any]:
        return {"count": state.get("count", 0) + 1}

    async def answers(saver: BaseCheckpointSaver[Any]) -> list[Any]:
        child = StateGraph(State)
        child.add_node("inner", inner)
        child.add_edge(START, "inner")
        graph = StateGraph(State)
        graph.add_node("outer", outer)
        graph.add_node("child", child.compile(checkpointer=True))
        graph.add_edge(START, "outer")
        graph.add_edge("outer", "child")
        app: Any = graph.compile(checkpointer=saver)
        for number in range(3):
            asked = {"messages": [HumanMessage(f"question {number}", id=f"q{number}")]}
            await app.ainvoke(asked, CHAT, durability=durability)
            await app.ainvoke(Command(resume=f"answer {number}"), CHAT, durability=durability)
        inside = await app.aget_state(at("chat-1"), subgraphs=True)
        return [await seen(app, "chat-1"), inside.values, [found.metadata async for found in saver.alist(CHAT)]]

    theirs, ours = await answers(InMemorySaver()), await answers(LogCheckpointer(conversations))
    assert ours[:2] == theirs[:2]
    assert len(ours[2]) == len(theirs[2])


DYING = """
import asyncio, os, signal, sys
import threadkeep
from langchain_core.messages import AIMessage
from langgraph.graph import MessagesState, START, StateGraph
from threadkeep_integrations.langgraph import LogCheckpointer

def step(name):
    def run(state):
        if name == sys.argv[2]:
            os.kill(os.getpid(), signal.SIGKILL)
        print(name, flush=True)
        return {"messages": [AIMessage(name, id=name)]}
    return run

async def main():
    async with threadkeep.open(sys.argv[1]) as conversations:
        graph = StateGraph(MessagesState)
        names = ["one", "two", "three"]
        for name in names:
            graph.add_node(name, step(name))
        graph.add_edge(START, "one")
        graph.add_edge("one", "two")
        graph.add_edge("two", "three")
        graph = graph.compile(checkpointer=LogCheckpointer(conversations))
        config = {"configurable": {"thread_id": "chat-1"}}
        found = await graph.aget_state(config)
        asked = None if found.next else {"messages": [("user", "Go")]}
        await graph.ainvoke(asked, config, durability="sync")

asyncio.run(main())
"""


@pytest.mark.parametrize("store", ["sqlite", "postgresql"])
async def test_a_graph_goes_on_where_its_process_was_killed(store: str, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db" if store == "sqlite" else os.environ["THREADKEEP_TEST_URL"]
    program = tmp_path / "dying.py"
    program.write_text(DYING)

    def run(dies_in: str) -> tuple[int, list[str]]:
        ran = subprocess.run([sys.executable, program, url, dies_in], capture_output=True, text=True, check=False)
        assert "Traceback" not in ran.stderr, ran.stderr
        return ran.returncode, ran.stdout.split()

    assert run("two") == (-signal.SIGKILL, ["one"])
    assert run("none") == (0, ["two", "three"])
    async with threadkeep.open(url) as conversations:
        messages = await (await conversations.get("chat-1")).messages(None)
        assert [message.content for message in messages] == ["Go", "one", "two", "three"]


async def test_what_is_kept_grows_with_what_is_said(conversations: Conversations) -> None:
    graph, sizes = scripted(LogCheckpointer(conversations)), list[int]()
    for _ in range(2):
        for number in range(30):
            told = json.dumps({"do": "answer", "say": "word " * 50, "id": f"{len(sizes)}-{number}"})
            await graph.ainvoke({"messages": [("user", told)]}, CHAT)
        conversation = await conversations.get("chat-1")
        kept = [entry.body async for entry in conversation.reading.entries() if isinstance(entry.body, Kept)]
        sizes.append(sum(len(body.content) for body in kept))
    assert sizes[1] < 2.1 * sizes[0]
    state = (await scripted(LogCheckpointer(conversations)).aget_state(CHAT)).values
    assert len(state["messages"]) == 120


async def test_large_values_are_kept_in_pieces(conversations: Conversations) -> None:
    picture = {"type": "image", "base64": "A" * 1_500_000, "mime_type": "image/png"}
    message = HumanMessage([{"type": "text", "text": "Look at this"}, picture], id="m1")
    graph = scripted(LogCheckpointer(conversations))
    await graph.aupdate_state(CHAT, {"messages": [message], "notes": [{"text": "\ud800 \x00 é" * 100_000}]})
    state = (await scripted(LogCheckpointer(conversations)).aget_state(CHAT)).values
    assert state["messages"] == [message]
    assert state["notes"] == [{"text": "\ud800 \x00 é" * 100_000}]
    assert (await (await conversations.get("chat-1")).messages())[0].content == "Look at this"


async def test_checkpoints_move_and_are_erased_with_their_conversation(
    conversations: Conversations, tmp_path: Path
) -> None:
    done: list[str] = []
    saver = LogCheckpointer(conversations, scope=ADA)
    await asking(saver, done).ainvoke({"messages": [("user", "secretword")]}, CHAT)
    own = (await conversations.get("chat-1", scope=ADA)).id
    selected = conversations.export(Selection("acme", "ada", own), "jsonl")
    lines = b"".join([line if isinstance(line, bytes) else line.encode() async for line in selected])
    async with threadkeep.open(f"sqlite:///{tmp_path}/other.db") as others:
        moved = others.importer(ADA)
        for item in JsonlReader(io.BytesIO(lines), "file").read():
            await moved.add(item)
        await moved.finish()
        await asking(LogCheckpointer(others, scope=ADA), done).ainvoke(Command(resume="yes"), CHAT)
        assert done == ["first", "yes"]
    await saver.adelete_thread("chat-1")
    assert await saver.aget_tuple(CHAT) is None
    await conversations.operations.purge(timedelta(0))
    assert all(b"secretword" not in file.read_bytes() for file in tmp_path.glob("threadkeep.db*"))
    await asking(saver, done).ainvoke({"messages": [("user", "again")]}, CHAT)
    assert (await asking(saver, done).aget_state(CHAT)).values["messages"][0].content == "again"


async def test_a_thread_that_an_instance_knows_in_part_is_refused_in_an_outage(tmp_path: Path) -> None:
    url, scope = os.environ["THREADKEEP_TEST_URL"], Scope(tenant="outage", user=f"u-{os.urandom(4).hex()}")
    told = json.dumps({"do": "answer", "say": "fine", "id": "a"})
    async with before(url) as proxy:
        store = await open_spooling_store(proxy.url(), SpoolSettings(folder=tmp_path, patience=1.0))
        async with threadkeep.open(store) as conversations:
            saver = LogCheckpointer(conversations, scope=scope)
            await scripted(saver).ainvoke({"messages": [("user", told)]}, CHAT)
            proxy.fall_silent()
            assert len((await scripted(saver).aget_state(CHAT)).values["messages"]) == 2
            other = scripted(LogCheckpointer(conversations, scope=scope))
            with pytest.raises(StoreUnavailable):  # of entries that are no messages a spool knows nothing
                await other.ainvoke({"messages": [("user", told)]}, CHAT)
            proxy.speak()
            async with asyncio.timeout(30):
                while store.operations.outage() is not None:  # noqa: ASYNC110 - what is looked at is no event
                    await asyncio.sleep(0.02)
            assert len((await other.aget_state(CHAT)).values["messages"]) == 2


PLANTED = "1ef00000-0000-6000-8000-000000000001"


def planted(type_: str, raw: bytes) -> str:
    form = {"bytes": [type_, b64encode(raw).decode()]}
    checkpoint = {"v": 4, "id": PLANTED, "ts": "", "channel_versions": {"bad": "1"}, "versions_seen": {}}
    record = {"checkpoint": checkpoint, "namespace": "", "metadata": {"source": "input", "step": -1}}
    return json.dumps({**record, "values": {"bad": ["1", form]}})


async def test_a_log_cannot_make_objects_or_bring_a_process_down(conversations: Conversations) -> None:
    touched = Path("/tmp/planted-by-a-checkpoint")
    call = ormsgpack.packb(["pathlib", "Path.touch", [str(touched)]])
    for number, text in enumerate(
        [
            planted("pickle", b"cos\nsystem\n(S'touch /tmp/planted-by-a-checkpoint'\ntR."),
            planted("json", b'{"lc": 2, "type": "constructor", "id": ["pathlib", "PosixPath"], "args": ["x"]}'),
        ]
    ):
        conversation = await conversations.create(id=f"bad-{number}")
        await conversation.append(Kept(of="langgraph", content=text))
        with pytest.raises(ValueError, match="not read"):
            await LogCheckpointer(conversations).aget_tuple(at(f"bad-{number}"))
    for number, code in enumerate((0, 1, 2, 3)):
        conversation = await conversations.create(id=f"object-{number}")
        text = planted("msgpack", ormsgpack.packb(ormsgpack.Ext(code, call)))
        await conversation.append(Kept(of="langgraph", content=text))
        found = await LogCheckpointer(conversations).aget_tuple(at(f"object-{number}"))
        assert found is not None
        assert not isinstance(found.checkpoint["channel_values"]["bad"], Path)
    assert not touched.exists()
    conversation = await conversations.create(id="noise")
    steps = [[0, 5], {"json": 1}, None, [3, 1], "x"]
    for text in [
        "no json",
        "[" * 100_000,
        "7",
        json.dumps({"checkpoint": {"id": "1", "channel_versions": {}}, "namespace": ""}),
        *(
            planted("msgpack", b"").replace('{"bytes": ["msgpack", ""]}', json.dumps({"steps": [step]}))
            for step in steps
        ),
        json.dumps({"writes": [["c"], 5], "task": "t", "namespace": "", "on": "1"}),
        json.dumps({"without_runs": [{}], "only": {}}),
    ]:
        await conversation.append(Kept(of="langgraph", content=text))
    await LogCheckpointer(conversations).aget_tuple(at("noise"))
    graph = scripted(LogCheckpointer(conversations))
    told = json.dumps({"do": "answer", "say": "fine", "id": "a"})
    assert (await graph.ainvoke({"messages": [("user", told)]}, at("noise")))["messages"][-1].content == "fine"


class Money(NamedTuple):
    amount: int


async def test_a_class_of_the_application_comes_back_if_it_is_allowed(conversations: Conversations) -> None:
    config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
    saver = LogCheckpointer(conversations, allowed=[Money])
    checkpoint: Any = {**empty_checkpoint(), "channel_values": {"m": Money(3)}, "channel_versions": {"m": "1"}}
    stored = await saver.aput(config, checkpoint, {"source": "input", "step": -1}, {"m": "1"})
    found = await saver.aget_tuple(stored)
    assert found is not None
    assert found.checkpoint["channel_values"]["m"] == Money(3)
    assert isinstance(found.checkpoint["channel_values"]["m"], Money)
    other = await LogCheckpointer(conversations).aget_tuple(stored)
    assert other is not None
    assert not isinstance(other.checkpoint["channel_values"]["m"], Money)


def test_programs_without_asyncio_have_it_too(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/a.db"
    for number in range(2):
        with LogCheckpointer.opened(url) as saver:
            graph = scripted(saver)
            told = json.dumps({"do": "answer", "say": f"fine {number}", "id": f"a{number}"})
            graph.invoke({"messages": [("user", told)]}, CHAT)
            assert len(graph.get_state(CHAT).values["messages"]) == 2 * number + 2
            assert len(list(saver.list(CHAT, limit=2))) == 2
    with LogCheckpointer.opened(url) as saver:
        saver.copy_thread("chat-1", "chat-2")
        saver.prune(["chat-1"])
        assert len(list(saver.list(CHAT))) == 1
        saver.delete_thread("chat-1")
        saver.delete_for_runs(["none"])
        assert saver.get_tuple(CHAT) is None
        assert len(scripted(saver).get_state(at("chat-2")).values["messages"]) == 4


async def test_a_synchronous_call_in_its_own_event_loop_is_refused(conversations: Conversations) -> None:
    saver = LogCheckpointer(conversations)
    with pytest.raises(InvalidValue, match="ainvoke"):
        saver.get_tuple(CHAT)
    graph = scripted(saver)
    told = json.dumps({"do": "answer", "say": "fine", "id": "a"})
    await asyncio.to_thread(graph.invoke, {"messages": [("user", told)]}, CHAT)
    assert len((await graph.aget_state(CHAT)).values["messages"]) == 2


async def test_the_programs_of_the_page_run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    asynchronous, synchronous, assistant = programs_of("docs/howto/use-langgraph.md", tmp_path)
    graph = StateGraph(MessagesState)
    graph.add_node("answer", lambda state: {"messages": [AIMessage(f"Answer {len(state['messages'])}.")]})
    graph.add_edge(START, "answer")
    await asynchronous["ask"](graph, "How is Oslo?")
    await asyncio.to_thread(synchronous["ask"], graph, "And Rome?")
    async with threadkeep.open("sqlite:///threadkeep.db", [assistant["helpdesk"](graph)]) as conversations:
        conversation = await conversations.get("chat-1")
        answer = await (await conversation.send("And Paris?")).answer()
        assert answer is not None
        assert answer.content == "Answer 5."
        messages = await conversation.messages()
    assert [message.content for message in messages] == [
        *("How is Oslo?", "Answer 1.", "And Rome?", "Answer 3.", "And Paris?", "Answer 5.")
    ]
    assert conversation.value.title == "How is Oslo?"


async def test_the_example_asks_and_goes_on(tmp_path: Path) -> None:
    example = runpy.run_path(str(EXAMPLES / "langgraph_chat.py"))
    asked = ["user: Tidy up, please.", "assistant: I would delete old.txt."]
    assert await example["main"](f"sqlite:///{tmp_path}/a.db") == asked
    assert await example["main"](f"sqlite:///{tmp_path}/a.db") == [*asked, "assistant: It is deleted."]
