"""A LangGraph graph as an assistant's mind: its words stream, its nodes are seen, its tools run through ours."""

from operator import add
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langgraph.config import get_stream_writer
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime
from langgraph.types import interrupt

import threadkeep
from tests.told import data_of, failure_of, name_of
from threadkeep.conversation.blocks import Citation
from threadkeep.conversation.events import Event
from threadkeep.conversation.message import Message
from threadkeep.errors import InvalidValue, ModelUnavailable
from threadkeep.llm.base import Model, ModelOptions, Reasoned, Text
from threadkeep.testing.scripted_model import ScriptedModel, says, wants
from threadkeep.tools.decorator import FunctionTool, tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant
from threadkeep_integrations.graphs.chat_model import KeptChatModel, call_message
from threadkeep_integrations.graphs.graph_agent import GraphAgent, GraphContext


class State(TypedDict, total=False):
    """What the graphs of these tests pass on."""

    messages: Annotated[list[AnyMessage], add_messages]
    route: str
    seen: Annotated[list[str], add]


async def speak(state: State, runtime: Runtime[GraphContext]) -> State:
    """Let the model answer."""
    return {"messages": [await runtime.context.model.ainvoke(state["messages"])]}


def graph(**nodes: Any) -> GraphAgent:
    """Return an agent whose nodes run one after the other; only `speak` is heard."""
    built: StateGraph[State, GraphContext, State, State] = StateGraph(State, context_schema=GraphContext)
    for name, node in nodes.items():
        built.add_node(name, node)
    for source, target in zip((START, *nodes), (*nodes, END), strict=True):
        built.add_edge(source, target)
    return GraphAgent(built.compile(), speakers={"speak"}, shown={"route", "seen"})


async def answer(agent: GraphAgent, model: Model, *tools: FunctionTool) -> tuple[Message, list[Event]]:
    """Ask an assistant with this mind one question."""
    assistant = Assistant(name="graph", instructions="Be brief.", agent=agent, tools=Registry(tools))
    async with threadkeep.open("memory:", [assistant], model=model) as conversations:
        chat = await conversations.create(title="Kept")
        turn = await chat.send("What is new?")
        events = [event async for event in turn.events()]
        message = Message.model_validate(
            data_of([event for event in events if name_of(event) == "message.completed"][-1])["message"]
        )
        return message, events


async def test_the_words_of_the_speaking_node_are_the_answer() -> None:
    model = ScriptedModel(says("Nothing", " much."))
    message, events = await answer(graph(speak=speak), model)
    assert message.content == "Nothing much."
    assert message.model == "scripted"
    assert message.usage is not None
    assert message.usage.input_tokens == 10
    assert name_of(events[-1]) == "turn.completed"
    assert [said.content for said in model.requests[0].messages] == ["Be brief.", "What is new?"]


async def test_what_the_model_of_the_speaking_node_thinks_is_shown_and_never_sent_back() -> None:
    thinks = [Reasoned(text="Hm."), Reasoned(payload={"signature": "s"}), *says("Nothing.")]
    message, _ = await answer(graph(speak=speak), ScriptedModel(thinks))
    assert message.content == "Nothing."
    assert [part.model_dump(include={"type", "text", "payload"}) for part in message.parts] == [
        {"type": "reasoning", "text": "Hm."}
    ]


async def test_what_other_nodes_ask_the_model_is_not_heard_but_counted() -> None:
    async def think(state: State, runtime: Runtime[GraphContext]) -> State:
        rewritten = await runtime.context.model.ainvoke([HumanMessage("Rewrite it.")])
        return {"route": str(rewritten.content)}

    message, _ = await answer(graph(think=think, speak=speak), ScriptedModel(says("secret"), says("Aloud.")))
    assert message.content == "Aloud."
    assert message.usage is not None
    assert message.usage.input_tokens == 20


async def test_every_node_is_seen_with_what_it_found() -> None:
    def decide(state: State) -> State:
        return {"route": "respond"}

    _, events = await answer(graph(decide=decide, speak=speak), ScriptedModel(says("Yes.")))
    changes = [data_of(event)["set"] for event in events if name_of(event) == "state.changed"]
    assert changes == [{"node": "decide", "route": "respond"}, {"node": "speak"}]


async def test_the_state_of_the_graph_is_given_back_in_the_next_turn() -> None:
    given = list[dict[str, object]]()

    def note(state: State) -> State:
        given.append({key: value for key, value in state.items() if key != "messages"})
        return {"route": f"after {len(given)}", "seen": [str(len(given))]}

    assistant = Assistant(name="graph", agent=graph(note=note, speak=speak))
    async with threadkeep.open("memory:", [assistant], model=ScriptedModel(*[says("Yes.")] * 3)) as conversations:
        chat = await conversations.create(title="Kept")
        for _ in range(3):
            await (await chat.send("And now?")).answer()
        assert (await chat.reading.state()).values == {"node": "speak", "route": "after 3", "seen": ["1", "2", "3"]}
    assert given == [
        {"seen": []},
        {"route": "after 1", "seen": ["1"]},
        {"route": "after 2", "seen": ["1", "2"]},
    ]


@pytest.mark.parametrize("shown", ["rout", "messages"])
def test_a_key_that_the_state_does_not_have_cannot_be_shown(shown: str) -> None:
    with pytest.raises(InvalidValue, match=shown):
        GraphAgent(one_node().compile(), shown={shown})


async def test_blocks_and_notes_of_a_node_are_part_of_the_answer() -> None:
    def look(state: State) -> State:
        write = get_stream_writer()
        write({"kind": "query", "rewritten": "what is new in Oslo"})
        write(Citation(source="p1"))
        write("something else")
        return {}

    message, _ = await answer(graph(look=look, speak=speak), ScriptedModel(says("Rain.")))
    assert message.blocks == (Citation(source="p1"),)
    assert {"kind": "query", "rewritten": "what is new in Oslo"} in message.tool_trace


async def test_a_call_that_the_graph_leaves_unanswered_runs_through_threadkeep() -> None:
    ran: list[str] = []

    @tool(repeatable=True)
    def weather(city: str) -> str:
        """The weather."""
        ran.append(city)
        return f"Rain in {city}."

    def ask_or_tell(state: State) -> State:
        last = state["messages"][-1]
        if isinstance(last, ToolMessage):
            return {"messages": [AIMessage(f"It says: {last.content}")]}
        return {"messages": [call_message("weather", {"city": "Oslo"}, "call_1")]}

    message, events = await answer(graph(speak=ask_or_tell), ScriptedModel(), weather)
    assert ran == ["Oslo"]
    assert message.content == "It says: Rain in Oslo."
    assert [name_of(event) for event in events if name_of(event).startswith("tool.")] == ["tool.called", "tool.result"]


async def test_a_model_in_a_node_may_be_given_tools_and_leave_the_calls_to_us() -> None:
    @tool(repeatable=True)
    def weather(city: str) -> str:
        """The weather."""
        return f"Rain in {city}."

    async def with_tools(state: State, runtime: Runtime[GraphContext]) -> State:
        schema = {"name": "weather", "description": "The weather.", "parameters": {"type": "object", "properties": {}}}
        model = runtime.context.model.bind_tools([schema])
        return {"messages": [await model.ainvoke(state["messages"])]}

    model = ScriptedModel(wants(("c1", "weather", {"city": "Bergen"})), says("Wet."))
    message, _ = await answer(graph(speak=with_tools), model, weather)
    assert message.content == "Wet."
    assert [spec.name for spec in model.requests[0].tools] == ["weather"]
    assert model.requests[1].messages[-1].content == "Rain in Bergen."


async def test_calls_that_the_graph_answers_itself_are_its_own() -> None:
    def call(state: State) -> State:
        return {"messages": [call_message("inner", {}, "c1")]}

    def run(state: State) -> State:
        return {"messages": [ToolMessage("done", tool_call_id="c1")]}

    message, events = await answer(graph(call=call, run=run, speak=speak), ScriptedModel(says("Done.")))
    assert message.content == "Done."
    assert not [event for event in events if name_of(event) == "tool.called"]


async def test_an_answer_that_breaks_off_inside_a_graph_is_asked_for_again() -> None:
    model = ScriptedModel([Text("Half")], says("Whole."))
    message, events = await answer(graph(speak=speak), model)
    assert message.content == "Whole."
    said = [data_of(event)["message"] for event in events if name_of(event) == "message.completed"]
    assert [(text["content"], text["status"]) for text in said] == [
        ("What is new?", "complete"),
        ("Half", "interrupted"),
        ("Whole.", "complete"),
    ]


async def test_a_graph_that_runs_in_circles_fails_with_a_reason() -> None:
    built: StateGraph[State, None, State, State] = StateGraph(State)
    built.add_node("speak", lambda state: {"route": "again"})
    built.add_edge(START, "speak")
    built.add_edge("speak", "speak")
    assistant = Assistant(name="graph", agent=GraphAgent(built.compile()))
    async with threadkeep.open("memory:", [assistant], model=ScriptedModel()) as conversations:
        chat = await conversations.create(title="Kept")
        events = [event async for event in (await chat.send("Go")).events()]
        assert name_of(events[-1]) == "turn.failed"
        assert "did not come to an end" in failure_of(events[-1])


def test_a_node_that_is_not_asynchronous_can_ask_the_model_too() -> None:
    model = KeptChatModel(model=ScriptedModel(says("Hello.")))
    assert model.invoke("Hi").content == "Hello."


async def test_a_model_that_breaks_off_is_an_error_in_the_node() -> None:
    with pytest.raises(ModelUnavailable):
        await KeptChatModel(model=ScriptedModel([Text("Ha")])).ainvoke("Hi")


def asks(state: State) -> State:
    """Pause for a person."""
    return {"route": interrupt("Really?")}


def pausing_inside() -> Any:
    """Return a graph that pauses, to be a node of another one."""
    inner: StateGraph[State, GraphContext, State, State] = StateGraph(State, context_schema=GraphContext)
    inner.add_node("asks", asks)
    inner.add_edge(START, "asks")
    return inner.compile()


@pytest.mark.parametrize("node", [asks, pausing_inside()], ids=["in a node", "in a graph inside"])
async def test_a_graph_that_pauses_fails_its_turn_and_says_why(node: Any) -> None:
    assistant = Assistant(name="graph", agent=graph(speak=speak, asks=node))
    async with threadkeep.open("memory:", [assistant], model=ScriptedModel(says("One moment."))) as conversations:
        turn = await (await conversations.create(title="Kept")).send("What is new?")
        end = [event async for event in turn.events()][-1]
    assert (name_of(end), failure_of(end).partition(":")[0]) == ("turn.failed", "pause_unsupported")
    assert "needs a checkpointer" in failure_of(end)


def one_node() -> StateGraph[State, GraphContext, State, State]:
    built: StateGraph[State, GraphContext, State, State] = StateGraph(State, context_schema=GraphContext)
    built.add_node("speak", speak)
    built.add_edge(START, "speak")
    return built


def test_a_graph_that_is_not_compiled_is_refused_when_it_is_loaded() -> None:
    with pytest.raises(InvalidValue, match=r"compiled graph, not a StateGraph: call its compile\(\)"):
        GraphAgent(one_node())


async def test_the_model_of_a_node_has_the_assistant_s_options_and_those_of_the_node() -> None:
    async def exactly(state: State, runtime: Runtime[GraphContext]) -> State:
        exact = runtime.context.model.bind(temperature=0, stop=["END"])
        return {"messages": [await exact.ainvoke(state["messages"])]}

    model = ScriptedModel(says("Yes."))
    options = ModelOptions(temperature=1, seed=7)
    assistant = Assistant(name="graph", agent=graph(speak=exactly), options=options)
    async with threadkeep.open("memory:", [assistant], model=model) as conversations:
        turn = await (await conversations.create(title="Kept")).send("Sure?")
        await turn.answer()
    assert model.requests[0].options == ModelOptions(temperature=0, seed=7, stop=("END",))
