"""Message counts: what the store counts, asked for as seldom as can be, and right whatever happened meanwhile."""

from collections.abc import AsyncIterator

import pytest

from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.scope import Scope
from threadkeep.errors import ConversationNotFound
from threadkeep.runtime import open_unanswered
from threadkeep.server.dialects import message_counts
from threadkeep.server.dialects.message_counts import MessageCounts
from threadkeep.store.base import MAX_BYTES, ROOT
from threadkeep.store.memory import MemoryStore
from threadkeep.testing.samples import ADA, EVE, new, say


class AskedStore(MemoryStore):
    """A store that remembers from where it was asked to count."""

    def __init__(self) -> None:
        super().__init__(utc_now, new_id, MAX_BYTES)
        self.asked: list[int] = []

    async def count(self, scope: Scope, conversation: str, *, head: int | None = None, after: int = ROOT) -> int:
        self.asked.append(after)
        return await super().count(scope, conversation, head=head, after=after)


@pytest.fixture
async def store() -> AsyncIterator[AskedStore]:
    store = AskedStore()
    yield store
    await store.close()


async def counts_of(store: AskedStore) -> MessageCounts:
    return MessageCounts(await open_unanswered(store))


async def _of(counts: MessageCounts, store: AskedStore, name: str, scope: Scope = ADA) -> int:
    return await counts.of(await store.get(scope, name))


async def test_an_empty_conversation_is_counted_without_asking(store: AskedStore) -> None:
    assert await _of(await counts_of(store), store, await new(store)) == 0
    assert store.asked == []


async def test_a_branch_that_has_grown_is_counted_from_where_it_was(store: AskedStore) -> None:
    counts, name = await counts_of(store), await new(store, ADA, *"123")
    assert [await _of(counts, store, name) for _ in range(3)] == [3, 3, 3]
    await say(store, name, *"45")
    assert await _of(counts, store, name) == 5
    assert store.asked == [ROOT, 3]


async def test_another_branch_is_counted_from_the_root(store: AskedStore) -> None:
    counts, name = await counts_of(store), await new(store, ADA, *"1234")
    assert await _of(counts, store, name) == 4
    await say(store, name, "beside 3", parent=2)
    assert await _of(counts, store, name) == 3
    await store.choose_head(ADA, name, 4)
    assert await _of(counts, store, name) == 4
    await store.choose_head(ADA, name, ROOT)
    assert await _of(counts, store, name) == 0


async def test_the_head_that_was_seen_is_counted_not_one_that_came_later(store: AskedStore) -> None:
    counts, name = await counts_of(store), await new(store, ADA, *"12")
    seen = await store.get(ADA, name)
    await say(store, name, *"34")
    assert await counts.of(seen) == 2


async def test_a_conversation_that_takes_over_an_id_is_counted_for_itself(store: AskedStore) -> None:
    counts, name = await counts_of(store), await new(store, ADA, *"123", name="c")
    await new(store, EVE, *"12", name="c")
    assert (await _of(counts, store, "c"), await _of(counts, store, "c", EVE)) == (3, 2)
    gone = await store.get(ADA, name)
    await store.delete(ADA, name)
    with pytest.raises(ConversationNotFound):
        await (await counts_of(store)).of(gone)
    await new(store, ADA, *"1234", name="c")
    assert await _of(counts, store, "c") == 4


async def test_what_is_remembered_has_a_limit(store: AskedStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(message_counts, "REMEMBERED", 2)
    counts, names = await counts_of(store), [await new(store, ADA, "1") for _ in range(5)]
    assert [await _of(counts, store, name) for name in names * 2] == [1] * 10
    assert len(counts._counted) <= 2
