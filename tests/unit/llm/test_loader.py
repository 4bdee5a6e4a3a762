"""Loading beside everything else: once, a few at a time, and never waited for without end."""

import asyncio
import threading

import pytest

from threadkeep.errors import ModelUnavailable, UnknownModel
from threadkeep.llm.loader import MOST_LOADING, Loader


async def test_a_model_that_many_wait_for_is_loaded_once() -> None:
    loader, loads = Loader(), list[str]()
    for _ in range(2):
        await asyncio.gather(
            *(loader.load("one", lambda: loads.append(threading.current_thread().name)) for _ in "abc")
        )
    assert loads == ["threadkeep-model"]


async def test_an_error_reaches_all_who_wait_and_the_next_one_tries_again() -> None:
    loader, failures = Loader(), [UnknownModel("no")]

    def load() -> None:
        if failures:
            raise failures.pop()

    found = await asyncio.gather(*(loader.load("one", load) for _ in "ab"), return_exceptions=True)
    assert [str(error) for error in found] == ["no", "no"]
    await loader.load("one", load)


async def test_loads_that_hang_are_given_up_and_hold_up_no_shared_thread() -> None:
    loader, over = Loader(seconds=0.01), threading.Event()
    try:
        for number in range(MOST_LOADING):
            with pytest.raises(ModelUnavailable, match="still being loaded"):
                await loader.load(number, over.wait)
        with pytest.raises(ModelUnavailable, match="Too many"):
            await loader.load("one more", over.wait)
        assert await asyncio.to_thread(lambda: "here") == "here"
    finally:
        over.set()


async def test_a_load_that_took_long_is_there_for_who_comes_later() -> None:
    loader, over = Loader(seconds=0.01), threading.Event()
    with pytest.raises(ModelUnavailable):
        await loader.load("one", over.wait)
    over.set()
    async with asyncio.timeout(10):
        while True:
            try:
                await loader.load("one", pytest.fail)
                break
            except ModelUnavailable:
                continue
