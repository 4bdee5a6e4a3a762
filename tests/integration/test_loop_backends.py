"""A loop of one's own runs a turn on every backend, and another process interrupts it when its loop is gone."""

import asyncio
from pathlib import Path

import pytest

from tests.backends import BACKENDS, opener
from threadkeep.conversation.events import TurnEnded
from threadkeep.conversation.turn import TurnState
from threadkeep.runtime import open_conversations
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA
from threadkeep_loops.leases import LEASE_SECONDS
from threadkeep_loops.running import OwnLoops

PATIENCE = 20


@pytest.mark.parametrize("backend", BACKENDS)
async def test_a_loop_here_and_one_elsewhere_on_every_backend(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    clock = FakeClock()
    store = await opener(backend, tmp_path, request)(clock)
    async with asyncio.timeout(PATIENCE), await open_conversations(store) as kept:
        chat = await kept.get_or_create("chat", scope=ADA)
        async with chat.turn("How warm?", id="run-1") as turn:
            await turn.reasoning("Hm")
            await turn.text("I look.")
            call = await turn.call("weather")
            await turn.result(call, "4")
            await turn.text("Four.")
        assert [message.content for message in await chat.messages(limit=None)] == [
            "How warm?",
            "I look.",
            "4",
            "Four.",
        ]
        loops = chat.loops
        assert isinstance(loops, OwnLoops)
        begun, token = await loops.begin_elsewhere("And tomorrow?", turn="run-2")
        held = await loops.with_token(begun.turn, str(token))
        assert await held.draft(0, "Colder") == 6
        runner = kept._runner
        clock.advance(LEASE_SECONDS - 1)
        assert await runner.recover() == 0
        clock.advance(2)
        assert await runner.recover() == 1
        end = [event async for event in chat.turn(begun.turn).events()][-1].what
        assert isinstance(end, TurnEnded)
        assert (end.state, (await chat.messages())[-1].content) == (TurnState.INTERRUPTED, "Colder")
