"""Graphs with a checkpointer: they remember all of their state, and wait for a person in the log."""

import operator
from pathlib import Path
from typing import Annotated, Any, NamedTuple, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import interrupt

import threadkeep
from threadkeep.conversation.message import Message
from threadkeep.conversation.turn import TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.testing.scripted_model import ScriptedModel
from threadkeep.turn.assistant import Assistant
from threadkeep_integrations.graphs.graph_agent import GraphAgent
from threadkeep_integrations.graphs.memory import KEY


class Point(NamedTuple):
    x: int


class State(TypedDict, total=False):
    messages: Annotated[list[AnyMessage], add_messages]
    count: int
    seen: Annotated[list[str], operator.add]
    point: Point


def compiled(*nodes: Any, **how: Any) -> Any:
    """Return a graph whose nodes run one after the other, as an existing app has it: with a checkpointer."""
    built: StateGraph[State, None, State, State] = StateGraph(State)
    for before, node in zip((None, *nodes), nodes, strict=False):
        built.add_node(node.__name__, node)
        built.add_edge(START if before is None else before.__name__, node.__name__)
    return built.compile(checkpointer=InMemorySaver(), **how)


def opened(agent: GraphAgent, url: str = "memory:") -> Any:
    assistant = Assistant(name="graph", agent=agent)
    return threadkeep.open(url, [assistant], model=ScriptedModel())


async def said(chat: ConversationHandle) -> list[str]:
    return [message.content for message in await chat.messages(None) if message.content]


def count(state: State) -> State:
    number = state.get("count", 0) + 1
    text = f"{number}, {len(state['messages'])} messages, {len(state.get('seen', []))} seen, {state.get('point')}"
    return {"count": number, "seen": [str(number)], "point": Point(number), "messages": [AIMessage(text)]}


async def test_all_of_the_state_is_given_back_in_the_next_turn() -> None:
    async with opened(GraphAgent(compiled(count), allowed=[Point])) as conversations:
        chat = await conversations.create(title="Kept")
        for _ in range(3):
            await (await chat.send("And now?")).answer()
        answers = (await said(chat))[1::2]
        assert answers == [
            "1, 1 messages, 0 seen, None",
            "2, 3 messages, 1 seen, Point(x=1)",
            "3, 5 messages, 2 seen, Point(x=2)",
        ]
        kept = (await chat.reading.state()).values[KEY]["spaces"][""]["values"]
        assert (kept["count"], "messages" in kept) == ({"json": 3}, False)
        await (await chat.regenerate()).answer()
        assert (await said(chat))[-1].startswith("3, 5 messages, 2 seen")


ran: list[Any] = []


def propose(state: State) -> State:
    ran.append("propose")
    return {"messages": [AIMessage("I would delete old.txt.", id="p1")], "count": 7}


def delete(state: State) -> State:
    answer = interrupt({"may": "delete old.txt"})
    assert [message.content for message in state["messages"]][-2:] == ["Tidy up", "I would delete old.txt."]
    ran.append(answer)
    return {"messages": [AIMessage(f"{answer} {state['count']}")]}


@pytest.mark.parametrize("approved", [True, False])
async def test_a_graph_waits_for_a_person_and_goes_on_after_a_restart(tmp_path: Path, approved: bool) -> None:
    url, agent = f"sqlite:///{tmp_path}/a.db", GraphAgent(compiled(propose, delete))
    ran.clear()
    async with opened(agent, url) as conversations:
        chat = await conversations.create(title="Kept")
        turn = await chat.send("Tidy up")
        async for _ in turn.events():
            pass
        (waiting,) = await chat.turns()
        assert (waiting.state, waiting.owner) == (TurnState.WAITING, None)
        (call,) = await chat.waiting_calls()
        assert (call.name, call.args) == ("interrupt", {"asks": {"may": "delete old.txt"}})
        id = chat.id
    async with opened(GraphAgent(compiled(propose, delete)), url) as conversations:
        chat = await conversations.get(id)
        await chat.approve(call.id, approved=approved)
        assert (await chat.turn(waiting.number).answer()).content == f"{approved} 7"
        assert ran == ["propose", approved]
        assert await chat.turns() == ()
        assert await said(chat) == [
            "Tidy up",
            "I would delete old.txt.",
            "approved" if approved else "refused: a person did not allow this call",
            f"{approved} 7",
        ]


async def test_who_goes_on_without_an_answer_begins_anew() -> None:
    async with opened(GraphAgent(compiled(propose, delete))) as conversations:
        chat = await conversations.create(title="Kept")
        first = await chat.send("Tidy up")
        async for _ in first.events():
            pass
        ran.clear()
        second = await chat.send("Tidy up", policy="interrupt")
        async for _ in second.events():
            pass
        assert ran == ["propose"]
        (call,) = await chat.waiting_calls()
        await chat.approve(call.id)
        assert (await second.answer()).content == "True 7"


async def test_a_graph_inside_a_graph_waits_too() -> None:
    inner: StateGraph[State, None, State, State] = StateGraph(State)
    inner.add_node("delete", delete)
    inner.add_edge(START, "delete")
    outer: StateGraph[State, None, State, State] = StateGraph(State)
    outer.add_node("propose", propose)
    outer.add_node("inner", inner.compile())
    outer.add_edge(START, "propose")
    outer.add_edge("propose", "inner")
    async with opened(GraphAgent(outer.compile(checkpointer=InMemorySaver()))) as conversations:
        chat = await conversations.create(title="Kept")
        turn = await chat.send("Tidy up")
        async for _ in turn.events():
            pass
        ran.clear()
        (call,) = await chat.waiting_calls()
        await chat.approve(call.id)
        assert (await turn.answer()).content == "True 7"
        assert ran == [True]


def twice(state: State) -> State:
    first, second = interrupt("first?"), interrupt("second?")
    return {"messages": [AIMessage(f"{first} and {second}")]}


async def test_a_node_may_ask_more_than_once_and_be_told_what_the_app_makes_of_it() -> None:
    def resume(value: Any, decision: Any) -> Any:
        return f"{value} {decision.approved} {decision.reason}"

    async with opened(GraphAgent(compiled(twice), resume=resume)) as conversations:
        chat = await conversations.create(title="Kept")
        turn = await chat.send("Ask")
        for approved, reason in ((True, None), (False, "too late: no")):
            async for _ in turn.events():
                pass
            (call,) = await chat.waiting_calls()
            await chat.approve(call.id, approved=approved, reason=reason)
        assert (await turn.answer()).content == "first? True None and second? False too late: no"


@pytest.mark.parametrize(("approved", "end"), [(True, "done"), (False, "I would delete old.txt.")])
async def test_a_graph_that_pauses_before_a_node_waits_for_a_yes(approved: bool, end: str) -> None:
    def done(state: State) -> State:
        return {"messages": [AIMessage("done")]}

    async with opened(GraphAgent(compiled(propose, done, interrupt_before=["done"]))) as conversations:
        chat = await conversations.create(title="Kept")
        turn = await chat.send("Tidy up")
        async for _ in turn.events():
            pass
        (call,) = await chat.waiting_calls()
        await chat.approve(call.id, approved=approved)
        async for _ in turn.events():
            pass
        assert [message.content for message in await chat.messages(None) if message.role.value == "assistant"][
            -1
        ] == end
        assert await chat.turns() == ()


async def test_what_cannot_be_read_of_a_memory_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    for kept in ("x", {"spaces": 1}, {"spaces": {"": {"checkpoint": {"json": 1}}}}, {"waits": {"a": 1}}):
        async with opened(GraphAgent(compiled(count))) as conversations:
            chat = await conversations.create(title="Kept")
            change = (await chat.reading.state()).change({KEY: kept})
            await chat.append(Message(role=threadkeep.Role.USER, content="Hi"), change)
            assert (await (await chat.send("And now?")).answer()).content.startswith("1, ")
    assert "cannot be read" in caplog.text
