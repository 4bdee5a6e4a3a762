"""The SQLite store in memory: what the conformance suite does not say of it."""

import threading

import pytest

from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import ConversationNotFound, StoreUnavailable
from threadkeep.runtime import open_store
from threadkeep.store.sqlite.memory import LARGEST_LAG
from threadkeep.testing.samples import new, say


async def test_a_store_that_is_thrown_away_leaves_no_thread() -> None:
    before = threading.active_count()
    for number in range(5):
        store = await open_store("memory:")
        await new(store, LOCAL, f"question {number}", name="a")
        await store.search(LOCAL, "question")
        await store.close()
    assert threading.active_count() == before


async def test_two_stores_share_nothing() -> None:
    one, two = await open_store("memory:"), await open_store("memory:")
    await new(one, LOCAL, name="a")
    with pytest.raises(ConversationNotFound):
        await two.get(LOCAL, "a")
    assert await one.keyring.secret() != await two.keyring.secret()


async def test_a_closed_store_says_so() -> None:
    store = await open_store("memory:")
    await new(store, LOCAL, name="a")
    await store.close()
    for verb in (store.operations.ping(), store.get(LOCAL, "a"), say(store, "a", "more", scope=LOCAL)):
        with pytest.raises(StoreUnavailable):
            await verb


async def test_words_are_found_before_and_after_they_are_indexed() -> None:
    store = await open_store("memory:")
    await new(store, LOCAL, name="a")
    for number in range(LARGEST_LAG + 1):
        await say(store, "a", f"word{number}", scope=LOCAL)
    for number in (0, LARGEST_LAG):
        assert [hit.seq for hit in (await store.search(LOCAL, f"word{number}")).items] == [number + 1]
