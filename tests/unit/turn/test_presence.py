"""Presence: who follows a conversation is told how many do, if it asks for it."""

import asyncio
from contextlib import aclosing

from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_keeper
from threadkeep.turn.events import Event
from threadkeep.turn.follow import PRESENCE

PATIENCE = 10


async def test_readers_are_told_when_one_comes_and_when_one_goes() -> None:
    keeper = await open_keeper("memory:", model="demo")
    try:
        chat = await keeper.create()
        async with asyncio.timeout(PATIENCE), aclosing(keeper.desk.follow(LOCAL, chat.id, presence=True)) as first:
            assert await anext(first) == Event(PRESENCE, {"readers": 1})
            async with aclosing(keeper.desk.follow(LOCAL, chat.id, presence=True)) as second:
                assert (await anext(second)).data == {"readers": 2}
                assert (await anext(first)).data == {"readers": 2}
            assert (await anext(first)).data == {"readers": 1}
    finally:
        await keeper.close()
