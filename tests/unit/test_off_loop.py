"""Threads for synchronous functions."""

import asyncio
import threading

import pytest

from threadkeep.off_loop import in_thread


async def test_the_result_and_the_error_come_back() -> None:
    assert await in_thread(lambda: 3) == 3
    with pytest.raises(ZeroDivisionError):
        await in_thread(lambda: 1 // 0)


async def test_functions_that_hang_take_no_place_from_others() -> None:
    go_on = threading.Event()
    hanging = [asyncio.create_task(in_thread(go_on.wait)) for _ in range(64)]
    assert await in_thread(lambda: "through") == "through"
    go_on.set()
    assert await asyncio.gather(*hanging) == [True] * 64


def test_a_function_that_outlives_its_loop_is_left_alone() -> None:
    go_on, ended = threading.Event(), threading.Event()

    def function() -> None:
        go_on.wait()
        ended.set()

    async def give_up() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(in_thread(function), timeout=0.01)

    asyncio.run(give_up())
    go_on.set()
    assert ended.wait(10)
