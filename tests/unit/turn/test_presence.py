"""Presence: who follows a conversation is told how many do, here and in other processes, if it asks for it."""

import asyncio
from contextlib import aclosing

from tests.told import data_of
from threadkeep.conversation.events import Event, ReadersCounted
from threadkeep.runtime import open_conversations
from threadkeep.turn.presence import FORGOTTEN_AFTER, Presence

PATIENCE = 10


async def test_readers_are_told_when_one_comes_and_when_one_goes() -> None:
    conversations = await open_conversations("memory:", model="demo")
    try:
        chat = await conversations.create()
        async with (
            asyncio.timeout(PATIENCE),
            aclosing(chat.follow(presence=True)) as first,
        ):
            assert await anext(first) == Event(ReadersCounted(1))
            async with aclosing(chat.follow(presence=True)) as second:
                assert data_of(await anext(second)) == {"readers": 2}
                assert data_of(await anext(first)) == {"readers": 2}
            assert data_of(await anext(first)) == {"readers": 1}
    finally:
        await conversations.close()


def test_what_another_process_tells_counts_until_it_is_not_told_again() -> None:
    now, told = 0.0, list[str]()
    presence = Presence[str](lambda topic: None, lambda: now)
    presence.relay(told.append)
    presence.enter("c")
    presence.hear("one", "c", 2)
    presence.hear("two", "c", 3)
    assert presence.count("c") == 6
    now += FORGOTTEN_AFTER - 1
    presence.hear("two", "c", 1)
    now += 1
    assert presence.count("c") == 2
    presence.hear("two", "c", 0)
    assert presence.count("c") == 1
    assert told == ["c", "c", "c"]  # a reader came here, and two processes that were not known


def test_nothing_is_kept_of_what_nobody_follows_here() -> None:
    presence = Presence[str](lambda topic: None)
    presence.hear("one", "c", 2)
    presence.enter("c")
    assert presence.count("c") == 1
    presence.hear("one", "c", 2)
    presence.leave("c")
    assert (presence.count("c"), presence._elsewhere, presence.here()) == (0, {}, {})
