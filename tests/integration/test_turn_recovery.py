"""Recovery: the turn of a dead owner is taken up, what happens next is decided from the log, and it ends.

A process that stalls while the clock passes its lease is as good as dead to others, and is a zombie when it goes on.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from datetime import timedelta

import pytest

from tests.told import data_of, failure_of, name_of
from tests.unit.turn.processes import (
    Processes,
    called,
    contents,
    ended,
    entries_of,
    hung_up,
    names,
    new_conversation,
    said_in,
    seen,
    settled,
    told,
    until,
)
from threadkeep.context.base import Context
from threadkeep.context.build import Plan
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.conversation.turn import TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue, ModelUnavailable, UnknownModel
from threadkeep.llm.base import CallPart, Delta, Model, Request, Stopped, Text
from threadkeep.runtime import open_conversations
from threadkeep.store.values import Append, Appended
from threadkeep.testing.providers import check_everywhere
from threadkeep.testing.scripted_model import ScriptedModel, Step, says, wants
from threadkeep.tools.base import ToolContext
from threadkeep.tools.decorator import FunctionTool, tool
from threadkeep.turn import active_turn, runner
from threadkeep.turn.assistant import Assistant
from threadkeep.turn_handle import TurnHandle

LEASE = 101.0
"""Seconds after which nobody is taken for alive."""


@pytest.fixture
def processes(processes: Processes) -> Processes:
    """Nobody extends a lease while a test runs, however long that takes: those who are to be dead only stand still."""
    processes.lease_for = timedelta(seconds=100)
    return processes


class Runs:
    """Remembers which calls ran, and lets them hang."""

    def __init__(self) -> None:
        self.ran: list[str] = []
        self.fences: list[int] = []
        self.hang = asyncio.Event()

    def tool(self, name: str, *, repeatable: bool, hangs: bool) -> FunctionTool:
        """Return a tool that hangs until the gate opens, or answers at once."""

        @tool(name=name, repeatable=repeatable)
        async def run(context: ToolContext) -> str:
            """Run."""
            self.ran.append(f"{name} {context.call_id}")
            self.fences.append(context.fence)
            if hangs:
                await self.hang.wait()
            return f"{name} ran"

        return run


async def _stalled(
    processes: Processes, *script: Step, **parts: object
) -> tuple[Conversations, ConversationHandle, asyncio.Event]:
    """Return conversations in which a turn stands still in the middle of these steps; others may take it for dead."""
    gate = asyncio.Event()
    conversations = await processes.open(ScriptedModel([*script, gate, *says(" and so on")]), **parts)  # type: ignore[arg-type]
    return conversations, await new_conversation(conversations), gate


async def test_a_turn_whose_owner_died_in_mid_text_keeps_the_text_and_is_answered_anew(processes: Processes) -> None:
    _, chat, gate = await _stalled(processes, Text("Once upon "))
    turn = await chat.send("Tell me a story")
    await said_in(chat, "upon ")
    model = ScriptedModel(says("a time, there was a log."))
    other = await processes.open(model)
    assert await other._runner.recover() == 0, "its owner may still be alive"
    processes.clock.advance(LEASE)
    assert await other._runner.recover() == 1
    assert name_of(await ended(turn)) == "turn.completed"
    _, partial, whole = await chat.messages()
    assert (partial.content, partial.status) == ("Once upon ", MessageStatus.INTERRUPTED)
    assert (whole.content, whole.status) == ("a time, there was a log.", MessageStatus.COMPLETE)
    check_everywhere(model.requests[0])
    assert "Once upon" in str(model.requests[0].messages)
    assert "cut off" in model.requests[0].messages[-1].content, "the model is not told that it was cut off"
    gate.set()


async def test_a_start_takes_up_what_a_process_left_that_is_gone_and_nothing_of_one_that_lives(
    processes: Processes,
) -> None:
    gone, chat, gate = await _stalled(processes)
    alive, other_chat, _ = await _stalled(processes)
    turn, _ = await chat.send("Hello"), await (await alive.get(other_chat.id)).send("Hello")
    await seen(other_chat, "turn.started")
    owner = gone._runner.deps.owner
    later = await processes.open(ScriptedModel(says("Here I am.")), is_gone=lambda name: name == owner)
    assert name_of(await ended(turn)) == "turn.completed"
    (running_elsewhere,) = await later._store.turns(LOCAL, other_chat.id)
    assert (running_elsewhere.owner, running_elsewhere.fence) == (alive._runner.deps.owner, 1)
    gate.set()


async def test_a_zombie_can_write_no_more_and_does_no_harm(processes: Processes) -> None:
    zombie, chat, gate = await _stalled(processes, Text("Once upon "))
    turn = await chat.send("Tell me a story")
    await said_in(chat, "upon ")
    processes.clock.advance(LEASE)
    other = await processes.open(ScriptedModel(says("a time.")))
    await ended(turn)
    before = await entries_of(chat, other._store)
    gate.set()
    model = zombie._runner.deps.models(None, zombie.assistants["tester"])
    assert isinstance(model, ScriptedModel)
    await hung_up(model)
    assert name_of(await ended(turn)) == "turn.completed"
    assert await entries_of(chat, other._store) == before


async def test_a_zombie_that_is_told_to_cancel_stops_whoever_runs_the_turn_now(processes: Processes) -> None:
    zombie, chat, gate = await _stalled(processes, Text("Once upon "))
    turn = await chat.send("Tell me a story")
    await said_in(chat, "upon ")
    processes.clock.advance(LEASE)
    await processes.open(ScriptedModel([Text("a time "), asyncio.Event()]))
    await said_in(chat, "a time ")
    await chat.cancel()
    assert name_of(await ended(turn)) == "turn.cancelled"
    assert await zombie._store.turns(LOCAL, chat.id) == ()
    gate.set()


async def test_a_turn_that_comes_further_each_time_survives_many_owners(processes: Processes) -> None:
    _, chat, _ = await _stalled(processes, Text("one "))
    turn = await chat.send("Count")
    await said_in(chat, "one ")
    for piece in ("two ", "three ", "four "):
        processes.clock.advance(LEASE)
        await _stalled(processes, Text(piece))
        await said_in(chat, piece)
    processes.clock.advance(LEASE)
    await processes.open(ScriptedModel(says("five.")))
    assert name_of(await ended(turn)) == "turn.completed"
    said = [message.content for message in await chat.messages()]
    assert said == ["Count", "one ", "two ", "three ", "four ", "five."]


@pytest.mark.parametrize("text", ["", "Let me think "])
async def test_a_turn_that_loses_three_owners_at_the_same_place_is_given_up(processes: Processes, text: str) -> None:
    steps = [Text(text)] if text else []
    _, chat, _ = await _stalled(processes, *steps)
    turn = await chat.send("Crash")
    await seen(chat, "text.delta" if text else "turn.started")
    for _ in range(3 if text else 2):
        processes.clock.advance(LEASE)
        victim, _, _ = await _stalled(processes, *steps)
        model = victim._runner.deps.models(None, victim.assistants["tester"])
        assert isinstance(model, ScriptedModel)
        await called(model)
        if text:
            await said_in(chat, text)
    processes.clock.advance(LEASE)
    last = await processes.open(ScriptedModel(says("Yes?")))
    end = await ended(turn)
    assert (name_of(end), "given up" in data_of(end)["detail"]) == ("turn.interrupted", True)
    assert name_of(await ended(await (await last.get(chat.id)).send("Hello?"))) == "turn.completed"


async def test_a_repeatable_tool_runs_again_with_the_same_call_id_and_any_other_does_not(processes: Processes) -> None:
    runs = Runs()
    tools = [runs.tool("look", repeatable=True, hangs=True), runs.tool("charge", repeatable=False, hangs=True)]
    calls = wants(("call_1", "look", {}), ("call_2", "charge", {}))
    chat = await processes.begin(ScriptedModel(calls), *tools)
    turn = await chat.send("Look and charge")
    await seen(chat, "tool.called")
    await until(lambda: len(runs.ran) == 2)
    processes.clock.advance(LEASE)
    model = ScriptedModel(says("I looked; I do not know about the charge."))
    again = Runs()
    tools = [again.tool("look", repeatable=True, hangs=False), again.tool("charge", repeatable=False, hangs=False)]
    await processes.open(model, *tools)
    assert name_of(await ended(turn)) == "turn.completed"
    assert again.ran == ["look call_1"]
    assert (runs.fences, again.fences) == ([1, 1], [2]), "whoever took it up has a higher number"
    results = {
        data_of(event)["tool_call_id"]: data_of(event) for event in await told(turn) if name_of(event) == "tool.result"
    }
    assert results["call_1"]["content"] == "look ran"
    assert results["call_2"]["error"] == "outcome unknown"
    check_everywhere(model.requests[0])
    assert "outcome unknown" in str(model.requests[0].messages)


async def test_a_call_with_unreadable_arguments_does_not_run_after_a_crash_either(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = Runs()
    broken: list[Step] = [CallPart(index=0, id="call_1", name="look", args="{nonsense"), Stopped("tool_calls")]
    conversations = await processes.open(ScriptedModel(broken), runs.tool("look", repeatable=True, hangs=False))
    append, stalled, goes_on = conversations._store.append, asyncio.Event(), asyncio.Event()

    async def append_no_result(scope: Scope, conversation: str, what: Append) -> Appended:
        if any(isinstance(body, Message) and body.role is Role.TOOL for body in what.bodies):
            stalled.set()
            await goes_on.wait()
        return await append(scope, conversation, what)

    monkeypatch.setattr(conversations._store, "append", append_no_result)
    chat = await new_conversation(conversations)
    turn = await chat.send("Look")
    await until(stalled.is_set)
    monkeypatch.setattr(conversations._store, "append", append)
    processes.clock.advance(LEASE)
    await processes.open(ScriptedModel(says("Sorry.")), runs.tool("look", repeatable=True, hangs=False))
    assert name_of(await ended(turn)) == "turn.completed"
    goes_on.set()
    assert runs.ran == []
    assert "not valid JSON" in data_of(await seen(chat, "tool.result"))["error"]


async def test_results_that_are_there_are_not_made_again(processes: Processes) -> None:
    runs = Runs()
    tools = [runs.tool("quick", repeatable=False, hangs=False), runs.tool("slow", repeatable=True, hangs=True)]
    calls = wants(("call_1", "quick", {}), ("call_2", "slow", {}))
    chat = await processes.begin(ScriptedModel(calls), *tools)
    turn = await chat.send("Both")
    await seen(chat, "tool.result")
    processes.clock.advance(LEASE)
    again = Runs()
    tools = [again.tool("quick", repeatable=False, hangs=False), again.tool("slow", repeatable=True, hangs=False)]
    await processes.open(ScriptedModel(says("Done.")), *tools)
    assert name_of(await ended(turn)) == "turn.completed"
    assert again.ran == ["slow call_2"]
    assert [content for role, content in contents(await chat.messages()) if role == "tool"] == ["quick ran", "slow ran"]


async def test_a_turn_that_was_settled_but_for_its_end_is_only_ended(processes: Processes) -> None:
    calls = wants(("call_1", "look", {}))
    runs = Runs()
    chat = await processes.begin(ScriptedModel(calls), runs.tool("look", repeatable=True, hangs=True))
    turn = await chat.send("Look")
    await seen(chat, "tool.called")
    processes.clock.advance(LEASE)
    failing = await processes.open(
        ScriptedModel([ModelUnavailable("down")] * 1), runs.tool("look", repeatable=True, hangs=False), pauses=()
    )
    assert name_of(await ended(turn)) == "turn.failed"
    assert await failing._runner.recover() == 0, "an end is an end"


async def test_queued_turns_of_a_dead_owner_are_answered_after_the_recovered_one(processes: Processes) -> None:
    _, chat, _ = await _stalled(processes, Text("one "))
    await chat.send("First")
    await said_in(chat, "one ")
    second = await chat.send("Second")
    processes.clock.advance(LEASE)
    await processes.open(ScriptedModel(says("First answer."), says("Second answer.")))
    assert name_of(await ended(second)) == "turn.completed"


async def _stranded(
    processes: Processes, *answers: Sequence[Step]
) -> tuple[Conversations, ConversationHandle, TurnHandle]:
    """Return a conversation whose owner died behind the end of its turn, before it started the next one."""
    gate = asyncio.Event()
    conversations = await processes.open(ScriptedModel([gate, *says("First answer.")], *answers))
    chat = await new_conversation(conversations)
    first, second = await chat.send("First"), await chat.send("Second")

    async def die(*_: object) -> None:
        raise asyncio.CancelledError

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conversations._store, "start", die)
        gate.set()
        await ended(first)
        (orphan,) = await conversations._store.turns(chat.scope, chat.id)
        assert orphan.state is TurnState.QUEUED
    return conversations, chat, second


@pytest.mark.server_may_fail
async def test_a_queue_that_nobody_started_is_started_by_recovery(processes: Processes) -> None:
    _, _, second = await _stranded(processes)
    await processes.open(ScriptedModel(says("Second answer.")))
    assert name_of(await ended(second)) == "turn.completed"


@pytest.mark.server_may_fail
async def test_a_queue_that_nobody_started_is_started_by_the_next_message(processes: Processes) -> None:
    _, chat, second = await _stranded(processes, says("Second answer."), says("Third answer."))
    third = await chat.send("Third")
    assert name_of(await ended(third)) == "turn.completed"
    assert name_of(await ended(second)) == "turn.completed"


@pytest.mark.parametrize("text", ["", "Half an "])
async def test_a_turn_whose_assistant_is_gone_fails_cleanly(
    processes: Processes, text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def nobody(conversation: Conversation) -> Assistant:
        raise InvalidValue("There is no assistant named tester.")

    _, chat, _ = await _stalled(processes, *([Text(text)] if text else []))
    turn = await chat.send("Hello")
    await (said_in(chat, text) if text else seen(chat, "turn.started"))
    other = await processes.open(ScriptedModel(), assistant_of=nobody)
    processes.clock.advance(LEASE)
    assert await other._runner.recover() == 0, "another process may know the assistant"
    processes.clock.advance(3600)
    assert await other._runner.recover() == 0, "a clock that jumped is no reason to hurry"
    monkeypatch.setattr(runner, "OTHERS_TIME", 0)
    assert await other._runner.recover() == 1
    end = await ended(turn)
    assert (name_of(end), failure_of(end)) == ("turn.failed", "invalid_value: There is no assistant named tester.")
    assert [message.content for message in await chat.messages()] == ["Hello", *([text] if text else [])]


@pytest.mark.server_may_fail
@pytest.mark.parametrize(
    ("fault", "code"),
    [(UnknownModel("There is no model gone:1."), "unknown_model"), (ImportError("no such package"), "internal_error")],
)
async def test_a_turn_whose_model_cannot_be_loaded_fails_cleanly(
    processes: Processes, fault: Exception, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    def none(name: str | None, assistant: Assistant) -> Model:
        raise fault

    conversations = await processes.open(ScriptedModel(), models=none)
    chat = await new_conversation(conversations, model="gone:1")
    end = await ended(await chat.send("Hello"))
    assert name_of(end) == "turn.failed"
    assert failure_of(end).startswith(f"{code}: ")
    assert await conversations._store.turns(chat.scope, chat.id) == ()


async def test_a_conversation_whose_assistant_is_gone_can_still_be_cancelled(processes: Processes) -> None:
    def nobody(conversation: Conversation) -> Assistant:
        raise InvalidValue("There is no assistant named tester.")

    @tool(needs_approval=True)
    async def pay() -> str:
        """Pay."""
        return "paid"

    chat = await processes.begin(ScriptedModel(wants(("call_1", "pay", {}))), pay)
    turn = await chat.send("Pay")
    await ended(turn)
    other = await processes.open(ScriptedModel(), assistant_of=nobody)
    await (await other.get(chat.id)).cancel()
    assert name_of(await ended(turn)) == "turn.cancelled"


class Faulty(Model):
    """A model with a fault of its own, before or after some text."""

    name = "faulty"
    is_scripted = True

    def __init__(self, fault: Callable[[], BaseException], *pieces: str) -> None:
        self._fault = fault
        self._pieces = pieces

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Fail."""
        if request.messages[-1].content.endswith("Hello again"):
            yield Text("I am back.")
            yield Stopped("stop")
            return
        for piece in self._pieces:
            yield Text(piece)
        raise self._fault()


@pytest.mark.server_may_fail
@pytest.mark.parametrize("pieces", [(), ("Some ", "text")])
@pytest.mark.parametrize("fault", [lambda: ZeroDivisionError("oops"), lambda: InvalidValue("oops \ud800")])
async def test_a_fault_in_a_model_ends_the_turn_as_failed_and_is_not_tried_for_ever(
    processes: Processes, fault: Callable[[], BaseException], pieces: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    chat = await processes.begin(Faulty(fault, *pieces))
    turn = await chat.send("Hello")
    assert name_of(await ended(turn)) == "turn.failed"
    assert [message.content for message in await chat.messages()] == ["Hello", *(["Some text"] if pieces else [])]
    assert name_of(await ended(await chat.send("Hello again"))) == "turn.completed"


@pytest.mark.server_may_fail
async def test_a_fault_in_building_a_context_ends_the_turn_as_failed(
    processes: Processes, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(plan: Plan) -> Context:
        raise LookupError("a builder's fault with a secret in it")

    chat = await processes.begin(ScriptedModel(), assistant=Assistant(name="broken", builder=broken))
    end = await ended(await chat.send("Hello"))
    assert name_of(end) == "turn.failed"
    assert failure_of(end).startswith("internal_error: ")
    assert "secret" not in failure_of(end)
    assert "a builder's fault" in caplog.text


async def test_a_fault_in_a_tool_is_told_to_the_model_and_the_turn_goes_on(processes: Processes) -> None:
    @tool
    async def broken() -> str:
        """Fail."""
        raise RuntimeError("the tool's fault")

    model = ScriptedModel(wants(("call_1", "broken", {})), says("It failed."))
    chat = await processes.begin(model, broken)
    events = await told(await chat.send("Try"))
    assert names(events)[-1] == "turn.completed"
    assert "the tool's fault" in model.requests[1].messages[-1].content


@pytest.mark.parametrize("stores_of_turns", ["memory"], indirect=True)
async def test_a_store_that_hangs_does_not_keep_the_process_from_stopping(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(active_turn, "STORE_PATIENCE", 0.05)
    conversations = await processes.open(ScriptedModel(says("Hello.")))
    stalled = asyncio.Event()

    async def hang(*_: object) -> None:
        stalled.set()
        await asyncio.Event().wait()

    monkeypatch.setattr(conversations._store, "append", hang)
    await (await new_conversation(conversations)).send("Hello")
    await until(stalled.is_set)
    async with asyncio.timeout(5):
        await conversations.close(patience=0.0)


async def test_turns_left_at_a_stop_are_taken_up_at_the_next_start(url: str) -> None:
    before, after = ScriptedModel([Text("Once upon "), asyncio.Event()]), ScriptedModel(says("a time."))
    conversations = await open_conversations(url, model=before, environment={})
    chat = await conversations.create(title="Stories")
    await chat.send("Tell me a story")
    await said_in(chat, "upon ")
    await conversations._runner.close(0.0)
    await conversations.close()
    async with await open_conversations(url, model=after, environment={}) as conversations:
        chat = await conversations.get(chat.id)
        await settled(conversations, chat)
        assert [message.content for message in await chat.messages()] == ["Tell me a story", "Once upon ", "a time."]
    after.assert_finished()
