"""A branch read back from its end, as many messages as were asked for; a walk through it in few calls, of which little
is held at a time."""

from pathlib import Path

import pytest
import pytest_asyncio

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation.state import StateChange
from threadkeep.errors import InvalidLimit
from threadkeep.runtime import open_store
from threadkeep.store.base import WALKED, Store
from threadkeep.store.paging import MOST_HELD, backwards, held, newest_messages, walk
from threadkeep.store.sqlite import index
from threadkeep.store.values import Append, ListFilter
from threadkeep.testing.samples import ADA, new, say

CHANGES = WALKED + 5
MESSAGES = 4


async def guided() -> Store:
    """A store with a conversation "c", in which many state changes follow each message."""
    store = await open_store("memory:")
    await store.create(LOCAL, NewConversation(id="c"))
    for number in range(MESSAGES):
        message = Message(role=Role.USER, content=str(number))
        await store.append(
            LOCAL, "c", Append(bodies=(message, *[StateChange(set={"n": number}, whole=True)] * CHANGES))
        )
    return store


@pytest.mark.parametrize("limit", [1, 3, MESSAGES, MESSAGES + 1, 1000, None])
async def test_a_limit_counts_messages_and_not_what_stands_between_them(limit: int | None) -> None:
    found = await newest_messages(await guided(), LOCAL, "c", limit=limit)
    assert [message.content for _, message in found] == list("0123")[-(limit or MESSAGES) :]
    assert [entry.body for entry, _ in found] == [message for _, message in found]


async def test_a_branch_is_read_back_to_its_beginning_once() -> None:
    store = await guided()
    seqs = [entry.seq async for entry in backwards(store, LOCAL, "c")]
    assert seqs == list(range(MESSAGES * (CHANGES + 1), 0, -1))


async def test_a_branch_is_read_from_the_entry_that_is_named() -> None:
    store = await guided()
    found = await newest_messages(store, LOCAL, "c", limit=10, head=CHANGES + 3)
    assert [message.content for _, message in found] == ["0", "1"]


@pytest.mark.parametrize("limit", [0, -1, 1001])
async def test_a_limit_is_a_number_from_1_to_1000(limit: int) -> None:
    with pytest.raises(InvalidLimit):
        await newest_messages(await guided(), LOCAL, "c", limit=limit)


async def test_a_filter_looks_at_so_many_conversations_for_a_page_and_the_next_goes_on_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "LOOKED_AT", 4)
    store = await open_store(f"sqlite:///{tmp_path}/one.db")
    await check_short_pages(store)
    await store.close()


async def check_short_pages(store: Store) -> None:
    """List the first two of ten conversations by a filter, four looked at for a page."""
    for number in range(10):
        await store.create(LOCAL, NewConversation(id=f"c{number}", metadata={"old": number < 2}))
    await store.append(LOCAL, "c5", Append(bodies=(Message(role=Role.USER, content="late"),)))
    pages: list[list[str]] = []
    after = None
    while not pages or after:
        page = await store.list(LOCAL, ListFilter(metadata={"old": "true"}), limit=2, after=after)
        pages.append([item.id for item in page.items])
        after = page.next
    assert pages == [[], [], ["c1", "c0"]]


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
    assert len([entry async for entry in walk(store, ADA, name)]) == 1200
    assert pages == [20, 100, 500, 500, 500]


async def test_the_pages_of_a_walk_stay_small_where_entries_are_large(store: Store, pages: list[int]) -> None:
    name = await new(store)
    await say(store, name, *["x" * (MOST_HELD // 30)] * 100)
    assert len([entry async for entry in walk(store, ADA, name)]) == 100
    assert pages == [20, 30, 30, 30]


async def test_a_walk_holds_little_of_messages_that_are_large_and_leaves_nothing_out(
    store: Store, pages: list[int]
) -> None:
    name = await new(store)
    await say(store, name, *["x" * MOST_HELD] * 5, *["y" * (MOST_HELD // 2)] * 4, *["z"] * 9)
    found = [entry async for entry in walk(store, ADA, name)]
    assert [entry.seq for entry in found] == list(range(1, 19))
    assert pages == [20, 1, 1, 1, 1, 1, 2, 2, 3, 15]
    assert [len(held(found[at:], 20)[0]) for at in (0, 5, 7, 8)] == [1, 2, 2, 10]
