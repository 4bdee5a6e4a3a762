"""A second message while a turn runs, the same message sent twice, and branches."""

import asyncio
from collections.abc import Sequence

import pytest

from tests.told import data_of, name_of
from tests.unit.turn.processes import Processes, contents, ended, new_conversation, said_in, seen, settled, told
from threadkeep.conversation.message import MessageStatus
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import ConversationBusy, InvalidParent, InvalidValue, KeyReused, StaleHead
from threadkeep.llm.base import Stopped, Text
from threadkeep.store.base import ROOT
from threadkeep.store.values import Begin, Begun
from threadkeep.testing.providers import check_everywhere
from threadkeep.testing.scripted_model import ScriptedModel, Step, says, wants
from threadkeep.tools.decorator import tool


@tool(needs_approval=True)
async def pay(amount: int) -> str:
    """Pay an amount."""
    raise AssertionError(f"{amount} was paid")


async def _busy(
    processes: Processes, *answers: Sequence[Step], gate: asyncio.Event
) -> tuple[Conversations, ConversationHandle, ScriptedModel]:
    """Return a conversation whose first answer stands at "Let me " until the gate is open."""
    model = ScriptedModel([Text("Let me "), gate, Text("think."), Stopped("stop")], *answers)
    conversations = await processes.open(model, pay)
    chat = await new_conversation(conversations)
    await chat.send("First")
    await said_in(chat, "Let me ")
    return conversations, chat, model


async def test_by_default_a_second_message_is_queued_and_answered_after_the_first(processes: Processes) -> None:
    gate = asyncio.Event()
    conversations, chat, model = await _busy(processes, says("Second answer."), gate=gate)
    turn = await chat.send("Second")
    states = [one.state for one in await conversations._store.turns(chat.scope, chat.id)]
    assert states == [TurnState.RUNNING, TurnState.QUEUED]
    assert contents(await chat.messages()) == [("user", "First")], "it is no part of the branch yet"
    gate.set()
    assert name_of(await ended(turn)) == "turn.completed"
    assert contents(await chat.messages()) == [
        ("user", "First"),
        ("assistant", "Let me think."),
        ("user", "Second"),
        ("assistant", "Second answer."),
    ]
    assert model.requests[1].messages[-1].content == "Second"


async def test_queued_messages_are_answered_in_the_order_in_which_they_were_accepted(processes: Processes) -> None:
    gate = asyncio.Event()
    _, chat, _ = await _busy(processes, *(says(str(number)) for number in range(5)), gate=gate)
    turns = [await chat.send(f"Question {number}") for number in range(5)]
    gate.set()
    await ended(turns[-1])
    said = contents(await chat.messages(limit=20))[2:]
    assert said == [
        pair for number in range(5) for pair in (("user", f"Question {number}"), ("assistant", f"{number}"))
    ]


async def test_reject_refuses_and_stores_nothing(processes: Processes) -> None:
    gate = asyncio.Event()
    _, chat, _ = await _busy(processes, gate=gate)
    before = (await chat.read()).entries
    with pytest.raises(ConversationBusy):
        await chat.send("Second", policy="reject")
    assert (await chat.read()).entries == before
    gate.set()
    await seen(chat, "turn.completed")


async def test_interrupt_keeps_what_was_said_marked_and_answers_the_new_message(processes: Processes) -> None:
    _, chat, model = await _busy(processes, says("Second answer."), gate=asyncio.Event())
    turn = await chat.send("Second", policy="interrupt")
    await ended(turn)
    _, partial, second, answer = await chat.messages()
    assert (partial.content, partial.status) == ("Let me ", MessageStatus.INTERRUPTED)
    assert (second.content, answer.content) == ("Second", "Second answer.")
    assert "cut off" in model.requests[1].messages[2].content
    assert model.closed[0], "the first call of the model was not stopped"
    check_everywhere(model.requests[1])
    await seen(chat, "turn.interrupted")


async def test_rollback_leaves_the_branch_and_begins_where_the_first_message_began(processes: Processes) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(says("Hello."), [Text("Let me "), gate], says("Better."))
    chat = await processes.begin(model)
    await ended(await chat.send("Hello"))
    await chat.send("Bad question")
    await said_in(chat, "Let me ")
    turn = await chat.send("Good question", policy="rollback")
    await ended(turn)
    assert contents(await chat.messages()) == [
        ("user", "Hello"),
        ("assistant", "Hello."),
        ("user", "Good question"),
        ("assistant", "Better."),
    ]
    left = [branch for branch in (await chat.snapshot()).tree.branches() if not branch.is_current]
    assert [contents(await chat.messages(head=branch.head))[-1] for branch in left] == [("assistant", "Let me ")]
    assert [message.content for message in model.requests[2].messages][1:] == ["Hello", "Hello.", "Good question"]


async def test_rollback_of_the_very_first_message_begins_at_the_root(processes: Processes) -> None:
    _, chat, _ = await _busy(processes, says("Better."), gate=asyncio.Event())
    await ended(await chat.send("Other", policy="rollback"))
    assert contents(await chat.messages()) == [("user", "Other"), ("assistant", "Better.")]


@pytest.mark.parametrize("policy", ["interrupt", "rollback"])
async def test_turns_that_were_queued_before_survive(processes: Processes, policy: str) -> None:
    _, chat, _ = await _busy(processes, says("Second answer."), says("Third answer."), gate=asyncio.Event())
    second = await chat.send("Second")
    third = await chat.send("Third", policy=policy)
    assert name_of(await ended(second)) == "turn.completed"
    assert name_of(await ended(third)) == "turn.completed"


@pytest.mark.server_may_fail
async def test_queued_turns_survive_a_cancel_and_a_failure_of_the_running_one(processes: Processes) -> None:
    _, chat, _ = await _busy(processes, [RuntimeError("a fault")], says("Third answer."), gate=asyncio.Event())
    second, third = await chat.send("Second"), await chat.send("Third")
    await chat.cancel()
    assert name_of(await ended(second)) == "turn.failed"
    assert name_of(await ended(third)) == "turn.completed"


@pytest.mark.parametrize("policy", ["interrupt", "rollback"])
async def test_a_turn_that_waits_for_a_person_gives_way_too(processes: Processes, policy: str) -> None:
    model = ScriptedModel(wants(("call_1", "pay", {"amount": 5})), says("Never mind."))
    chat = await processes.begin(model, pay)
    assert name_of(await ended(await chat.send("Pay five"))) == "turn.waiting"
    turn = await chat.send("Forget it", policy=policy)
    assert name_of(await ended(turn)) == "turn.completed"
    refused = await seen(chat, "tool.result")
    assert data_of(refused)["error"] == "refused"
    check_everywhere(model.requests[1])
    await seen(chat, "turn.interrupted")


async def test_a_message_waits_behind_a_turn_that_waits(processes: Processes) -> None:
    model = ScriptedModel(wants(("call_1", "pay", {"amount": 5})), says("Not paid."), says("Later."))
    chat = await processes.begin(model, pay)
    await ended(await chat.send("Pay five"))
    later = await chat.send("And what time is it?")
    with pytest.raises(ConversationBusy):
        await chat.send("Now!", policy="reject")
    await chat.approve("call_1", approved=False)
    assert name_of(await ended(later)) == "turn.completed"
    assert [message.content for message in await chat.messages()][-3:] == [
        "Not paid.",
        "And what time is it?",
        "Later.",
    ]


async def test_interrupting_a_turn_that_ends_by_itself_meanwhile_is_simply_a_new_message(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    gate = asyncio.Event()
    conversations, chat, _ = await _busy(processes, says("Two."), gate=gate)
    begin = conversations._store.begin

    async def begin_as_it_ends(scope: Scope, conversation: str, what: Begin) -> Begun:
        begun = await begin(scope, conversation, what)
        gate.set()
        await seen(chat, "turn.completed")
        return begun

    monkeypatch.setattr(conversations._store, "begin", begin_as_it_ends)
    two = await chat.send("Two", policy="interrupt")
    assert name_of(await ended(two)) == "turn.completed"
    assert [message.content for message in await chat.messages()] == ["First", "Let me think.", "Two", "Two."]


async def test_an_unknown_policy_is_refused(processes: Processes) -> None:
    chat = await new_conversation(await processes.open(ScriptedModel()))
    with pytest.raises(InvalidValue, match="policy"):
        await chat.send("Hello", policy="shout")


async def test_the_same_key_attaches_to_the_running_turn_and_later_replays_it(processes: Processes) -> None:
    gate = asyncio.Event()
    chat = await processes.begin(ScriptedModel([Text("On"), gate, Text("ce."), Stopped("stop")]))
    one = await chat.send("Only once", key="k")
    await said_in(chat, "On")
    two = await chat.send("Only once", key="k")
    assert (two.number, two.replayed) == (one.number, True)
    reader = asyncio.create_task(told(two))
    gate.set()
    assert name_of((await reader)[-1]) == "turn.completed"
    again = await chat.send("Only once", key="k")
    answer = await again.answer()
    assert answer is not None
    assert (answer.content, again.number) == ("Once.", one.number)
    assert len(await chat.messages()) == 2


async def test_the_same_key_with_another_message_is_refused(processes: Processes) -> None:
    chat = await processes.begin(ScriptedModel(says("Hello.")))
    await ended(await chat.send("Hello", key="k"))
    with pytest.raises(KeyReused):
        await chat.send("Bye", key="k")


@pytest.mark.parametrize("policy", ["queue", "interrupt", "rollback", "reject"])
async def test_twenty_concurrent_sends_with_one_key_make_one_turn(processes: Processes, policy: str) -> None:
    chat = await processes.begin(ScriptedModel(says("Once.")))
    turns = await asyncio.gather(*(chat.send("Only once", key="k", policy=policy) for _ in range(20)))
    assert len({turn.number for turn in turns}) == 1
    assert sum(not turn.replayed for turn in turns) == 1
    await asyncio.gather(*(ended(turn) for turn in turns))
    assert contents(await chat.messages()) == [("user", "Only once"), ("assistant", "Once.")]


async def test_a_send_that_expects_an_old_head_is_told_the_new_one_and_stores_nothing(processes: Processes) -> None:
    chat = await processes.begin(ScriptedModel(says("One."), says("Two.")))
    await ended(await chat.send("One"))
    old = (await chat.read()).head
    await ended(await chat.send("Two", expected_head=old))
    before = await chat.read()
    with pytest.raises(StaleHead) as refused:
        await chat.send("Three", expected_head=old)
    assert refused.value.head == before.head
    assert (await chat.read()).entries == before.entries


async def test_editing_a_message_makes_a_branch_beside_it(processes: Processes) -> None:
    model = ScriptedModel(says("Hello."), says("Berlin."), says("Paris."))
    chat = await processes.begin(model)
    await ended(await chat.send("Hello"))
    old = await chat.send("Capital of Germany?", parent=None)
    await ended(old)
    edited = await chat.send("Capital of France?", parent=old.entries[0].parent)
    await ended(edited)
    assert [message.content for message in await chat.messages()] == ["Hello", "Hello.", "Capital of France?", "Paris."]
    siblings = (await chat.snapshot()).tree.siblings(edited.entries[0].seq, edited.entries[0].parent or 0)
    assert siblings == (old.entries[0].seq, edited.entries[0].seq)
    assert [message.content for message in model.requests[2].messages][-1] == "Capital of France?"
    assert "Berlin." not in str(model.requests[2].messages)


async def test_editing_the_first_message_begins_a_branch_at_the_root(processes: Processes) -> None:
    chat = await processes.begin(ScriptedModel(says("One."), says("Two.")))
    await ended(await chat.send("First"))
    await ended(await chat.send("Instead", parent=ROOT))
    assert contents(await chat.messages()) == [("user", "Instead"), ("assistant", "Two.")]
    assert len((await chat.snapshot()).tree.branches()) == 2


async def test_regenerating_makes_another_answer_beside_the_old_one(processes: Processes) -> None:
    model = ScriptedModel(says("One."), says("Another."), says("Once more."))
    chat = await processes.begin(model)
    await ended(await chat.send("Question"))
    old = (await chat.read()).head
    await ended(await chat.regenerate())
    assert contents(await chat.messages()) == [("user", "Question"), ("assistant", "Another.")]
    await ended(await chat.regenerate(old))
    tree = (await chat.snapshot()).tree
    assert [contents(await chat.messages(head=branch.head)) for branch in tree.branches()] == [
        [("user", "Question"), ("assistant", answer)] for answer in ("One.", "Another.", "Once more.")
    ]
    assert [request.messages for request in model.requests] == [model.requests[0].messages] * 3


async def test_regenerating_twice_with_one_key_makes_one_answer(processes: Processes) -> None:
    chat = await processes.begin(ScriptedModel(says("One."), says("Another.")))
    await ended(await chat.send("Question"))
    first = await chat.regenerate(key="again")
    await ended(first)
    second = await chat.regenerate(key="again")
    assert (second.number, second.replayed) == (first.number, True)
    with pytest.raises(KeyReused):
        await chat.regenerate(1, key="again")


async def test_regenerating_while_a_turn_runs_waits_for_it(processes: Processes) -> None:
    gate = asyncio.Event()
    conversations, chat, _ = await _busy(processes, says("Another."), gate=gate)
    again = await chat.regenerate()
    gate.set()
    await ended(again)
    await settled(conversations, chat)
    assert contents(await chat.messages()) == [("user", "First"), ("assistant", "Another.")]
    assert len((await chat.snapshot()).tree.branches()) == 2


async def test_there_is_nothing_to_answer_again_in_an_empty_conversation(processes: Processes) -> None:
    chat = await new_conversation(await processes.open(ScriptedModel()))
    with pytest.raises(InvalidParent):
        await chat.regenerate()


async def test_a_turn_stays_on_its_branch_when_somebody_looks_elsewhere_meanwhile(processes: Processes) -> None:
    gate = asyncio.Event()
    model = ScriptedModel(says("One."), [Text("Let me "), gate, Text("think."), Stopped("stop")])
    conversations = await processes.open(model)
    chat = await new_conversation(conversations)
    first = await chat.send("First")
    await ended(first)
    turn = await chat.send("Second")
    await said_in(chat, "Let me ")
    await conversations._store.choose_head(chat.scope, chat.id, first.entries[0].seq)
    gate.set()
    await ended(turn)
    answer = data_of(
        await seen(chat, "message.completed", lambda e: data_of(e)["message"]["content"] == "Let me think.")
    )
    assert answer["parent"] == turn.entries[0].seq
