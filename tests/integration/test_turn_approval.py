"""Pauses for a person: a turn waits without a lease, across restarts, and goes on when the answer arrives."""

import asyncio
from contextlib import aclosing
from typing import NamedTuple

import pytest

from tests.told import data_of, name_of
from tests.unit.turn.processes import PATIENCE, Processes, contents, ended, entries_of, new_conversation, seen, told
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import KeyReused, TurnNotFound
from threadkeep.runtime import open_conversations
from threadkeep.store.values import Append, Appended
from threadkeep.testing.providers import check_everywhere
from threadkeep.testing.scripted_model import ScriptedModel, Step, says, wants
from threadkeep.tools.base import ToolContext
from threadkeep.tools.decorator import FunctionTool, tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant
from threadkeep.turn_handle import TurnHandle


class Till:
    """Remembers what was paid, and which call paid it."""

    def __init__(self) -> None:
        self.paid: list[tuple[str, int]] = []

    @property
    def pay(self) -> FunctionTool:
        """A tool that a person must allow."""

        @tool(needs_approval=True)
        async def pay(amount: int, context: ToolContext) -> str:
            """Pay an amount."""
            self.paid.append((context.call_id, amount))
            return f"paid {amount}"

        return pay


@tool(repeatable=True)
async def look() -> str:
    """Look at the account."""
    return "100 left"


async def until_waiting(chat: ConversationHandle) -> None:
    """Wait until the newest turn waits for a person again."""
    async with asyncio.timeout(PATIENCE), aclosing(chat.follow(Cursor())) as events:
        async for event in events:
            if name_of(event) == "turn.waiting" and await chat.waiting_calls():
                return


PAYS = wants(("call_1", "pay", {"amount": 5}))
PAYS_TWICE = wants(("call_1", "pay", {"amount": 1}), ("call_2", "pay", {"amount": 2}))
LOOKS_AND_PAYS = wants(("call_1", "look", {}), ("call_2", "pay", {"amount": 7}))


class Paying(NamedTuple):
    """A conversation whose turn waits for a person."""

    till: Till
    model: ScriptedModel
    conversations: Conversations
    chat: ConversationHandle
    turn: TurnHandle


async def waiting(processes: Processes, *answers: list[Step]) -> Paying:
    """Ask for a payment, and return when a person must decide about it."""
    till, model = Till(), ScriptedModel(*answers)
    conversations = await processes.open(model, till.pay, look)
    chat = await new_conversation(conversations)
    turn = await chat.send("Pay")
    assert name_of(await ended(turn)) == "turn.waiting"
    return Paying(till, model, conversations, chat, turn)


async def test_a_turn_waits_without_a_lease_and_goes_on_when_a_person_allows_it(processes: Processes) -> None:
    till, model, conversations, chat, turn = await waiting(processes, PAYS, says("Paid."))
    (paused,) = await conversations._store.turns(chat.scope, chat.id)
    assert (paused.state, paused.owner, paused.until) == (TurnState.WAITING, None, None)
    processes.clock.advance(7 * 24 * 3600)
    assert await conversations._runner.recover() == 0, "a turn that waits is nobody's to recover"
    assert till.paid == []
    await chat.approve("call_1")
    assert name_of(await ended(turn)) == "turn.completed"
    assert till.paid == [("call_1", 5)]
    assert contents(await chat.messages())[-2:] == [("tool", "paid 5"), ("assistant", "Paid.")]
    check_everywhere(model.requests[1])


async def test_a_refusal_and_its_reason_are_told_to_the_model(processes: Processes) -> None:
    till, model, _, chat, turn = await waiting(processes, PAYS, says("As you wish."))
    await chat.approve("call_1", approved=False, reason="too much")
    assert name_of(await ended(turn)) == "turn.completed"
    assert till.paid == []
    result = model.requests[1].messages[-1]
    assert "refused" in result.content
    assert "too much" in result.content
    decided = data_of(await seen(chat, "call.decided"))
    assert (decided["tool_call_id"], decided["approved"], decided["reason"]) == ("call_1", False, "too much")


async def test_of_two_calls_only_one_needs_a_person_and_both_wait(processes: Processes) -> None:
    till, _, _, chat, turn = await waiting(processes, LOOKS_AND_PAYS, says("Done."))
    assert data_of(await ended(turn))["calls"] == ["call_2"]
    with pytest.raises(TurnNotFound):
        await chat.approve("call_1")
    await chat.approve("call_2")
    assert name_of(await ended(turn)) == "turn.completed"
    assert till.paid == [("call_2", 7)]
    assert sorted(content for role, content in contents(await chat.messages()) if role == "tool") == [
        "100 left",
        "paid 7",
    ]


async def test_two_calls_that_need_a_person_are_decided_one_by_one(processes: Processes) -> None:
    till, _, _, chat, turn = await waiting(processes, PAYS_TWICE, says("Done."))
    await chat.approve("call_2", approved=False)
    assert await chat.waiting_calls()
    await chat.approve("call_1")
    await ended(turn)
    assert till.paid == [("call_1", 1)]


async def test_two_people_who_decide_two_calls_at_once_both_count(processes: Processes) -> None:
    till, _, _, chat, turn = await waiting(processes, PAYS_TWICE, says("Done."))
    await asyncio.gather(chat.approve("call_1"), chat.approve("call_2"))
    assert name_of(await ended(turn)) == "turn.completed"
    assert sorted(till.paid) == [("call_1", 1), ("call_2", 2)]


async def test_the_same_answer_given_twice_is_one_answer(processes: Processes) -> None:
    till, _, _, chat, turn = await waiting(processes, PAYS, says("Paid."))
    one = await chat.approve("call_1")
    await ended(turn)
    two = await chat.approve("call_1")
    assert one == two
    with pytest.raises(TurnNotFound):
        await chat.approve("call_1", approved=False)
    assert till.paid == [("call_1", 5)]


async def test_a_key_that_answered_one_call_cannot_answer_another(processes: Processes) -> None:
    till, _, _, chat, turn = await waiting(processes, PAYS_TWICE, says("Done."))
    await chat.approve("call_1", key="one")
    await chat.approve("call_1", key="one")
    with pytest.raises(KeyReused):
        await chat.approve("call_2", key="one")
    await until_waiting(chat)
    await chat.approve("call_2", key="two")
    await ended(turn)
    assert sorted(till.paid) == [("call_1", 1), ("call_2", 2)]


async def test_an_id_that_a_provider_uses_again_needs_an_answer_of_its_own(processes: Processes) -> None:
    till = Till()
    chat = await processes.begin(ScriptedModel(PAYS, says("Paid."), PAYS, says("Paid again.")), till.pay)
    for question in ("Pay five", "Pay five more"):
        turn = await chat.send(question)
        assert name_of(await ended(turn)) == "turn.waiting"
        await chat.approve("call_1")
        assert name_of(await ended(turn)) == "turn.completed"
    assert till.paid == [("call_1", 5)] * 2


async def test_nobody_can_decide_about_a_call_that_does_not_wait(processes: Processes) -> None:
    chat = await processes.begin(ScriptedModel(PAYS), Till().pay)
    with pytest.raises(TurnNotFound):
        await chat.approve("call_1")
    await ended(await chat.send("Pay five"))
    with pytest.raises(TurnNotFound):
        await chat.approve("call_9")


async def test_cancelling_a_turn_that_waits_counts_as_a_refusal(processes: Processes) -> None:
    till, model, _, chat, turn = await waiting(processes, LOOKS_AND_PAYS, says("What else?"))
    await chat.cancel()
    events = await told(turn)
    assert name_of(events[-1]) == "turn.cancelled"
    assert [data_of(event)["error"] for event in events if name_of(event) == "tool.result"] == ["refused", "refused"]
    await ended(await chat.send("Hello?"))
    check_everywhere(model.requests[1])
    assert till.paid == []


async def test_who_dies_between_the_answer_and_going_on_leaves_a_turn_that_is_recovered(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    till, _, conversations, chat, turn = await waiting(processes, PAYS)
    append = conversations._store.append

    async def append_and_die(scope: Scope, conversation: str, what: Append) -> Appended:
        await append(scope, conversation, what)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(conversations._store, "append", append_and_die)
        with pytest.raises(KeyboardInterrupt):
            await chat.approve("call_1")
    processes.clock.advance(60)
    await processes.open(ScriptedModel(says("I cannot tell whether it was paid.")), till.pay)
    assert name_of(await ended(turn)) == "turn.completed"
    assert till.paid == []
    assert data_of(await seen(chat, "tool.result"))["error"] == "outcome unknown"


async def test_who_dies_before_the_answer_is_stored_leaves_a_turn_that_waits_again(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    till, _, conversations, chat, turn = await waiting(processes, PAYS)

    async def die(scope: Scope, conversation: str, what: Append) -> Appended:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(conversations._store, "append", die)
        with pytest.raises(KeyboardInterrupt):
            await chat.approve("call_1")
    processes.clock.advance(60)
    other = await processes.open(ScriptedModel(says("Paid.")), till.pay)
    assert name_of(await ended(turn)) == "turn.waiting"
    await (await other.get(chat.id)).approve("call_1")
    assert name_of(await ended(turn)) == "turn.completed"
    assert till.paid == [("call_1", 5)]


async def test_a_tool_that_changed_after_the_question_does_not_run_and_is_asked_about_anew(
    processes: Processes,
) -> None:
    till, _, _, chat, _ = await waiting(processes, PAYS)

    @tool(needs_approval=True)
    async def pay(amount: int, to: str = "somebody else") -> str:
        """Pay an amount to whom it may concern."""
        till.paid.append((to, amount))
        return "paid"

    model = ScriptedModel(wants(("call_2", "pay", {"amount": 5})), says("As you wish."))
    other = await (await processes.open(model, pay)).get(chat.id)
    await other.approve("call_1")
    await until_waiting(other)
    assert [call.id for call in await other.waiting_calls()] == ["call_2"]
    assert till.paid == []
    assert "the tool was changed" in model.requests[0].messages[-1].content
    await other.approve("call_2")
    await seen(other, "turn.completed")
    assert till.paid == [("somebody else", 5)]


async def test_a_turn_may_wait_again_and_its_reader_is_told_up_to_the_last_wait(processes: Processes) -> None:
    pays_more = wants(("call_2", "pay", {"amount": 6}))
    till, _, _, chat, turn = await waiting(processes, PAYS, pays_more, says("Paid."))
    await chat.approve("call_1")
    await seen(chat, "tool.called", lambda event: data_of(event)["id"] == "call_2")
    assert [name_of(event) for event in await told(turn)].count("turn.waiting") == 2
    await chat.approve("call_2")
    assert name_of(await ended(turn)) == "turn.completed"
    assert till.paid == [("call_1", 5), ("call_2", 6)]


async def test_the_turn_tells_every_change_of_hands_in_its_log(processes: Processes) -> None:
    _, _, conversations, chat, turn = await waiting(processes, PAYS, says("Paid."))
    await chat.approve("call_1")
    await ended(turn)
    states = [e.body.state for e in await entries_of(chat, conversations._store) if isinstance(e.body, TurnChange)]
    assert states == [TurnState.RUNNING, TurnState.WAITING, TurnState.RUNNING, TurnState.COMPLETED]


async def _opened(url: str, model: ScriptedModel, till: Till) -> Conversations:
    assistant = Assistant(name="cashier", tools=Registry([till.pay]))
    return await open_conversations(url, [assistant], model=model, environment={})


async def test_a_turn_waits_across_a_restart(url: str) -> None:
    before, after = ScriptedModel(PAYS), ScriptedModel(says("Paid."))
    async with await _opened(url, before, Till()) as conversations:
        chat = await conversations.create(title="Bills")
        await ended(await chat.send("Pay five"))
    till = Till()
    async with await _opened(url, after, till) as conversations:
        chat = await conversations.get(chat.id)
        assert await chat.waiting_calls()
        await chat.approve("call_1")
        await seen(chat, "turn.completed")
    assert till.paid == [("call_1", 5)]
    before.assert_finished()
    after.assert_finished()
