"""Questions that many ask together."""

import asyncio

import pytest

from threadkeep_postgres.replicas import Shared


class Asked:
    """A question whose answers are given when the test says so: how often it was asked."""

    def __init__(self) -> None:
        self.times = 0
        self.was_asked = asyncio.Event()
        self.answer_now = asyncio.Event()

    async def __call__(self) -> int:
        self.times += 1
        times = self.times
        self.was_asked.set()
        await self.answer_now.wait()
        return times


async def test_all_who_come_before_it_is_asked_share_an_answer_and_who_comes_later_waits_for_the_next() -> None:
    asked = Asked()
    shared = Shared(asked)
    first = [asyncio.create_task(shared.answer()) for _ in range(5)]
    await asked.was_asked.wait()
    # What is under way may have been answered already, as of before these came.
    later = [asyncio.create_task(shared.answer()) for _ in range(5)]
    await asyncio.sleep(0)
    asked.answer_now.set()
    assert await asyncio.gather(*first) == [1] * 5
    assert await asyncio.gather(*later) == [2] * 5
    assert asked.times == 2


async def test_a_question_that_fails_fails_for_those_who_asked_and_is_asked_again() -> None:
    answers = iter([OSError("away"), None])

    async def ask() -> int:
        if (error := next(answers)) is not None:
            raise error
        return 7

    shared = Shared(ask)
    told = await asyncio.gather(*(shared.answer() for _ in range(3)), return_exceptions=True)
    assert [type(each) for each in told] == [OSError] * 3
    assert await shared.answer() == 7


async def test_who_gives_up_does_not_take_the_answer_from_others() -> None:
    asked = Asked()
    shared = Shared(asked)
    one, other = (asyncio.create_task(shared.answer()) for _ in range(2))
    await asked.was_asked.wait()
    one.cancel()
    asked.answer_now.set()
    assert await other == 1
    with pytest.raises(asyncio.CancelledError):
        await one
