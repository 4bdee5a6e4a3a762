"""A handle on a turn: what came of it, how far it is, and which event is its last."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import threadkeep
from threadkeep.conversation.events import TurnEnded, TurnWaiting
from threadkeep.conversation.turn import TurnState
from threadkeep.conversations import Conversations
from threadkeep.testing.scripted_model import ScriptedModel, Step, says, wants
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant

PATIENCE = 20


@tool(needs_approval=True)
def pay(amount: int) -> str:
    """Pay somebody."""
    return f"paid {amount}"


@asynccontextmanager
async def _opened(*answers: list[Step]) -> AsyncIterator[Conversations]:
    assistant = Assistant(name="clerk", tools=Registry([pay]))
    async with threadkeep.open("memory:", [assistant], model=ScriptedModel(*answers)) as conversations:
        yield conversations


async def test_an_outcome_is_the_answer_its_place_the_calls_and_the_end() -> None:
    async with _opened(wants(("call_1", "pay", {"amount": 5})), says("Done.")) as conversations:
        conversation = await conversations.create(title="Kept")
        async with asyncio.timeout(PATIENCE):
            turn = await conversation.send("Pay five")
            waiting = await turn.outcome()
            assert isinstance(waiting.end, TurnWaiting)
            assert [call.id for call in waiting.calls] == ["call_1"]
            assert [call.id for call in await conversation.waiting_calls()] == ["call_1"]
            assert await turn.open_state() is TurnState.RUNNING, "as it was begun"
            assert await conversation.turn(turn.number).open_state() is TurnState.WAITING
            await conversation.approve("call_1")
            ended = await conversation.turn(turn.number).outcome()
        assert isinstance(ended.end, TurnEnded)
        assert ended.message is not None
        assert (ended.message.content, ended.end.state) == ("Done.", TurnState.COMPLETED)
        assert (await conversation.reading.entry(ended.seq or 0)).body == ended.message
        assert await conversation.turn(turn.number).open_state() is None


async def test_a_waiting_that_has_gone_on_since_is_not_the_end() -> None:
    async with _opened(wants(("call_1", "pay", {"amount": 5})), says("Done.")) as conversations:
        conversation = await conversations.create(title="Kept")
        async with asyncio.timeout(PATIENCE):
            turn = await conversation.send("Pay five")
            pause = [event async for event in turn.events()][-1]
            assert await turn.is_over(pause)
            await conversation.approve("call_1", approved=False)
            assert not await turn.is_over(pause)
            assert isinstance([event async for event in turn.events()][-1].what, TurnEnded)
