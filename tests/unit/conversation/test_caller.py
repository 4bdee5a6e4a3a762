"""On whose behalf something is done: a task keeps the caller of the moment when it began."""

import asyncio

from threadkeep.conversation.caller import CALLER, SYSTEM, Caller


async def test_work_in_the_background_is_done_by_the_system() -> None:
    assert CALLER.get() == SYSTEM
    assert SYSTEM.actor == "system"


async def test_a_task_keeps_the_caller_of_the_request_that_began_it() -> None:
    going_on = asyncio.Event()

    async def act() -> Caller:
        await going_on.wait()
        return CALLER.get()

    token = CALLER.set(Caller("user:ada"))
    begun = asyncio.create_task(act())
    CALLER.set(Caller("user:bob"))
    going_on.set()
    assert (await begun).actor == "user:ada"
    CALLER.reset(token)
