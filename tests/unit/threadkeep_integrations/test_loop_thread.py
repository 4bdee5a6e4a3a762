"""An event loop for callers that are not asynchronous."""

import asyncio
import os
from concurrent.futures import CancelledError, ThreadPoolExecutor
from threading import Event

import pytest

from threadkeep_integrations.loop_thread import LoopThread


async def answer() -> int:
    return 42


def test_what_is_given_behind_the_end_is_refused_and_not_left_unanswered() -> None:
    background = LoopThread()
    assert background.run(answer()) == 42
    background.close()
    background.close()
    with pytest.raises(CancelledError):
        background.run(answer())


def test_what_runs_at_the_end_is_cancelled_for_who_waits_for_it() -> None:
    background, has_begun = LoopThread(), Event()

    async def endless() -> None:
        has_begun.set()
        await asyncio.Event().wait()

    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(background.run, endless())
        assert has_begun.wait(10)
        background.close()
        with pytest.raises(CancelledError):
            waiting.result(10)


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_process_that_was_forked_is_refused_and_not_left_unanswered() -> None:
    with LoopThread() as background:
        child = os.fork()
        if child == 0:
            try:
                background.run(answer())
            except CancelledError:
                background.close()
                os._exit(7)
            os._exit(1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
        assert background.run(answer()) == 42
