"""Loops of one's own over the conversations of a process and of a server: the same programs, the same turns."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Any

import pytest

from tests.integration.serving import PATIENCE, Server, serving
from tests.integration.test_client import Cutting
from tests.people import asked
from threadkeep import Message, Role, ToolCall, TurnEnded, TurnState, Usage
from threadkeep.conversation.blocks import Narrative
from threadkeep.conversation.message import MessageStatus
from threadkeep.errors import InvalidValue, KeyReused
from threadkeep.loop_turn import LoopTurn, TurnOver
from threadkeep_client import connect, connect_sync, loop, wire


@pytest.fixture
async def server(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Server]:
    monkeypatch.setattr(loop, "SILENCE", 0.05)
    async with serving(user_requests_per_second=0) as opened:
        yield opened


async def end_of(chat: Any, number: int) -> TurnState:
    """Return how a turn ended."""
    async with asyncio.timeout(PATIENCE):
        end = [event async for event in chat.turn(number).events()][-1].what
    assert isinstance(end, TurnEnded)
    return end.state


async def said_in(chat: Any) -> list[tuple[str, str]]:
    return [(message.role.value, message.content) for message in await chat.messages(None)]


async def program(chat: Any) -> LoopTurn:
    """Run a turn with all that there is."""
    async with chat.turn("How warm is Oslo?", key="k", id="run-1", message="m-1") as turn:
        assert turn.id == "run-1"
        await turn.reasoning("I must ")
        await turn.reasoning("look.")
        await turn.text("I look.")
        call = await turn.call("weather", {"city": "Oslo"}, id="c1")
        await turn.calls(call)  # said twice, stored once
        for _ in range(2):
            await turn.result(call, "4", duration_ms=3)
        with pytest.raises(InvalidValue):
            await turn.result("c2", "nothing asked for it")
        await turn.change_state({"city": "Oslo"})
        turn.used(Usage(input_tokens=1, output_tokens=2), "mine")
        for word in ("4 ", "degrees ", "🙂 ", "and ", "rain."):
            await turn.text(word)
        await turn.block(Narrative(text="Cold."))
        await turn.message(Message(role=Role.ASSISTANT, content="Bye."))
        turn.used(Usage(input_tokens=3, output_tokens=4))
        await turn.text("Really.")
    return turn  # type: ignore[no-any-return]


async def check_program(chat: Any, turn: LoopTurn) -> None:
    assert (turn.state, await end_of(chat, turn.number)) == (TurnState.COMPLETED, TurnState.COMPLETED)
    question, asked_for, result, answer, bye, really = await chat.messages(None)
    assert (question.id, asked_for.content) == ("m-1", "I look.")
    assert asked_for.tool_calls == (ToolCall(id="c1", name="weather", args={"city": "Oslo"}),)
    assert [part.text for part in asked_for.parts] == ["I must look."]
    assert (result.content, result.tool_result.duration_ms) == ("4", 3)
    assert (answer.content, answer.blocks) == ("4 degrees 🙂 and rain.", (Narrative(text="Cold."),))
    assert (answer.usage, answer.model) == (Usage(input_tokens=1, output_tokens=2), "mine")
    assert (bye.content, really.content, really.usage) == ("Bye.", "Really.", Usage(input_tokens=3, output_tokens=4))
    with pytest.raises(TurnOver) as over:
        await turn.text("more")
    assert over.value.state is TurnState.COMPLETED


async def test_a_loop_writes_a_turn_with_everything_that_ours_have(conversations: Any, server: Server) -> None:
    chat = await conversations.create(title="Kept")
    await check_program(chat, await program(chat))
    state = await server.conversations.at(chat.scope, chat.id).reading.state()
    assert state.values == {"city": "Oslo"}


async def test_an_error_of_the_loop_fails_its_turn_and_keeps_the_text(conversations: Any) -> None:
    chat, turns = await conversations.create(title="Kept"), []

    async def divide() -> None:
        async with chat.turn("Divide") as turn:
            turns.append(turn.number)
            await turn.text("Half an ans")
            raise ZeroDivisionError("by zero")

    with pytest.raises(ZeroDivisionError):
        await divide()
    assert await end_of(chat, *turns) is TurnState.FAILED
    assert ((await chat.messages())[-1].content, (await chat.messages())[-1].status) == (
        "Half an ans",
        MessageStatus.INTERRUPTED,
    )
    async with chat.turn("Again") as turn:
        await turn.fail("no_weather", "There is none.")
    assert await end_of(chat, turn.number) is TurnState.FAILED
    async with chat.turn("Again") as turn:
        await turn.cancel()
    assert await end_of(chat, turn.number) is TurnState.CANCELLED


async def test_a_stop_cancels_the_loop_where_it_stands_and_what_follows_the_block_runs(conversations: Any) -> None:
    chat, writing, went_on = await conversations.create(title="Kept"), asyncio.Event(), []

    async def run() -> int:
        async with chat.turn("Tell") as turn:
            await turn.text("Once upon")
            writing.set()
            await asyncio.Event().wait()
        went_on.append(True)
        await asyncio.sleep(0)
        return int(turn.number)

    async with asyncio.timeout(PATIENCE):
        running = asyncio.create_task(run())
        await writing.wait()
        while not (await chat.turns()):  # noqa: ASYNC110 - the turn has begun by then
            await asyncio.sleep(0)
        await chat.cancel()
        number = await running
    assert went_on
    assert await end_of(chat, number) is TurnState.CANCELLED


async def test_a_cancelled_task_leaves_its_turn_interrupted(conversations: Any) -> None:
    chat, begun = await conversations.create(title="Kept"), asyncio.get_running_loop().create_future()

    async def run() -> None:
        async with chat.turn("Tell") as turn:
            await turn.text("Once")
            begun.set_result(turn.number)
            await asyncio.Event().wait()

    running = asyncio.create_task(run())
    number = await begun
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert await end_of(chat, number) is TurnState.INTERRUPTED


async def test_a_loop_waits_in_the_queue(conversations: Any) -> None:
    chat = await conversations.create(title="Kept")

    async def second() -> None:
        async with chat.turn("Two") as turn:
            await turn.text("Second.")

    async with asyncio.timeout(PATIENCE):
        async with chat.turn("One") as first:
            running = asyncio.create_task(second())
            while len(await chat.turns()) < 2:  # noqa: ASYNC110 - what is looked at is no event
                await asyncio.sleep(0.01)
            await first.text("First.")
        await running
    assert [said for _, said in await said_in(chat)] == ["One", "First.", "Two", "Second."]


async def test_a_person_decides_about_a_call_of_a_loop_that_waits(conversations: Any) -> None:
    chat, answers = await conversations.create(title="Kept"), []

    async def run(approved: bool, *named: str) -> None:
        async with chat.turn("Pay") as turn:
            await turn.call("pay", id=f"c{approved}")
            answers.append(await turn.ask_approval(*named))
            assert turn.decisions[f"c{approved}"].reason == "so"
            await turn.result(f"c{approved}", "done")
            await turn.text("Done.")

    async with asyncio.timeout(PATIENCE):
        for approved in (True, False):
            running = asyncio.create_task(run(approved, *([] if approved else ["cFalse"])))
            await asked(chat, 1)
            await chat.approve(f"c{approved}", approved=approved, reason="so")
            await running
    assert answers == [True, False]
    async with chat.turn("Pay") as turn:
        await turn.call("pay", id="later")
        assert not await turn.ask_approval(wait=False)
    await chat.approve("later", reason="sure")
    async with chat.loops.take_up(turn.number) as turn:
        assert turn.decisions["later"].reason == "sure"
        await turn.result("later", "paid")
    assert await end_of(chat, turn.number) is TurnState.COMPLETED


async def test_who_stops_a_loop_that_waits_for_a_person_ends_it(conversations: Any) -> None:
    chat, agreed = await conversations.create(title="Kept"), []

    async def run() -> None:
        async with chat.turn("Pay") as turn:
            await turn.call("pay", id="c1")
            agreed.append(await turn.ask_approval())

    async with asyncio.timeout(PATIENCE):
        running = asyncio.create_task(run())
        await asked(chat, 1)
        await chat.cancel()
        await running
    assert not agreed


async def test_a_key_begins_one_turn_and_takes_it_up_while_it_is_open(conversations: Any) -> None:
    chat = await conversations.create(title="Kept")
    with suppress(TurnOver):
        async with chat.turn("Tell", key="k") as first:
            async with chat.turn("Tell", key="k") as second:
                assert second.number == first.number
                await second.text("Whole.")
            await first.text("Never")
    with pytest.raises(TurnOver):
        async with chat.turn("Tell", key="k"):
            pass
    with pytest.raises(KeyReused):
        async with chat.turn("Something else", key="k"):
            pass
    said = await said_in(chat)
    assert (said[0], said[-1]) == (("user", "Tell"), ("assistant", "Whole."))
    async with chat.turn(None) as turn:
        await turn.text("More.")
    assert (await said_in(chat))[-1] == ("assistant", "More.")


# What only a network does


async def test_a_network_that_loses_every_first_answer_changes_nothing(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wire, "FIRST_PAUSE", 0.001)
    network = Cutting(after=1400)
    async with connect(server.url, transport=network) as conversations:
        chat = await conversations.create()
        await check_program(chat, await program(chat))
    assert len(network.lost) > 12


async def test_a_program_without_asyncio_runs_a_loop(server: Server) -> None:
    def run() -> list[str]:
        with connect_sync(server.url) as conversations:
            chat = conversations.create(title="Kept")
            with chat.turn("How warm?") as turn:
                turn.result(turn.call("weather"), "4")
                turn.text("Four.")
            with pytest.raises(ZeroDivisionError), chat.turn("And now?"):
                raise ZeroDivisionError
            return [message.content for message in chat.messages(None)]

    assert await asyncio.to_thread(run) == ["How warm?", "", "4", "Four.", "And now?"]
