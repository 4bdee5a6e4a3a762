"""Cancelling: within a second, wherever the turn is; what was said is kept and marked."""

import asyncio
import time

import pytest

from tests.told import name_of
from tests.unit.turn.processes import (
    Processes,
    Silent,
    called,
    contents,
    ended,
    hung_up,
    names,
    new_conversation,
    said_in,
    seen,
    told,
    until,
)
from threadkeep.conversation.message import MessageStatus
from threadkeep.conversation.scope import Scope
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.errors import ConversationNotFound, ModelUnavailable, TurnNotFound
from threadkeep.llm.base import Stopped, Text
from threadkeep.testing.providers import check_everywhere
from threadkeep.testing.scripted_model import ScriptedModel, says, wants
from threadkeep.tools.decorator import tool


async def _cancel_at_once(chat: ConversationHandle) -> None:
    """Cancel, and expect it to take less than a second."""
    started = time.monotonic()
    await chat.cancel()
    assert time.monotonic() - started < 1


async def test_cancelling_in_the_middle_of_text_keeps_it_marked_and_stops_the_model(processes: Processes) -> None:
    model = ScriptedModel([Text("It was a dark "), asyncio.Event()], says("All right."))
    conversations = await processes.open(model)
    chat = await new_conversation(conversations)
    turn = await chat.send("Tell me a story")
    await said_in(chat, "dark ")
    await _cancel_at_once(chat)
    assert names(await told(turn))[-2:] == ["message.completed", "turn.cancelled"]
    _, partial = await chat.messages()
    assert (partial.content, partial.status) == ("It was a dark ", MessageStatus.INTERRUPTED)
    assert model.closed == [True]
    assert await conversations._store.turns(chat.scope, chat.id) == ()

    await ended(await chat.send("Something else, please"))
    request = model.requests[1]
    check_everywhere(request)
    assert request.messages[-2].content.startswith("It was a dark")
    assert "cut off" in request.messages[-2].content, "the model is not told that it was cut"


async def test_cancelling_before_the_first_token_leaves_no_empty_answer(processes: Processes) -> None:
    model = ScriptedModel([asyncio.Event()], says("Hello again."))
    chat = await processes.begin(model)
    turn = await chat.send("Hello")
    await called(model)
    await _cancel_at_once(chat)
    assert name_of(await ended(turn)) == "turn.cancelled"
    assert contents(await chat.messages()) == [("user", "Hello")]
    await ended(await chat.send("Hello?"))
    check_everywhere(model.requests[1])


async def test_a_turn_can_be_cancelled_before_it_has_begun_to_do_anything(processes: Processes) -> None:
    conversations = await processes.open(Silent())
    chat = await new_conversation(conversations)
    turn = await chat.send("Hello")
    await _cancel_at_once(chat)
    assert name_of(await ended(turn)) == "turn.cancelled"
    assert await conversations._store.turns(chat.scope, chat.id) == ()


async def test_cancelling_in_the_middle_of_a_tool_stops_the_tool(processes: Processes) -> None:
    started, stopped = asyncio.Event(), asyncio.Event()

    @tool
    async def dig(deep: bool) -> str:
        """Dig for a long time."""
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            stopped.set()
        return "nothing"

    model = ScriptedModel(wants(("call_1", "dig", {"deep": True})), says("I stopped digging."))
    chat = await processes.begin(model, dig)
    turn = await chat.send("Dig")
    await until(started.is_set)
    await _cancel_at_once(chat)
    assert stopped.is_set()
    assert name_of(await ended(turn)) == "turn.cancelled"
    await ended(await chat.send("What did you find?"))
    check_everywhere(model.requests[1])
    assert "outcome unknown" in str(model.requests[1].messages)


async def test_a_result_that_was_there_before_the_cancel_is_kept(processes: Processes) -> None:
    @tool
    async def quick() -> str:
        """Answer at once."""
        return "done"

    @tool
    async def slow() -> str:
        """Never answer."""
        await asyncio.Event().wait()
        return "never"

    model = ScriptedModel(wants(("call_1", "quick", {}), ("call_2", "slow", {})), says("One of two."))
    chat = await processes.begin(model, quick, slow)
    await chat.send("Do both")
    await seen(chat, "tool.result")
    await _cancel_at_once(chat)
    assert contents(await chat.messages())[-1] == ("tool", "done")
    await ended(await chat.send("And?"))
    check_everywhere(model.requests[1])


async def test_cancelling_in_the_pause_before_another_attempt_ends_the_pause(processes: Processes) -> None:
    model = ScriptedModel([ModelUnavailable("down")])
    chat = await processes.begin(model, pauses=(3600.0,))
    turn = await chat.send("Hello")
    await hung_up(model)
    await _cancel_at_once(chat)
    assert name_of(await ended(turn)) == "turn.cancelled"


async def test_cancelling_in_the_pause_after_half_an_answer_keeps_the_half(processes: Processes) -> None:
    model = ScriptedModel([Text("Half "), ModelUnavailable("down")])
    chat = await processes.begin(model, pauses=(3600.0,))
    turn = await chat.send("Hello")
    await said_in(chat, "Half ")
    await hung_up(model)
    await _cancel_at_once(chat)
    assert name_of(await ended(turn)) == "turn.cancelled"
    assert (await chat.messages())[-1].status is MessageStatus.INTERRUPTED


async def test_a_turn_of_another_process_can_be_cancelled_and_its_model_call_ends(processes: Processes) -> None:
    gate = asyncio.Event()
    model = ScriptedModel([Text("Here "), gate, Text("and there"), Stopped("stop")])
    conversations = await processes.open(model)
    other = await processes.open(ScriptedModel())
    chat = await new_conversation(conversations)
    turn = await chat.send("Where?")
    await said_in(chat, "Here ")
    elsewhere = await other.get(chat.id)
    await _cancel_at_once(elsewhere)
    assert (await chat.messages())[-1].status is MessageStatus.INTERRUPTED
    gate.set()
    assert name_of(await ended(turn)) == "turn.cancelled"
    await hung_up(model)
    assert contents(await chat.messages())[-1] == ("assistant", "Here "), "a zombie has written"


async def test_there_is_nothing_to_cancel_in_a_conversation_at_rest(processes: Processes) -> None:
    chat = await processes.begin(ScriptedModel(says("Hello.")))
    with pytest.raises(TurnNotFound):
        await chat.cancel()
    await ended(await chat.send("Hello"))
    with pytest.raises(TurnNotFound):
        await chat.cancel()


async def test_nobody_else_can_cancel_a_turn(processes: Processes) -> None:
    model = ScriptedModel([Text("Mine "), asyncio.Event()])
    conversations = await processes.open(model)
    chat = await new_conversation(conversations)
    await chat.send("Hello")
    await said_in(chat, "Mine ")
    for scope in (Scope(tenant="local", user="eve"), Scope(tenant="eve", user="local")):
        with pytest.raises(ConversationNotFound):
            await conversations.at(scope, chat.id).cancel()
    assert model.closed == []


async def test_a_turn_cancelled_by_two_people_at_once_is_cancelled(processes: Processes) -> None:
    chat = await processes.begin(ScriptedModel([Text("So "), asyncio.Event()]))
    turn = await chat.send("Hello")
    await said_in(chat, "So ")
    outcomes = await asyncio.gather(chat.cancel(), chat.cancel(), return_exceptions=True)
    assert all(outcome == turn.number or isinstance(outcome, TurnNotFound) for outcome in outcomes)
    assert name_of(await ended(turn)) == "turn.cancelled"
