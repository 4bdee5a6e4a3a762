"""Tools that a client runs: the turn waits without a lease, across restarts, and goes on with its result."""

import asyncio
import io
from typing import Any

import pytest

from tests.integration.serving import assert_problem, serving
from tests.roundtrips import exported
from tests.told import data_of, name_of
from tests.unit.turn.processes import Processes, contents, ended, new_conversation, seen
from threadkeep.conversation.entry import Approval
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.errors import InvalidValue, KeyReused, TurnNotFound
from threadkeep.runtime import open_store
from threadkeep.store.values import Append, Appended
from threadkeep.testing.providers import check_everywhere
from threadkeep.testing.scripted_model import ScriptedModel, says, wants
from threadkeep.tools.decorator import tool
from threadkeep.transfer.importer import Importer
from threadkeep.transfer.jsonl import JsonlReader
from threadkeep.turn_handle import TurnHandle
from threadkeep_client import connect

LOCATE = {
    "name": "locate",
    "description": "Where the person is.",
    "parameters": {"type": "object", "properties": {"exact": {"type": "boolean"}}},
}
LOCATES = wants(("call_1", "locate", {"exact": True}))


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount}"


async def located(processes: Processes, model: ScriptedModel) -> tuple[ConversationHandle, TurnHandle]:
    """Send a message with a tool, and return when its client must run it."""
    chat = await processes.begin(model, pay)
    turn = await chat.send("Where am I?", tools=[LOCATE])
    assert name_of(await ended(turn)) == "turn.waiting"
    return chat, turn


async def test_a_turn_waits_without_a_lease_and_goes_on_with_the_result(processes: Processes) -> None:
    model = ScriptedModel(LOCATES, says("In Oslo."), says("No tools now."))
    chat, turn = await located(processes, model)
    assert [spec.name for spec in model.requests[0].tools] == ["pay", "locate"]
    assert model.requests[0].tools[1].parameters == LOCATE["parameters"]
    (paused,) = await chat.turns()
    assert (paused.state, paused.owner, paused.until) == (TurnState.WAITING, None, None)
    assert [call.id for call in await chat.client_calls()] == ["call_1"]
    assert await chat.waiting_calls() == ()
    await chat.give_result("call_1", {"city": "Oslo"})
    assert name_of(await ended(turn)) == "turn.completed"
    assert contents(await chat.messages())[-2:] == [("tool", '{"city":"Oslo"}'), ("assistant", "In Oslo.")]
    check_everywhere(model.requests[1])
    await ended(await chat.send("And now?"))
    assert [spec.name for spec in model.requests[2].tools] == ["pay"], "definitions belong to one message"


async def test_another_process_takes_the_result_after_a_restart(processes: Processes) -> None:
    chat, turn = await located(processes, ScriptedModel(LOCATES))
    model = ScriptedModel(says("In Oslo."))
    other = (await processes.open(model, pay)).at(chat.scope, chat.id)
    processes.clock.advance(7 * 24 * 3600)
    await other.give_result("call_1", "Oslo")
    assert name_of(await ended(turn)) == "turn.completed"
    assert [spec.name for spec in model.requests[0].tools] == ["pay", "locate"]


async def test_who_dies_between_the_result_and_going_on_loses_nothing(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat, turn = await located(processes, ScriptedModel(LOCATES))
    append = chat._store.append

    async def append_and_die(scope: Scope, conversation: str, what: Append) -> Appended:
        await append(scope, conversation, what)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(chat._store, "append", append_and_die)
        with pytest.raises(KeyboardInterrupt):
            await chat.give_result("call_1", "Oslo")
    processes.clock.advance(60)
    await processes.open(ScriptedModel(says("In Oslo.")), pay)
    assert name_of(await ended(turn)) == "turn.completed"
    assert data_of(await seen(chat, "tool.result"))["content"] == "Oslo"


async def test_an_error_is_told_to_the_model_and_a_refusal_too(processes: Processes) -> None:
    model = ScriptedModel(wants(("1", "locate", {}), ("2", "locate", {})), says("I see."))
    chat, turn = await located(processes, model)
    await chat.give_result("1", error="no signal")
    await chat.approve("2", approved=False, reason="private")
    assert name_of(await ended(turn)) == "turn.completed"
    results = [message.content for message in model.requests[1].messages if message.tool_result]
    assert sorted(results)[0] == "no signal"
    assert "private" in sorted(results)[1]


async def test_the_same_result_counts_once_and_another_does_not(processes: Processes) -> None:
    chat, turn = await located(processes, ScriptedModel(wants(("1", "locate", {}), ("2", "locate", {})), says("Done.")))
    first = await chat.give_result("1", "Oslo", key="k")
    assert await chat.give_result("1", "Oslo", key="k") == first
    assert await chat.give_result("1", "Oslo") == first
    with pytest.raises(TurnNotFound):
        await chat.give_result("1", "Bergen")
    with pytest.raises(KeyReused):
        await chat.give_result("2", "Oslo", key="k")
    await asyncio.gather(*(chat.give_result("2", "Rome") for _ in range(4)))
    assert name_of(await ended(turn)) == "turn.completed"
    assert [content for role, content in contents(await chat.messages()) if role == "tool"] == ["Oslo", "Rome"]


async def test_a_person_decides_about_the_servers_tools_and_the_client_runs_its_own(processes: Processes) -> None:
    chat, turn = await located(
        processes, ScriptedModel(wants(("1", "locate", {}), ("2", "pay", {"amount": 3})), says("Done."))
    )
    waiting = data_of(await seen(chat, "turn.waiting"))
    assert (waiting["calls"], waiting["client_calls"]) == (["1", "2"], ["1"])
    assert waiting["detail"] == "A person must allow: pay. A client must run: locate"
    with pytest.raises(InvalidValue):
        await chat.give_result("2", "paid")
    with pytest.raises(InvalidValue):
        await chat.approve("1")
    await chat.approve("2")
    await chat.give_result("1", "Oslo")
    assert name_of(await ended(turn)) == "turn.completed"
    tools = [content for role, content in contents(await chat.messages()) if role == "tool"]
    assert sorted(tools) == ["Oslo", "paid 3"]


async def test_a_queued_message_and_one_that_is_answered_again_bring_their_tools(processes: Processes) -> None:
    model = ScriptedModel(LOCATES, says("Oslo."), LOCATES, says("Rome."), LOCATES, says("Bergen."))
    chat, first = await located(processes, model)
    queued = await chat.send("And now?", tools=[LOCATE])
    await chat.give_result("call_1", "Oslo")
    await ended(first)
    assert name_of(await ended(queued)) == "turn.waiting"
    await chat.give_result("call_1", "Rome")
    assert name_of(await ended(queued)) == "turn.completed"
    again = await chat.regenerate(tools=[LOCATE])
    assert name_of(await ended(again)) == "turn.waiting"
    await chat.give_result("call_1", "Bergen")
    assert name_of(await ended(again)) == "turn.completed"


async def test_a_turn_that_waits_goes_on_in_the_store_that_it_is_moved_to(processes: Processes) -> None:
    chat, _ = await located(processes, ScriptedModel(LOCATES))
    model = ScriptedModel(says("In Oslo."))
    store = await open_store("memory:", clock=processes.clock)
    importer = Importer(store, chat.scope, is_move=True)
    for item in JsonlReader(io.BytesIO(await exported(chat._store)), "file").read():
        await importer.add(item)
    await importer.finish()
    there = (await processes.open(model, pay, store=store)).at(chat.scope, chat.id)
    (turn,) = await there.turns()
    await there.give_result("call_1", "Oslo")
    assert name_of(await ended(there.turn(turn.number))) == "turn.completed"
    assert [spec.name for spec in model.requests[0].tools] == ["pay", "locate"]


async def test_a_turn_that_waits_can_be_cancelled(processes: Processes) -> None:
    chat, turn = await located(processes, ScriptedModel(LOCATES, says("Hello.")))
    await chat.cancel()
    assert name_of(await ended(turn)) == "turn.cancelled"
    with pytest.raises(TurnNotFound):
        await chat.give_result("call_1", "Oslo")
    await ended(await chat.send("Hello?"))


async def test_what_the_server_has_cannot_be_taken_over(processes: Processes) -> None:
    chat = await processes.begin(ScriptedModel(), pay)
    with pytest.raises(InvalidValue, match="a tool named pay"):
        await chat.send("Hi", tools=[{"name": "pay"}])
    assert (await chat.read()).entries == 0


async def test_another_conversation_takes_no_results(processes: Processes) -> None:
    await located(processes, ScriptedModel(LOCATES))
    other = await new_conversation(await processes.open(ScriptedModel(), pay))
    with pytest.raises(TurnNotFound):
        await other.give_result("call_1", "Oslo")


@pytest.mark.parametrize("way", ["here", "over HTTP"])
async def test_a_client_runs_its_tool_here_and_over_http(way: str) -> None:
    model = ScriptedModel(LOCATES, says("In Oslo."))
    async with serving(model=model) as server, connect(server.url) as remote:
        conversations: Any = server.conversations if way == "here" else remote
        conversation = await conversations.create()
        turn = await conversation.send("Where am I?", tools=[LOCATE])
        assert (await turn.outcome()).end.client_calls == ("call_1",)
        assert await conversation.waiting_calls() == ()
        (call,) = await conversation.client_calls()
        assert (call.name, call.args) == ("locate", {"exact": True})
        path = f"/v1/conversations/{conversation.id}"
        for wrong in ({}, {"result": 1, "error": "no"}, {"result": "x", "approved": True}):
            body = {"tool_call_id": "call_1", **wrong}
            assert_problem(await server.client.post(f"{path}/result", json=body), 422, "invalid_request")
        body = {"tool_call_id": "call_2", "result": 1}
        assert_problem(await server.client.post(f"{path}/result", json=body), 404, "turn_not_found")
        body = {"content": "Hi", "tools": [{"name": "a b"}]}
        assert_problem(await server.client.post(f"{path}/messages", json=body), 422, "invalid_request")
        await conversation.give_result(call.id, ["Oslo", None], key="once")
        await conversation.give_result(call.id, ["Oslo", None], key="once")
        assert (await turn.outcome()).message.content == "In Oslo."
        assert (await conversation.messages())[2].content == '["Oslo",null]'


async def test_a_repeated_result_goes_on_with_a_turn_whose_last_result_was_stored_by_a_process_that_died(
    processes: Processes,
) -> None:
    chat, turn = await located(processes, ScriptedModel(wants(("1", "locate", {}), ("2", "locate", {})), says("Done.")))
    answers = [Approval(tool_call_id=id, approved=True, result="Oslo") for id in ("1", "2")]
    await chat._store.append(chat.scope, chat.id, Append(bodies=tuple(answers)))
    await chat.give_result("2", "Oslo")
    assert name_of(await ended(turn)) == "turn.completed"
