"""Minds and machines in the engine: what an agent changes is stored with what it says, or not at all, and only as the
machine allows; what is done at once is seen at once; a conversation at its end is completed."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest

from tests.told import data_of, failure_of, name_of
from tests.unit.turn.processes import (
    Processes,
    Silent,
    called,
    ended,
    entries_of,
    first,
    names,
    new_conversation,
    said_in,
    seen,
    told,
    until,
)
from threadkeep.conversation.blocks import Table
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.facts import Status
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.conversation.state import StateChange
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import ModelUnavailable
from threadkeep.llm.base import CallPart, Model, Stopped, Text
from threadkeep.machine import Machine, Transition
from threadkeep.store.base import ROOT
from threadkeep.testing.scripted_model import ScriptedModel, says, wants
from threadkeep.tools.base import ToolOutcome
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.agent import Agent, Asked, Changed, Noted, ShownBlock, Thought
from threadkeep.turn.assistant import Assistant

LEASE = 11.0
Step = Thought | BaseException | asyncio.Event

TRIP = Machine(
    states=("packing", "travelling", "home"),
    transitions=(
        Transition("packing", "travelling", lambda values: None if values.get("bag") else "the bag is not packed"),
        Transition("travelling", "packing"),
        Transition("travelling", "home"),
    ),
    final=frozenset({"home"}),
    entering={"travelling": lambda values: {"since": f"bag of {values['bag']}"}},
)


class Playing(Agent):
    """A mind that plays one list of thoughts for each call, and fails on a call that the test did not expect."""

    def __init__(self, *calls: Sequence[Step]) -> None:
        self.asked: list[Asked] = []
        self.closed = 0
        self._calls = list(calls)

    async def think(self, asked: Asked) -> AsyncIterator[Thought]:
        """Play the next list."""
        assert self._calls, "the mind was asked once more than expected"
        self.asked.append(asked)
        try:
            for step in self._calls.pop(0):
                match step:
                    case asyncio.Event():
                        await step.wait()
                    case BaseException():
                        raise step
                    case _:
                        yield step
        finally:
            self.closed += 1


@tool(repeatable=True)
async def go(to: str) -> ToolOutcome:
    """Go somewhere."""
    return ToolOutcome(content=f"went {to}", state={"state": to})


def traveller(agent: Agent | None, machine: Machine | None = TRIP) -> Assistant:
    return Assistant(name="traveller", agent=agent, machine=machine, tools=Registry([go]))


async def opened(processes: Processes, agent: Agent | None, model: Model | None = None, **parts: Any) -> Conversations:
    return await processes.open(model or Silent(), assistant=traveller(agent), **parts)


async def state_of(conversations: Conversations, chat: ConversationHandle) -> dict[str, Any]:
    return (await conversations._store.state(chat.scope, chat.id)).values


def saying(text: str, **new: Any) -> list[Thought]:
    return [Text(text), Changed(set=new), Stopped("stop")]


async def test_what_an_agent_changes_and_what_it_says_are_one_commit_and_only_changed_keys_are_written(
    processes: Processes,
) -> None:
    agent = Playing(saying("Packed.", bag="socks"), saying("Off we go.", state="travelling"))
    conversations = await opened(processes, agent)
    chat = await new_conversation(conversations)
    await ended(await chat.send("Pack"))
    await ended(await chat.send("Go"))
    assert await state_of(conversations, chat) == {"state": "travelling", "bag": "socks", "since": "bag of socks"}
    entries = await entries_of(chat, conversations._store)
    changes = [entry for entry in entries if isinstance(entry.body, StateChange)]
    answers = [entry for entry in entries if isinstance(entry.body, Message) and entry.body.role is Role.ASSISTANT]
    assert [change.body.set for change in changes if isinstance(change.body, StateChange)] == [
        {"state": "packing", "bag": "socks"},
        {"state": "travelling", "since": "bag of socks"},
    ]
    for change, answer in zip(changes, answers, strict=True):
        assert (answer.parent, answer.created_at) == (change.seq, change.created_at)
    assert agent.asked[1].state == {"state": "packing", "bag": "socks"}


async def test_an_agent_sees_the_question_last_with_what_was_said_before_and_the_model(processes: Processes) -> None:
    agent, model = Playing(saying("Hello."), saying("Yes?")), Silent()
    conversations = await opened(processes, agent, model)
    chat = await new_conversation(conversations)
    await ended(await chat.send("Hi"))
    await ended(await chat.send("And now?"))
    asked = agent.asked[1]
    assert [message.content for message in asked.messages] == ["Hi", "Hello.", "And now?"]
    assert asked.model.name == model.name
    assert [spec.name for spec in asked.request.tools] == ["go"]


async def test_a_turn_that_the_machine_does_not_allow_fails_and_says_why_and_changes_nothing(
    processes: Processes,
) -> None:
    conversations = await opened(processes, Playing(saying("Home!", state="home"), saying("Sorry.")))
    chat = await new_conversation(conversations)
    end = await ended(await chat.send("Take me home"))
    assert name_of(end) == "turn.failed"
    assert failure_of(end) == (
        "illegal_transition: There is no way from packing to home; from here it goes to: travelling."
    )
    assert await state_of(conversations, chat) == {}
    assert [message.status for message in await chat.messages()][1:] == [MessageStatus.INTERRUPTED]
    assert name_of(await ended(await chat.send("Oh"))) == "turn.completed"


async def test_a_guard_that_objects_fails_the_turn_also_when_the_change_was_to_be_made_at_once(
    processes: Processes,
) -> None:
    conversations = await opened(
        processes, Playing([Changed(set={"state": "travelling"}, now=True), Text("Off."), Stopped("stop")])
    )
    chat = await new_conversation(conversations)
    end = await ended(await chat.send("Go"))
    assert name_of(end) == "turn.failed"
    assert failure_of(end) == "illegal_transition: It cannot go from packing to travelling yet: the bag is not packed"
    assert await state_of(conversations, chat) == {}


async def test_a_tool_that_goes_where_the_machine_does_not_gets_an_error_and_the_turn_goes_on(
    processes: Processes,
) -> None:
    model = ScriptedModel(wants(("call_1", "go", {"to": "home"})), says("I may not."))
    conversations = await opened(processes, None, model)
    chat = await new_conversation(conversations)
    events = await told(await chat.send("Take me home"))
    (result,) = [data_of(event) for event in events if name_of(event) == "tool.result"]
    assert "no way from packing to home" in result["error"]
    assert name_of(events[-1]) == "turn.completed"
    assert await state_of(conversations, chat) == {}
    assert "no way from packing to home" in str(model.requests[1].messages)


async def test_a_model_that_leads_by_a_machine_is_told_where_it_stands(processes: Processes) -> None:
    model = ScriptedModel(says("Let us pack."))
    conversations = await opened(processes, None, model)
    await ended(await (await new_conversation(conversations)).send("Hello"))
    assert "in the state packing; from here it can go to: nowhere" in model.requests[0].messages[-1].content


async def test_an_agent_calls_a_tool_and_is_asked_again_with_the_result_and_the_state_that_it_left(
    processes: Processes,
) -> None:
    call: list[Step] = [
        Changed(set={"bag": "socks"}),
        CallPart(index=0, id="call_1", name="go", args='{"to": "travelling"}'),
        Stopped("tool_calls"),
    ]
    agent = Playing(call, saying("Here we are."))
    conversations = await opened(processes, agent)
    chat = await new_conversation(conversations)
    assert name_of(await ended(await chat.send("Go"))) == "turn.completed"
    assert agent.asked[1].state == {"state": "travelling", "bag": "socks", "since": "bag of socks"}
    assert agent.asked[1].messages[-1].content == "went travelling"


async def test_what_is_changed_at_once_is_seen_before_the_answer_and_what_comes_with_it_is_not(
    processes: Processes,
) -> None:
    gate = asyncio.Event()
    steps: list[Step] = [
        Text("Wait. "),
        Changed(set={"bag": "socks"}, now=True),
        Changed(set={"hat": "on"}),
        Changed(set={"state": "travelling"}, now=True),
        gate,
        Text("Off."),
        Stopped("stop"),
    ]
    conversations = await opened(processes, Playing(steps))
    chat = await new_conversation(conversations)
    turn = await chat.send("Go")
    await seen(chat, "state.changed", lambda event: data_of(event)["set"].get("state") == "travelling")
    assert await state_of(conversations, chat) == {"state": "travelling", "bag": "socks", "since": "bag of socks"}
    gate.set()
    events = await told(turn)
    assert names(events).count("state.changed") == 3
    assert "".join(data_of(event)["text"] for event in events if name_of(event) == "text.delta") in ("Wait. Off.", "")
    assert (await chat.messages())[-1].content == "Wait. Off."
    assert (await state_of(conversations, chat))["hat"] == "on"


async def test_blocks_and_notes_of_an_agent_are_part_of_its_message(processes: Processes) -> None:
    table = Table(columns=["part"], rows=[["bag"]])
    conversations = await opened(
        processes, Playing([Noted({"kind": "thought", "of": "bags"}), Text("See:"), ShownBlock(table), Stopped("stop")])
    )
    chat = await new_conversation(conversations)
    await ended(await chat.send("Show me"))
    answer = (await chat.messages())[-1]
    assert answer.blocks == (table,)
    assert {"kind": "thought", "of": "bags"} in answer.tool_trace


async def test_a_conversation_that_reaches_a_final_state_is_completed_and_its_turn_too(processes: Processes) -> None:
    steps: list[Step] = [Changed(set={"bag": "x", "state": "travelling"}, now=True), *saying("Home.", state="home")]
    conversations = await opened(processes, Playing(steps, saying("It is over.")))
    chat = await new_conversation(conversations)
    assert (await chat.read()).status is Status.ACTIVE
    assert name_of(await ended(await chat.send("Go home"))) == "turn.completed"
    assert (await chat.read()).status is Status.COMPLETED
    assert name_of(await ended(await chat.send("And now?"))) == "turn.completed"
    assert (await chat.read()).status is Status.COMPLETED


async def test_transitions_of_a_machine_are_on_record_and_other_changes_of_state_are_not(processes: Processes) -> None:
    steps: list[Step] = [
        Changed(set={"bag": "secret"}, now=True),
        Changed(set={"state": "travelling"}, now=True),
        *saying("Home.", state="home"),
    ]
    conversations = await opened(processes, Playing(steps))
    chat = await new_conversation(conversations)
    await ended(await chat.send("Go home"))
    records = [record.act for record in await conversations.admin.audit.read(chat.scope.tenant)]
    assert {act.object for act in records} == {f"conversation:{chat.id}"}
    assert [(act.action, act.details) for act in records] == [
        ("state.changed", {"before": "packing", "after": "travelling"}),
        ("state.changed", {"before": "travelling", "after": "home"}),
        ("conversation.status", {"status": "completed"}),
    ]


async def test_branches_have_states_of_their_own(processes: Processes) -> None:
    agent = Playing(saying("Socks.", bag="socks"), saying("Off.", state="travelling"), saying("Hats.", bag="hats"))
    conversations = await opened(processes, agent)
    chat = await new_conversation(conversations)
    for text in ("Pack socks", "Go"):
        await ended(await chat.send(text))
    end = (await chat.read()).head
    await ended(await chat.send("Pack hats", parent=ROOT))
    assert agent.asked[2].state == {}, "another branch began with what the first one knew"
    assert await state_of(conversations, chat) == {"state": "packing", "bag": "hats"}
    assert (await conversations._store.state(chat.scope, chat.id, at=end)).values["state"] == "travelling"


async def test_an_agent_that_fails_is_asked_again_and_what_it_changed_before_counts_only_if_it_was_stored(
    processes: Processes,
) -> None:
    failing: list[Step] = [
        Changed(set={"bag": "socks"}, now=True),
        Changed(set={"hat": "on"}),
        ModelUnavailable("away"),
    ]
    agent = Playing(failing, saying("There.", state="travelling"))
    conversations = await opened(processes, agent)
    chat = await new_conversation(conversations)
    assert name_of(await ended(await chat.send("Go"))) == "turn.completed"
    assert agent.asked[1].state == {"state": "packing", "bag": "socks"}
    assert await state_of(conversations, chat) == {"state": "travelling", "bag": "socks", "since": "bag of socks"}


@pytest.mark.server_may_fail
async def test_a_fault_in_an_agent_ends_the_turn_and_leaves_the_state_as_it_was(processes: Processes) -> None:
    conversations = await opened(
        processes, Playing([Changed(set={"bag": "x"}), Text("Hm"), ValueError("oops")], saying("Fine."))
    )
    chat = await new_conversation(conversations)
    end = await ended(await chat.send("Go"))
    assert (name_of(end), "internal_error" in failure_of(end)) == ("turn.failed", True)
    assert "oops" not in failure_of(end)
    assert await state_of(conversations, chat) == {}
    assert name_of(await ended(await chat.send("Again"))) == "turn.completed"


async def test_a_turn_that_is_cancelled_keeps_what_was_changed_at_once_and_nothing_else(processes: Processes) -> None:
    steps: list[Step] = [
        Changed(set={"bag": "socks"}, now=True),
        Changed(set={"hat": "on"}),
        Text("I am "),
        asyncio.Event(),
    ]
    agent = Playing(steps)
    conversations = await opened(processes, agent)
    chat = await new_conversation(conversations)
    turn = await chat.send("Go")
    await said_in(chat, "I am ")
    await chat.cancel()
    assert name_of(await ended(turn)) == "turn.cancelled"
    assert await state_of(conversations, chat) == {"state": "packing", "bag": "socks"}
    assert (await chat.messages())[-1].status is MessageStatus.INTERRUPTED
    assert agent.closed == 1


async def test_an_agent_whose_owner_died_is_asked_again_with_what_was_stored(processes: Processes) -> None:
    dying = Playing(
        [Changed(set={"bag": "socks"}, now=True), Changed(set={"hat": "on"}), Text("I am "), asyncio.Event()]
    )
    chat = await new_conversation(await opened(processes, dying))
    turn = await chat.send("Go")
    await said_in(chat, "I am ")
    processes.clock.advance(LEASE)
    agent = Playing(saying("Off.", state="travelling"))
    other = await opened(processes, agent)
    assert name_of(await ended(turn)) == "turn.completed"
    assert agent.asked[0].state == {"state": "packing", "bag": "socks"}
    assert [message.content for message in agent.asked[0].messages] == ["Go", "I am "]
    assert await state_of(other, chat) == {"state": "travelling", "bag": "socks", "since": "bag of socks"}


async def test_an_agent_that_says_nothing_for_too_long_is_given_up(processes: Processes) -> None:
    conversations = await opened(processes, Playing([asyncio.Event()]), silence=0.05, pauses=())
    end = await ended(await (await new_conversation(conversations)).send("Go"))
    assert name_of(end) == "turn.failed"
    assert failure_of(end).startswith("model_timeout")


async def test_a_model_that_an_agent_asks_is_hung_up_when_the_turn_is_cancelled(processes: Processes) -> None:
    class Asking(Agent):
        """Hands on what the model says."""

        async def think(self, asked: Asked) -> AsyncIterator[Thought]:
            """Ask the model."""
            async for delta in asked.model.stream(asked.request):
                yield delta

    model = ScriptedModel([Text("Once "), asyncio.Event()])
    conversations = await opened(processes, Asking(), model)
    chat = await new_conversation(conversations)
    turn = await chat.send("Tell me")
    await called(model)
    await said_in(chat, "Once ")
    await chat.cancel()
    await ended(turn)
    await until(lambda: len(model.closed) == 1)


async def test_an_agent_that_is_only_named_and_was_not_loaded_is_told(processes: Processes) -> None:
    assistant = Assistant(name="traveller", agent="nowhere:Mind")
    conversations = await processes.open(Silent(), assistant=assistant)
    end = await ended(await (await new_conversation(conversations)).send("Go"))
    assert name_of(end) == "turn.failed"
    assert "nowhere:Mind" in failure_of(end)


async def test_readers_who_come_later_are_told_the_same_changes(processes: Processes) -> None:
    steps: list[Step] = [Changed(set={"bag": "x"}, now=True), *saying("Off.", state="travelling")]
    conversations = await opened(processes, Playing(steps))
    chat = await new_conversation(conversations)
    await ended(await chat.send("Go"))
    event = await first(chat.follow(Cursor()), "state.changed", lambda event: "since" in data_of(event)["set"])
    assert data_of(event)["set"] == {"state": "travelling", "since": "bag of x"}
