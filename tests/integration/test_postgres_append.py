"""Appending in PostgreSQL: it relies on the end that the store remembers, and notices when that has moved."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from tests.postgres_server import Urls
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Update
from threadkeep.conversation.message import Message, Role, ToolCall
from threadkeep.conversation.state import State
from threadkeep.errors import ConversationNotFound, StaleHead, StoreError
from threadkeep.runtime import open_store
from threadkeep.store.base import ROOT, Store
from threadkeep.store.values import Append
from threadkeep.testing.samples import ADA, BOB, asked, key, new, run, say, settle, texts_of
from threadkeep.testing.stores import whole_log
from threadkeep_postgres.pool import Pool


@pytest_asyncio.fixture
async def stores(postgres_database: Urls) -> AsyncIterator[tuple[Store, Store]]:
    """Two stores of one database, each with a memory of its own."""
    opened = (await open_store(postgres_database.server), await open_store(postgres_database.server))
    yield opened
    for store in opened:
        await store.close()


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What the stores ask of the database from now on."""
    asked_for: list[str] = []
    original = Pool._call

    async def spy(pool: Pool, verb: str, arguments: Any, *, again: bool) -> Any:
        asked_for.append(verb)
        return await original(pool, verb, arguments, again=again)

    monkeypatch.setattr(Pool, "_call", spy)
    return asked_for


async def test_the_next_message_is_one_statement(stores: tuple[Store, Store], calls: list[str]) -> None:
    store, _ = stores
    name = await new(store, ADA)
    calls.clear()
    await say(store, name, "1")
    await say(store, name, "2")
    await say(store, name, "3", "4")
    assert calls == ["commit"] * 3
    assert texts_of(await store.newest(ADA, name)) == ["1", "2", "3", "4"]
    entries, _ = await whole_log(store, ADA, name)
    assert [(entry.seq, entry.parent) for entry in entries] == [(1, None), (2, 1), (3, 2), (4, 3)]


async def test_stores_that_take_turns_notice_each_other(stores: tuple[Store, Store]) -> None:
    name = await new(stores[0])
    for number in range(10):
        await say(stores[number % 2], name, f"{number}")
    entries, _ = await whole_log(stores[0], ADA, name)
    assert texts_of(entries) == [f"{number}" for number in range(10)]
    assert [entry.seq for entry in entries] == list(range(1, 11))


async def test_what_others_did_in_between_is_seen(stores: tuple[Store, Store]) -> None:
    store, other = stores
    name = await new(store, ADA, "1", "2")
    await other.choose_head(ADA, name, 1)
    await say(store, name, "beside 2")
    assert texts_of(await store.newest(ADA, name)) == ["1", "beside 2"]
    await other.update(ADA, name, Update(title="new"))
    await say(store, name, "after the title")
    begun = await run(other, name, "a turn")
    await say(store, name, "an aside")
    assert begun.lease is not None
    await settle(other, begun.lease)
    await say(store, name, "the end")
    assert texts_of(await store.newest(ADA, name)) == [
        "1", "beside 2", "after the title", "a turn", "an aside", "the end",
    ]  # fmt: skip


async def test_a_conversation_that_another_store_deleted_is_gone(stores: tuple[Store, Store]) -> None:
    store, other = stores
    name = await new(store, ADA, "1", "2")
    await other.delete(ADA, name)
    with pytest.raises(ConversationNotFound):
        await say(store, name, "3")
    await new(other, ADA, "another", name=name)
    await say(store, name, "of the new one")
    assert texts_of(await store.newest(ADA, name)) == ["another", "of the new one"]


async def test_a_conversation_that_was_indexed_meanwhile_falls_behind_again(stores: tuple[Store, Store]) -> None:
    store, other = stores
    name = await new(store, ADA, "one")
    for number in range(5):
        assert (await other.search(ADA, "one")).items
        await say(store, name, f"number{number}")
        assert [hit.seq for hit in (await other.search(ADA, f"number{number}")).items] == [number + 2]


async def test_what_a_store_remembers_is_of_one_user(stores: tuple[Store, Store]) -> None:
    store, _ = stores
    name = await new(store, ADA, "mine")
    await new(store, BOB, "theirs")
    with pytest.raises(ConversationNotFound):
        await say(store, name, "intruding", scope=BOB)


@pytest.mark.parametrize(
    ("append", "parents"),
    [
        (Append(bodies=(asked("x"),), parent=3), [3]),
        (Append(bodies=(asked("x"),), parent=1), [1]),
        (Append(bodies=(asked("x"),), parent=ROOT), [None]),
        (Append(bodies=(asked("x"),), expected_head=3), [3]),
        (Append(bodies=(asked("x"), asked("y"), asked("z"))), [3, 4, 5]),
        (Append(bodies=(State().change({"a": 1}), asked("y"))), [3, 4]),
        (Append(bodies=(Message(role=Role.ASSISTANT, tool_calls=(ToolCall(id="c", name="n"),)), asked("y"))), [3, 4]),
    ],
)
async def test_everything_else_is_as_it_would_be_without_a_memory(
    stores: tuple[Store, Store], append: Append, parents: list[int | None]
) -> None:
    appended: list[Any] = []
    for store in stores:
        name = await new(stores[0], ADA, "1", "2", "3")
        entries = (await store.append(ADA, name, append)).entries
        assert [entry.parent for entry in entries] == parents
        assert [entry.seq for entry in entries] == list(range(4, 4 + len(parents)))
        assert (await whole_log(store, ADA, name))[0][3:] == entries
        appended.append((await store.get(ADA, name)).model_dump(exclude={"id", "created_at", "updated_at"}))
        appended.append((await store.snapshot(ADA, name)).tree)
    assert appended[:2] == appended[2:]


async def test_a_head_that_is_not_expected_is_told(stores: tuple[Store, Store]) -> None:
    store, _ = stores
    name = await new(store, ADA, "1", "2")
    with pytest.raises(StaleHead) as caught:
        await store.append(ADA, name, Append(bodies=(asked("x"),), expected_head=1))
    assert caught.value.head == 2


async def test_many_who_append_at_once_leave_one_unbroken_log(stores: tuple[Store, Store]) -> None:
    name = await new(stores[0], ADA, "first")

    async def talk(store: Store, who: int) -> None:
        for number in range(15):
            await say(store, name, f"{who}.{number}")

    await asyncio.gather(*(talk(stores[who % 2], who) for who in range(6)))
    entries, _ = await whole_log(stores[0], ADA, name)
    assert [entry.seq for entry in entries] == list(range(1, 92))
    assert [entry.parent for entry in entries] == [None, *range(1, 91)]
    for who in range(6):
        mine = [text for text in texts_of(entries) if text.startswith(f"{who}.")]
        assert mine == [f"{who}.{number}" for number in range(15)]


async def test_what_one_writer_cannot_store_costs_the_others_of_its_group_nothing(
    stores: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, _ = stores
    names = [await new(store, ADA, "first") for _ in range(8)]
    original = Pool.write

    async def refusing(pool: Pool, verb: str, *arguments: Any) -> None:
        if any(b"poison" in (row[12] or b"") for row in arguments[3]):
            raise ValueError("this cannot be sent")
        await original(pool, verb, *arguments)

    monkeypatch.setattr(Pool, "write", refusing)
    texts = ["poison" if number == 3 else f"{number}" for number in range(8)]
    done = await asyncio.gather(
        *(say(store, name, text) for name, text in zip(names, texts, strict=True)), return_exceptions=True
    )
    assert [isinstance(answer, StoreError) for answer in done] == [number == 3 for number in range(8)]
    for number, name in enumerate(names):
        assert texts_of(await store.newest(ADA, name)) == ["first", *([] if number == 3 else [f"{number}"])]


async def test_of_many_who_create_with_one_key_at_once_one_does(stores: tuple[Store, Store]) -> None:
    for number in range(20):
        once = key(f"k{number}")
        made = await asyncio.gather(*(store.create(ADA, NewConversation(), key=once) for store in stores * 8))
        assert len({created.conversation.id for created in made}) == 1
        assert [created.replayed for created in made].count(False) == 1
