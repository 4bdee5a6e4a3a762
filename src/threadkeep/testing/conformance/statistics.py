"""Statistics: how much a tenant or a user has stored."""

import pytest

from threadkeep.conversation.entry import Update
from threadkeep.store.base import Store
from threadkeep.store.values import Statistics
from threadkeep.testing.samples import ADA, BOB, EVE, new, run, say


@pytest.mark.asyncio
class TestStatistics:
    async def test_a_tenant_that_stored_nothing_has_nothing(self, store: Store) -> None:
        assert await store.operations.statistics("nobody") == Statistics()
        assert await store.operations.statistics("nobody", user="ada") == Statistics()

    async def test_conversations_entries_and_bytes_are_counted_by_tenant_and_user(self, store: Store) -> None:
        await new(store, ADA, "12345", "é")
        await new(store, ADA)
        await new(store, BOB, "日本")
        await new(store, EVE, "x")
        assert await store.operations.statistics("acme") == Statistics(conversations=3, entries=3, bytes=13)
        assert await store.operations.statistics("acme", user="ada") == Statistics(conversations=2, entries=2, bytes=7)
        assert await store.operations.statistics("acme", user="bob") == Statistics(conversations=1, entries=1, bytes=6)
        assert await store.operations.statistics("umbrella") == Statistics(conversations=1, entries=1, bytes=1)

    async def test_bytes_count_the_text_before_compression(self, store: Store) -> None:
        await new(store, ADA, "a" * 100_000)
        assert (await store.operations.statistics("acme")).bytes == 100_000

    async def test_every_entry_counts(self, store: Store) -> None:
        name = await new(store, ADA, "hello")
        await store.update(ADA, name, Update(title="remark"))
        await run(store, name)
        statistics = await store.operations.statistics("acme")
        assert statistics.entries == (await store.get(ADA, name)).entries == 4
        assert statistics.bytes > 10

    async def test_what_is_deleted_counts_no_more(self, store: Store) -> None:
        name, kept = await new(store, ADA, "gone", "too"), await new(store, ADA, "kept")
        await store.delete(ADA, name)
        assert await store.operations.statistics("acme") == Statistics(conversations=1, entries=1, bytes=4)
        await say(store, kept, "more")
        assert await store.operations.statistics("acme") == Statistics(conversations=1, entries=2, bytes=8)
