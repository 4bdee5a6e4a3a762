"""What every store inherits: a walk reads a branch in few calls, and holds little of it at a time."""

import pytest
import pytest_asyncio

from threadkeep.conversation.entry import Entry
from threadkeep.runtime import open_store
from threadkeep.store.base import WALKED_CHARACTERS, Store
from threadkeep.testing.samples import ADA, new, say


@pytest_asyncio.fixture
async def store() -> Store:
    """A store in memory."""
    return await open_store("memory:")


@pytest.fixture
def pages(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many entries each call of a walk asks for."""
    asked: list[int] = []
    after = store.after

    async def noted(*arguments: object, limit: int, **options: object) -> tuple[Entry, ...]:
        asked.append(limit)
        return await after(*arguments, limit=limit, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(store, "after", noted)
    return asked


async def test_the_pages_of_a_walk_grow_while_entries_are_small(store: Store, pages: list[int]) -> None:
    name = await new(store)
    for _ in range(12):
        await say(store, name, *["hello"] * 100)
    assert len([entry async for entry in store.walk(ADA, name)]) == 1200
    assert pages == [20, 100, 500, 500, 500]


async def test_the_pages_of_a_walk_stay_small_where_entries_are_large(store: Store, pages: list[int]) -> None:
    name = await new(store)
    await say(store, name, *["x" * (WALKED_CHARACTERS // 30)] * 100)
    assert len([entry async for entry in store.walk(ADA, name)]) == 100
    assert pages == [20, 30, 30, 30]
