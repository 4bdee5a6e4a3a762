"""A whole turn: what is stored of it, what readers are told, and that it runs by itself."""

import asyncio
import threading
from contextlib import aclosing

from tests.told import data_of, name_of
from tests.unit.turn.processes import Processes, contents, ended, entries_of, first, names, new_conversation, seen, told
from threadkeep.conversation.blocks import Table
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.llm.base import Model, ModelOptions, Stopped, Text
from threadkeep.testing.providers import check_everywhere
from threadkeep.testing.scripted_model import ScriptedModel, says, wants
from threadkeep.tools.base import ToolContext, ToolOutcome
from threadkeep.tools.decorator import tool
from threadkeep.turn.assistant import Assistant

EVENT_NAMES = {
    "turn.queued",
    "turn.started",
    "message.started",
    "text.delta",
    "tool.called",
    "tool.result",
    "block.added",
    "state.changed",
    "message.completed",
    "conversation.updated",
    "head.chosen",
    "call.decided",
    "turn.completed",
    "turn.failed",
    "turn.cancelled",
    "turn.interrupted",
    "turn.waiting",
    "turn.retrying",
    "presence",
}
"""As promised to clients for ever."""


@tool(repeatable=True)
async def get_budget(cost_center: str, context: ToolContext) -> ToolOutcome:
    """The budget of a cost center."""
    table = Table(columns=["budget", "spent"], rows=[[50000, 35000]])
    state = {"seen": [*context.state.values.get("seen", []), cost_center]}
    return ToolOutcome(content=f"{cost_center}: 50000, spent 35000", blocks=(table,), state=state)


def asks_for(*centers: str, gate: asyncio.Event | None = None) -> ScriptedModel:
    """Return a model that looks up budgets, then answers, its last words when the gate is open."""
    calls = [(f"call_{number}", "get_budget", {"cost_center": center}) for number, center in enumerate(centers)]
    begins, *ends = says("The budget ", "is 50,000.")
    return ScriptedModel(wants(*calls), [begins, *([gate] if gate else []), *ends])


async def test_the_trace_of_an_answer_names_the_tools_that_were_called_for_it(processes: Processes) -> None:
    long = {"text": "x" * 5_000}

    @tool(repeatable=True)
    async def read(text: str) -> str:
        """Read a text, in vain."""
        raise ValueError("too long")

    calls = wants(("c1", "get_budget", {"cost_center": "CC-1"})), wants(("c1", "get_budget", {"cost_center": "CC-2"}))
    model = ScriptedModel(*calls, wants(("c2", "read", long)), says("Done."))
    chat = await new_conversation(await processes.open(model, get_budget, read))
    await ended(await chat.send("Look everywhere"))
    *earlier, answer = await chat.messages()
    assert not any(item["kind"] == "tool" for message in earlier for item in message.tool_trace)
    traced = [item for item in answer.tool_trace if item["kind"] == "tool"]
    assert [(item["name"], item["outcome"], item["result"]) for item in traced] == [
        ("get_budget", "ok", "CC-1: 50000, spent 35000"),
        ("get_budget", "ok", "CC-2: 50000, spent 35000"),
        ("read", "failed", "ValueError: too long"),
    ]
    assert [item["arguments"] for item in traced[:2]] == [{"cost_center": "CC-1"}, {"cost_center": "CC-2"}]
    assert len(str(traced[2]["arguments"])) < 1_100
    assert all(isinstance(item["duration_ms"], int) for item in traced)


async def test_every_step_of_a_turn_with_tools_is_part_of_the_stored_history(processes: Processes) -> None:
    model = asks_for("CC-1001")
    conversations = await processes.open(model, get_budget)
    chat = await new_conversation(conversations)
    answer = await (await chat.send("What is the budget of CC-1001?")).answer()
    assert answer is not None
    assert (answer.content, answer.status, answer.model) == (
        "The budget is 50,000.",
        MessageStatus.COMPLETE,
        "scripted",
    )
    messages = await chat.messages()
    assert contents(messages) == [
        ("user", "What is the budget of CC-1001?"),
        ("assistant", ""),
        ("tool", "CC-1001: 50000, spent 35000"),
        ("assistant", "The budget is 50,000."),
    ]
    (call,) = messages[1].tool_calls
    assert (call.id, call.name, call.args) == ("call_0", "get_budget", {"cost_center": "CC-1001"})
    result = messages[2].tool_result
    assert result is not None
    assert (result.tool_call_id, result.error) == ("call_0", None)
    assert result.duration_ms is not None
    assert (await conversations._store.state(chat.scope, chat.id)).values == {"seen": ["CC-1001"]}


async def test_the_model_sees_instructions_history_calls_and_results_and_the_tools(processes: Processes) -> None:
    model = asks_for("CC-1001")
    chat = await processes.begin(model, get_budget)
    await ended(await chat.send("What is the budget of CC-1001?"))
    for request in model.requests:
        check_everywhere(request)
        assert [spec.name for spec in request.tools] == ["get_budget"]
    roles = [message.role for message in model.requests[1].messages]
    assert roles == [Role.SYSTEM, Role.USER, Role.ASSISTANT, Role.TOOL]
    assert model.requests[1].messages[0].content.startswith("Be brief.")


async def test_a_conversation_may_bring_a_system_prompt_of_its_own(processes: Processes) -> None:
    model = ScriptedModel(says("Arr."))
    conversations = await processes.open(model)
    chat = await new_conversation(conversations, system="Talk like a pirate.")
    await ended(await chat.send("Hello"))
    assert model.requests[0].messages[0].content.startswith("Talk like a pirate.")


async def test_the_options_of_a_conversation_count_more_than_those_of_the_assistant(processes: Processes) -> None:
    model = ScriptedModel(says("Aye."))
    assistant = Assistant(name="captain", options=ModelOptions(temperature=0.2, max_tokens=100))
    conversations = await processes.open(model, assistant=assistant)
    chat = await conversations.create(assistant="captain", metadata={"model_options": {"temperature": 1.0}})
    await ended(await chat.send("Who are you?"))
    assert model.requests[0].options == ModelOptions(temperature=1.0, max_tokens=100)


async def test_the_events_of_a_turn_come_in_order_under_their_permanent_names(processes: Processes) -> None:
    gate = asyncio.Event()
    chat = await processes.begin(asks_for("A", "B", gate=gate), get_budget)
    events = await told(await chat.send("Compare A and B"), gate.set)
    started = names(events)
    assert started[:5] == ["message.completed", "turn.started", "message.completed", "tool.called", "tool.called"]
    assert sorted(started[5:11]) == sorted(["tool.result", "block.added", "state.changed"] * 2)
    assert started[11:] == ["message.started", "text.delta", "message.completed", "turn.completed"]
    assert {name_of(event) for event in events} <= EVENT_NAMES


async def test_the_data_of_the_events_is_what_clients_were_promised(processes: Processes) -> None:
    gate = asyncio.Event()
    chat = await processes.begin(asks_for("A", gate=gate), get_budget)
    turn = await chat.send("What about A?")
    by_name = {name_of(event): data_of(event) for event in await told(turn, gate.set)}
    called, result = by_name["tool.called"], by_name["tool.result"]
    assert (called["id"], called["name"], called["args"]) == ("call_0", "get_budget", {"cost_center": "A"})
    assert (result["tool_call_id"], result["content"]) == ("call_0", "A: 50000, spent 35000")
    assert isinstance(result["duration_ms"], int)
    assert by_name["block.added"]["block"]["type"] == "table"
    assert by_name["state.changed"]["set"] == {"seen": ["A"]}
    assert by_name["message.completed"]["message"]["content"] == "The budget is 50,000."
    assert set(by_name["text.delta"]) == {"message", "text"}
    ended_with = by_name["turn.completed"]
    assert ended_with["turn"] == turn.number
    assert ended_with["usage"] == {"input_tokens": 20, "output_tokens": 3, "cached_tokens": 0}


async def test_cursors_only_move_forwards_and_name_the_message_while_it_is_written(processes: Processes) -> None:
    gate = asyncio.Event()
    chat = await processes.begin(ScriptedModel([Text("one "), gate, Text("two"), Stopped("stop")]))
    turn = await chat.send("Count")
    piece = await first(chat.follow(Cursor()), "text.delta")
    assert (piece.cursor.message, piece.cursor.offset) == (data_of(piece)["message"], 4)
    gate.set()
    events = await told(turn)
    places = [(event.cursor.seq, event.cursor.index or 10**6, event.cursor.offset) for event in events]
    assert places == sorted(places, key=lambda place: place[0])
    assert events[-1].cursor == Cursor(seq=(await chat.read()).entries)


async def test_text_is_on_disk_before_anybody_is_shown_it(processes: Processes) -> None:
    gates = [asyncio.Event() for _ in range(4)]
    script = [step for number, gate in enumerate(gates) for step in (Text(f"piece {number} "), gate)]
    conversations = await processes.open(ScriptedModel([*script, Stopped("stop")]))
    other = await processes.open_store()
    chat = await new_conversation(conversations)
    turn = await chat.send("Tell me")
    shown, checked = "", 0
    async with aclosing(turn.events()) as events:
        async for event in events:
            if name_of(event) == "text.delta":
                shown += data_of(event)["text"]
                page = await other.log(chat.scope, chat.id, Cursor(seq=(await chat.read()).entries))
                assert page.draft is not None
                assert page.draft.text.startswith(shown)
                gates[checked].set()
                checked += 1
    assert checked == 4
    await other.close()


async def test_a_turn_goes_on_when_its_reader_leaves(processes: Processes) -> None:
    gate = asyncio.Event()
    chat = await processes.begin(ScriptedModel([Text("Once upon "), gate, Text("a time."), Stopped("stop")]))
    turn = await chat.send("Tell me a story")
    await first(turn.events(), "text.delta")
    gate.set()
    await ended(turn)
    assert (await chat.messages())[-1].content == "Once upon a time."


async def test_ten_readers_of_one_turn_cost_one_model_call_and_see_the_same(processes: Processes) -> None:
    gate, readers = asyncio.Event(), 10
    model = ScriptedModel([Text("All "), gate, *says("of ", "you")])
    chat = await processes.begin(model)
    turn = await chat.send("Who is there?")
    texts = iter(range(1, 1000))

    def one_more() -> None:
        if next(texts) == readers:
            gate.set()

    everything = await asyncio.gather(*(told(turn, one_more) for _ in range(readers)))
    assert len(model.requests) == 1
    for events in everything:
        assert "".join(data_of(event)["text"] for event in events if name_of(event) == "text.delta") == "All of you"
    told_beside_text = [
        [(name_of(e), data_of(e)) for e in events if name_of(e) != "text.delta"] for events in everything
    ]
    assert all(one == told_beside_text[0] for one in told_beside_text)


async def test_the_end_of_a_turn_and_its_last_message_are_one_commit(processes: Processes) -> None:
    conversations = await processes.open(ScriptedModel(says("Hello.")))
    chat = await new_conversation(conversations)
    await ended(await chat.send("Hello"))
    *_, answer, end = await entries_of(chat, conversations._store)
    assert isinstance(answer.body, Message)
    assert isinstance(end.body, TurnChange)
    assert end.body.state is TurnState.COMPLETED
    assert answer.created_at == end.created_at
    assert await conversations._store.turns(chat.scope, chat.id) == ()


async def test_a_follow_up_has_the_whole_conversation_in_front_of_the_model(processes: Processes) -> None:
    model = ScriptedModel(says("Hello Alice."), says("Alice."))
    conversations = await processes.open(model)
    chat = await new_conversation(conversations)
    await ended(await chat.send("My name is Alice"))
    await ended(await (await conversations.get(chat.id)).send("What's my name?"))
    assert [message.content for message in model.requests[1].messages][1:] == [
        "My name is Alice",
        "Hello Alice.",
        "What's my name?",
    ]


async def test_the_answer_without_streaming_is_the_drained_stream(processes: Processes) -> None:
    gate = asyncio.Event()
    chat = await processes.begin(ScriptedModel([Text("a"), gate, *says("b", "c")]))
    turn = await chat.send("Spell")
    events = await told(turn, gate.set)
    answer = await turn.answer()
    assert answer is not None
    assert (
        answer.content == "".join(data_of(event)["text"] for event in events if name_of(event) == "text.delta") == "abc"
    )


async def test_a_conversation_deleted_in_the_middle_of_a_turn_takes_the_turn_with_it(processes: Processes) -> None:
    gate = asyncio.Event()
    conversations = await processes.open(ScriptedModel([Text("Hel"), gate, Text("lo"), Stopped("stop")], says("Here.")))
    chat = await new_conversation(conversations)
    await chat.send("Hello")
    await seen(chat, "text.delta")
    await conversations._store.delete(chat.scope, chat.id)
    gate.set()
    other = await new_conversation(conversations)
    assert name_of(await ended(await other.send("Are you still there?"))) == "turn.completed"


async def test_others_are_served_while_the_model_of_a_conversation_is_loaded(processes: Processes) -> None:
    model, gate = ScriptedModel(says("Here I am.")), threading.Event()

    def large(name: str | None, assistant: Assistant) -> Model:
        assert name is None or gate.wait(30)
        return model

    conversations = await processes.open(model, models=large)
    chat = await new_conversation(conversations, model="large:1")
    turn = await chat.send("Hello")
    # This would never come to pass if loading held the event loop up.
    await new_conversation(conversations)
    gate.set()
    assert name_of(await ended(turn)) == "turn.completed"
