"""The bus: it may lose anything but the hint to look into the log."""

import asyncio
from contextlib import aclosing
from dataclasses import asdict

import pytest

from tests.told import data_of
from threadkeep.conversation.events import Event, ReadersCounted, TurnRetrying
from threadkeep.runtime import open_conversations
from threadkeep.turn.local_bus import FORGOTTEN_AFTER, LOOK, MOST_WAITING, LocalBus, Nudge, Presence, Topic


async def test_news_reach_every_reader_of_the_conversation_and_nobody_else() -> None:
    bus = LocalBus()
    with bus.subscribed("acme", "c") as one, bus.subscribed("acme", "c") as two, bus.subscribed("acme", "d") as other:
        bus.publish("acme", "c", Nudge("m", 0, "text"))
        assert await one.get(0.0) == await two.get(0.0) == [Nudge("m", 0, "text")]
        assert other._nudges == []


async def test_tenants_do_not_hear_each_other() -> None:
    bus = LocalBus()
    with bus.subscribed("umbrella", "c") as eve:
        bus.publish("acme", "c", Nudge("m", 0, "secret"))
        assert eve._nudges == []


async def test_a_reader_who_lets_much_news_lie_is_told_to_look() -> None:
    bus = LocalBus()
    with bus.subscribed("acme", "c") as slow:
        for number in range(MOST_WAITING + 10):
            bus.publish("acme", "c", Nudge("m", number, "x"))
        news = await slow.get(0.0)
        assert LOOK in news
        assert len(news) <= MOST_WAITING


async def test_a_reader_waits_only_for_a_while() -> None:
    with LocalBus().subscribed("acme", "c") as reader:
        assert await reader.get(0.0) == []


async def test_readers_are_counted_while_they_read() -> None:
    bus = LocalBus()
    with bus.subscribed("acme", "c"):
        with bus.subscribed("acme", "c"):
            assert bus.readers("acme", "c") == 2
        assert bus.readers("acme", "c") == 1
    assert bus.readers("acme", "c") == 0


async def test_a_reader_in_a_hurry_does_not_wait_for_the_time_of_an_earlier_wait() -> None:
    bus = LocalBus()
    with bus.subscribed("acme", "c") as reader:
        waiting = asyncio.create_task(reader.get(60.0))
        await asyncio.sleep(0)
        bus.publish("acme", "c", Nudge("m", 0, "text"))
        assert await waiting == [Nudge("m", 0, "text")]
        async with asyncio.timeout(30):
            assert await reader.get(0.0) == []


async def test_a_reader_who_waits_again_is_not_woken_at_the_time_of_an_earlier_wait() -> None:
    bus = LocalBus()
    with bus.subscribed("acme", "c") as reader:
        waiting = asyncio.create_task(reader.get(0.01))
        await asyncio.sleep(0)
        bus.publish("acme", "c", Nudge("m", 0, "text"))
        await waiting
        later = asyncio.create_task(reader.get(60.0))
        await asyncio.sleep(0.05)
        assert not later.done()
        bus.publish("acme", "c", Nudge("m", 4, "more"))
        assert await later == [Nudge("m", 4, "more")]


async def test_readers_look_once_a_relay_that_they_relied_on_is_gone() -> None:
    bus = LocalBus()
    with bus.subscribed("acme", "c") as reader:
        with bus.bridged(lambda topic: None):
            assert bus.is_bridged
            assert reader._nudges == []
        assert reader._nudges == [LOOK]
    assert not bus.is_bridged


PATIENCE = 10
TOPIC = Topic(b"c")


async def test_readers_are_told_when_one_comes_and_when_one_goes() -> None:
    conversations = await open_conversations("memory:", model="demo")
    try:
        chat = await conversations.create()
        async with asyncio.timeout(PATIENCE), aclosing(chat.follow(presence=True)) as first:
            assert await anext(first) == Event(ReadersCounted(1))
            async with aclosing(chat.follow(presence=True)) as second:
                assert data_of(await anext(second)) == {"readers": 2}
                assert data_of(await anext(first)) == {"readers": 2}
            assert data_of(await anext(first)) == {"readers": 1}
    finally:
        await conversations.close()


async def test_readers_are_told_that_a_model_is_asked_again_also_those_who_come_meanwhile() -> None:
    conversations = await open_conversations("memory:", model="demo")
    try:
        chat = await conversations.create()
        retry = TurnRetrying(1, 2, 4, 30.0, "model_unavailable")
        async with asyncio.timeout(PATIENCE), aclosing(chat.follow(presence=True)) as first:
            assert data_of(await anext(first)) == {"readers": 1}
            with chat._runner.deps.bus.retrying(chat.scope.tenant, chat.id, retry):
                told = data_of(await anext(first))
                async with aclosing(chat.follow(presence=True)) as second:
                    assert data_of(await anext(second)) == {"readers": 2}
                    again = data_of(await anext(second))
            assert {**told, "seconds": 30.0} == {**again, "seconds": 30.0} == asdict(retry)
            assert again["seconds"] <= told["seconds"] <= retry.seconds
            async with aclosing(chat.follow(presence=True)) as third:
                assert data_of(await anext(third)) == {"readers": 2}
                await chat.update(title="What comes next")
                assert "title" in data_of(await anext(third))
    finally:
        await conversations.close()


def test_what_another_process_tells_counts_until_it_is_not_told_again() -> None:
    now, told = 0.0, list[Topic]()
    presence = Presence(lambda topic: None, lambda: now)
    presence.relay(told.append)
    presence.enter(TOPIC)
    presence.hear("one", TOPIC, 2)
    presence.hear("two", TOPIC, 3)
    assert presence.count(TOPIC) == 6
    now += FORGOTTEN_AFTER - 1
    presence.hear("two", TOPIC, 1)
    now += 1
    assert presence.count(TOPIC) == 2
    presence.hear("two", TOPIC, 0)
    assert presence.count(TOPIC) == 1
    assert told == [TOPIC, TOPIC, TOPIC]  # a reader came here, and two processes that were not known


def test_nothing_is_kept_of_what_nobody_follows_here() -> None:
    presence = Presence(lambda topic: None)
    presence.hear("one", TOPIC, 2)
    presence.enter(TOPIC)
    assert presence.count(TOPIC) == 1
    presence.hear("one", TOPIC, 2)
    presence.leave(TOPIC)
    assert (presence.count(TOPIC), presence._elsewhere, presence.counts_here()) == (0, {}, {})


@pytest.mark.parametrize("reaches_all", [True, False])
def test_readers_rely_only_on_a_bridge_that_reaches_all(reaches_all: bool) -> None:
    bus = LocalBus()
    with bus.bridged(lambda topic: None, reaches_all=reaches_all):
        assert bus.is_bridged is reaches_all
