"""Making, finding and removing share links."""

from collections.abc import AsyncIterator
from datetime import timedelta

import pytest

from threadkeep.conversation.share import MOST_SHARES
from threadkeep.errors import EntryNotFound, InvalidValue, ShareNotFound
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.store.shares import add_share, end_shares, find_share, good_shares
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, new

DAY = timedelta(days=1)


@pytest.fixture
async def store(clock: FakeClock) -> AsyncIterator[Store]:
    store = await open_store("memory:", clock=clock)
    yield store
    await store.close()


async def test_a_link_leads_to_its_branch_until_it_ends(store: Store, clock: FakeClock) -> None:
    place = ADA, await new(store, ADA, "one", "two")
    token, share = await add_share(store, clock, place, 1, DAY)
    found, link = await find_share(store, clock, token)
    assert (found.id, link, link.head) == (place[1], share, 1)
    clock.advance(DAY.total_seconds())
    with pytest.raises(ShareNotFound):
        await find_share(store, clock, token)
    assert await good_shares(store, clock, place) == ()


async def test_a_link_is_taken_back_and_the_others_stay(store: Store, clock: FakeClock) -> None:
    place = ADA, await new(store, ADA, "one")
    (gone, first), (kept, second) = [await add_share(store, clock, place, None, None) for _ in range(2)]
    await end_shares(store, clock, place, first.id)
    assert await good_shares(store, clock, place) == (second,)
    with pytest.raises(ShareNotFound):
        await find_share(store, clock, gone)
    with pytest.raises(ShareNotFound):
        await end_shares(store, clock, place, first.id)
    await end_shares(store, clock, place, None)
    with pytest.raises(ShareNotFound):
        await find_share(store, clock, kept)


async def test_there_must_be_something_to_share(store: Store, clock: FakeClock) -> None:
    with pytest.raises(InvalidValue, match="nothing to share"):
        await add_share(store, clock, (ADA, await new(store)), None, None)
    with pytest.raises(EntryNotFound):
        await add_share(store, clock, (ADA, await new(store, ADA, "one")), 9, None)


async def test_links_that_have_ended_make_room_for_others(store: Store, clock: FakeClock) -> None:
    place = ADA, await new(store, ADA, "one")
    for _ in range(MOST_SHARES):
        await add_share(store, clock, place, None, DAY)
    with pytest.raises(InvalidValue, match="take one back first"):
        await add_share(store, clock, place, None, None)
    clock.advance(DAY.total_seconds())
    _, share = await add_share(store, clock, place, None, None)
    assert (await store.get(*place)).shares == (share,)
