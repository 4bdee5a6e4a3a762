"""Turns of a loop of one's own in Python: they end with their block, hear of a stop, and can be taken up again."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

import threadkeep
from tests.told import name_of
from tests.unit.server.serving import until
from threadkeep.conversation.blocks import Narrative
from threadkeep.conversation.message import Message, Role, ToolCall, Usage
from threadkeep.conversation.turn import TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue, TurnNotFound
from threadkeep.loop_turn import LoopTurn, TurnOver
from threadkeep.testing.scripted_model import ScriptedModel, Step, says

PATIENCE = 20


@asynccontextmanager
async def _opened(*answers: list[Step]) -> AsyncIterator[Conversations]:
    async with threadkeep.open("memory:", model=ScriptedModel(*answers)) as conversations:
        yield conversations


async def _said(chat: ConversationHandle) -> list[tuple[str, str]]:
    return [(message.role.value, message.content) for message in await chat.messages(limit=None)]


async def _has(chat: ConversationHandle, turns: int) -> bool:
    return len(await chat.turns()) == turns


async def _waits(chat: ConversationHandle) -> bool:
    return bool(await chat.waiting_calls())


async def _end(chat: ConversationHandle, number: int) -> str:
    return name_of([event async for event in chat.turn(number).events()][-1])


async def test_a_loop_writes_a_turn_with_everything_that_ours_have() -> None:
    async with _opened() as conversations:
        chat = await conversations.create(title="Kept")
        async with chat.turn("How warm is Oslo?", key="k", id="run-1", message="m-1") as turn:
            assert turn.id == "run-1"
            await turn.reasoning("I must ")
            await turn.reasoning("look.")
            await turn.text("I look.")
            call = await turn.call("weather", {"city": "Oslo"}, id="c1")
            await turn.calls(call)  # said twice, stored once
            await turn.result(call, "4")
            await turn.result("c1", "4")
            with pytest.raises(InvalidValue):
                await turn.result("c2", "nothing asked for it")
            await turn.change_state({"city": "Oslo"})
            turn.used(Usage(input_tokens=1, output_tokens=2), "mine")
            await turn.text("4 ")
            await turn.text("degrees.")
            await turn.block(Narrative(text="Cold."))
            await turn.message(Message(role=Role.ASSISTANT, content="Bye."))
        assert turn.state is TurnState.COMPLETED
        assert await _end(chat, turn.number) == "turn.completed"
        question, asked, result, answer, bye = await chat.messages(limit=None)
        assert (question.id, asked.content, asked.tool_calls) == ("m-1", "I look.", (call,))
        assert asked.parts[0].model_dump()["text"] == "I must look."
        assert (result.content, answer.content, answer.blocks) == ("4", "4 degrees.", (Narrative(text="Cold."),))
        assert (answer.usage, answer.model, bye.content) == (Usage(input_tokens=1, output_tokens=2), "mine", "Bye.")
        assert (await chat.reading.state()).values == {"city": "Oslo"}
        with pytest.raises(TurnOver) as over:
            await turn.text("more")
        assert over.value.state is TurnState.COMPLETED


async def test_a_loop_says_itself_that_it_failed_or_stops() -> None:
    async with _opened() as conversations:
        chat = await conversations.create(title="Kept")
        async with chat.turn("Again") as turn:
            await turn.fail("no_weather", "There is none.")
        assert turn.state is TurnState.FAILED
        async with chat.turn("Again") as turn:
            await turn.cancel()
        assert turn.state is TurnState.CANCELLED


async def test_a_stop_cancels_the_loop_where_it_stands_and_what_follows_the_block_runs() -> None:
    async with _opened() as conversations:
        chat = await conversations.create(title="Kept")
        writing, went_on = asyncio.Event(), False

        async def loop() -> LoopTurn:
            nonlocal went_on
            async with chat.turn("Tell") as turn:
                await turn.text("Once upon")
                writing.set()
                await asyncio.Event().wait()
            went_on = True
            return turn

        async with asyncio.timeout(PATIENCE):
            running = asyncio.create_task(loop())
            await writing.wait()
            await chat.cancel()
            turn = await running
        assert went_on
        assert await _end(chat, turn.number) == "turn.cancelled"
        assert await _said(chat) == [("user", "Tell"), ("assistant", "Once upon")]


async def test_a_cancelled_task_leaves_its_turn_interrupted() -> None:
    async with _opened() as conversations:
        chat = await conversations.create(title="Kept")
        begun = asyncio.get_running_loop().create_future()

        async def loop() -> None:
            async with chat.turn("Tell") as turn:
                await turn.text("Once")
                begun.set_result(turn.number)
                await asyncio.Event().wait()

        async with asyncio.timeout(PATIENCE):
            running = asyncio.create_task(loop())
            number = await begun
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert await _end(chat, number) == "turn.interrupted"


async def test_a_loop_waits_in_the_queue_and_ours_goes_on_behind_it() -> None:
    gate = asyncio.Event()
    async with _opened([*says("First."), gate], says("Third.")) as conversations:
        chat = await conversations.create(title="Kept")
        first = await chat.send("One")

        async def loop() -> None:
            async with chat.turn("Two") as turn:
                await turn.text("Second.")

        async with asyncio.timeout(PATIENCE):
            running = asyncio.create_task(loop())
            await until(lambda: _has(chat, 2))
            third = await chat.send("Three")
            gate.set()
            await first.answer()
            await running
            await third.answer()
        assert [said for _, said in await _said(chat)] == ["One", "First.", "Two", "Second.", "Three", "Third."]


async def test_a_person_decides_about_a_call_of_a_loop_that_waits() -> None:
    async with _opened() as conversations:
        chat = await conversations.create(title="Kept")
        answers = []

        async def loop(approved: bool) -> None:
            async with chat.turn("Pay") as turn:
                await turn.calls(ToolCall(id=f"c{approved}", name="pay"), ToolCall(id=f"d{approved}", name="tip"))
                answers.append(await turn.ask_approval(f"c{approved}"))
                await turn.result(f"c{approved}", "done")
                await turn.result(f"d{approved}", "done")
                await turn.text("Done.")

        async with asyncio.timeout(PATIENCE):
            for approved in (True, False):
                running = asyncio.create_task(loop(approved))
                await until(lambda: _waits(chat))
                await chat.approve(f"c{approved}", approved=approved)
                await running
        assert answers == [True, False]
        assert await chat.turns() == ()


async def test_who_stops_a_loop_that_waits_for_a_person_ends_it() -> None:
    async with _opened() as conversations:
        chat = await conversations.create(title="Kept")

        turns, agreed = [], []

        async def loop() -> None:
            async with chat.turn("Pay") as turn:
                turns.append(turn.number)
                await turn.call("pay", id="c1")
                agreed.append(await turn.ask_approval())

        async with asyncio.timeout(PATIENCE):
            running = asyncio.create_task(loop())
            await until(lambda: _waits(chat))
            await chat.cancel()
            await running
        assert await _end(chat, *turns) == "turn.cancelled"
        assert not agreed


async def test_a_paused_turn_is_taken_up_when_a_person_has_decided() -> None:
    async with _opened() as conversations:
        chat = await conversations.create(title="Kept")
        async with chat.turn("Pay") as turn:
            await turn.call("pay", id="c1")
            assert not await turn.ask_approval(wait=False)
        assert (await chat.turns())[0].state is TurnState.WAITING
        await chat.approve("c1", reason="sure")
        async with chat.loops.take_up(turn.number) as turn:
            assert turn.decisions["c1"].reason == "sure"
            await turn.result("c1", "paid")
            await turn.text("Paid.")
        assert await _end(chat, turn.number) == "turn.completed"


async def test_a_key_begins_one_turn_and_takes_it_up_while_it_is_open() -> None:
    async with _opened() as conversations:
        chat = await conversations.create(title="Kept")

        async def twice() -> None:
            async with chat.turn("Tell", key="k") as first:
                async with chat.turn("Tell", key="k") as second:
                    assert second.number == first.number
                    await second.text("Whole.")
                await first.text("Never")

        for _ in range(2):  # while it is open, and when it has ended
            with pytest.raises(TurnOver):
                await twice()
        assert await _said(chat) == [("user", "Tell"), ("assistant", "Whole.")]
        async with chat.turn(None) as turn:
            await turn.text("More.")
        assert [said for _, said in await _said(chat)][-1] == "More."


async def test_a_turn_of_ours_cannot_be_taken_up_by_a_loop() -> None:
    gate = asyncio.Event()
    async with _opened([*says("Hello."), gate]) as conversations:
        chat = await conversations.create(title="Kept")
        turn = await chat.send("Hi")
        with pytest.raises(TurnNotFound):
            await chat.loops.take_up(turn.number).__aenter__()
        gate.set()
        await turn.answer()
