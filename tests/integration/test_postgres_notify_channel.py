"""Two instances on one PostgreSQL: what one writes, readers at the other see without looking for it."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import aclosing
from datetime import timedelta
from itertools import product

import pytest
import pytest_asyncio

from tests.postgres_server import PostgresServer, Urls
from tests.told import data_of, name_of
from tests.unit.turn.processes import PATIENCE, Processes, Silent, called, hung_up, new_conversation, said_in, until
from threadkeep import background
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.events import Event, MessageCompleted, TextDelta
from threadkeep.conversation.turn import Lease
from threadkeep.conversations import Conversations
from threadkeep.errors import StoreUnavailable
from threadkeep.llm.base import Model, Text
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.scripted_model import ScriptedModel, says
from threadkeep.turn import follow
from threadkeep_postgres.address import Address
from threadkeep_postgres.notify_channel import PostgresNotifyChannel

LISTENING = "SELECT pid FROM pg_stat_activity WHERE datname = '{}' AND query LIKE 'LISTEN%'"


@pytest_asyncio.fixture
async def instances(
    postgres_database: Urls, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Processes]:
    """Opens conversations on one database whose readers never look by themselves."""
    monkeypatch.setattr(follow, "LOOK_EVERY", 3600.0)
    monkeypatch.setattr(follow, "LOOK_EVERY_BRIDGED", 3600.0)
    monkeypatch.setattr(background, "FIRST_PAUSE", 0.01)

    async def open_one() -> Store:
        return await open_store(postgres_database.server, clock=clock)

    opened = Processes(open_one, clock)
    yield opened
    await opened.close()


async def connected(instances: Processes, *models: Model) -> list[Conversations]:
    """Open conversations for each model, and wait until they hear each other. Their leases need no looking after."""
    opened = [await instances.open(model, lease_for=timedelta(hours=1)) for model in models]
    for one in opened:
        await heard_by_the_others(one, opened)
    return opened


async def heard_by_the_others(one: Conversations, opened: list[Conversations]) -> None:
    """Publish something on one bus until every other one has heard it."""
    for other in opened:
        if other is not one:
            with other._deps.bus.subscribed("nobody", "hello") as reader:
                async with asyncio.timeout(PATIENCE):
                    while not reader._nudges:
                        one._deps.bus.publish("nobody", "hello")
                        await asyncio.sleep(0.01)


async def test_a_reader_at_another_instance_sees_text_and_end_of_a_turn(instances: Processes) -> None:
    gate = asyncio.Event()
    writing, reading = await connected(instances, ScriptedModel([Text("Hel"), gate, *says("lo")]), ScriptedModel())
    chat = await new_conversation(writing)
    seen = []
    async with asyncio.timeout(PATIENCE), aclosing(reading.at(chat.scope, chat.id).follow(Cursor())) as events:
        await chat.send("Hi")
        async for event in events:
            seen.append(name_of(event))
            if name_of(event) == "text.delta":
                gate.set()
            if name_of(event) == "turn.completed":
                break
    assert seen.count("text.delta") >= 1
    assert seen[-2:] == ["message.completed", "turn.completed"]


async def test_a_turn_that_is_cancelled_at_another_instance_stops_at_once(instances: Processes) -> None:
    model = ScriptedModel([asyncio.Event()])
    writing, other = await connected(instances, model, Silent())
    chat = await new_conversation(writing)
    await chat.send("Hi")
    await called(model)
    await other.at(chat.scope, chat.id).cancel()
    await hung_up(model)
    assert not await chat.turns()


async def test_a_connection_that_breaks_is_made_again(
    instances: Processes, postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    opened = await connected(instances, Silent(), Silent())
    database = postgres_database.owner.partition("?")[0].rpartition("/")[2]
    for (process,) in postgres_server.fetch(LISTENING.format(database)):
        postgres_server.execute(f"SELECT pg_terminate_backend({process})")
    for one in opened:
        await heard_by_the_others(one, opened)


async def test_a_channel_says_that_it_is_cut(postgres_server: PostgresServer, postgres_database: Urls) -> None:
    channel = PostgresNotifyChannel(Address(postgres_database.server))
    with pytest.raises(StoreUnavailable):
        await channel.send(["too early"])
    heard: list[str] = []
    await channel.open(heard.append)
    await channel.send(["one", "two"])
    await until(lambda: len(heard) == 2)
    assert heard == ["one", "two"]
    await channel.close()
    await channel.close()
    with pytest.raises(StoreUnavailable):
        await channel.send(["too late"])


async def test_readers_at_both_instances_are_counted_together(instances: Processes) -> None:
    one, two = [await instances.open(ScriptedModel()) for _ in "ab"]
    chat = await new_conversation(one)
    async with asyncio.timeout(PATIENCE), aclosing(chat.follow(presence=True)) as first:
        assert data_of(await anext(first)) == {"readers": 1}
        async with aclosing(two.at(chat.scope, chat.id).follow(presence=True)) as second:
            told = [data_of(await anext(second))["readers"]]
            while told[-1] != 2:
                told.append(data_of(await anext(second))["readers"])
            assert data_of(await anext(first)) == {"readers": 2}
        assert data_of(await anext(first)) == {"readers": 1}


@pytest.mark.parametrize("is_stored", [True, False], ids=["its text is stored", "its text comes too late"])
async def test_readers_of_a_turn_that_a_slow_owner_loses_get_every_text_once(
    instances: Processes, is_stored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The owner stands still in a write, before or behind its commit, while another takes the turn up and ends it."""
    gate, is_writing, goes_on = asyncio.Event(), asyncio.Event(), asyncio.Event()
    model = ScriptedModel([Text("Once "), gate, Text("upon "), asyncio.Event()])
    slow, quick = await connected(instances, model, ScriptedModel(says("a ", "time.")))
    inside = slow._store
    write = inside.write

    async def write_slowly(lease: Lease, message: str, offset: int, text: str) -> None:
        if is_stored:
            await write(lease, message, offset, text)
        is_writing.set()
        await goes_on.wait()
        if not is_stored:
            await write(lease, message, offset, text)

    chat = await new_conversation(slow)
    both = [chat, quick.at(chat.scope, chat.id)]
    reading = [asyncio.create_task(_read_to_the_end(each.follow(Cursor()))) for each in both]
    await chat.send("Tell me")
    await said_in(both[1], "Once ")
    monkeypatch.setattr(inside, "write", write_slowly)
    gate.set()
    await is_writing.wait()
    (turn,) = await quick._store.turns(chat.scope, chat.id)
    quick._runner.take_up(await quick._store.take(turn, "process-1", timedelta(hours=1)))
    heard = await asyncio.gather(*reading)
    goes_on.set()
    await hung_up(model)
    for events in heard:
        said = _texts(events)
        stored = _messages(events)
        assert list(stored.values()) == ["Tell me", "Once upon " if is_stored else "Once ", "a time."]
        assert said.items() <= stored.items()
        assert len({event.cursor for event in events}) == len(events)
        for chat, (at, event) in product(both, enumerate(events[:-1], 1)):
            begun = _texts(events[:at])
            whole = _texts([*events[:at], *await _read_to_the_end(chat.follow(event.cursor))])
            assert {id: whole[id] for id in begun} == {id: stored[id] for id in begun}


async def _read_to_the_end(events: AsyncGenerator[Event, None]) -> list[Event]:
    """Return what is told until the turn is completed."""
    found: list[Event] = []
    async with asyncio.timeout(PATIENCE), aclosing(events) as stream:
        async for event in stream:
            found.append(event)
            if name_of(event) == "turn.completed":
                break
    return found


def _texts(events: Sequence[Event]) -> dict[str, str]:
    """Return what came in pieces, by message."""
    texts: dict[str, str] = {}
    for event in events:
        if isinstance(event.what, TextDelta):
            texts[event.what.message] = texts.get(event.what.message, "") + event.what.text
    return texts


def _messages(events: Sequence[Event]) -> dict[str, str]:
    """Return what was stored, by message."""
    return {
        each.what.message.id: each.what.message.content for each in events if isinstance(each.what, MessageCompleted)
    }


async def test_where_notifications_are_off_there_is_no_channel(postgres_database: Urls) -> None:
    store = await open_store(
        f"{postgres_database.server}{'&' if '?' in postgres_database.server else '?'}notifications=off"
    )
    assert store.operations.notify_channel() is None
    await store.close()
