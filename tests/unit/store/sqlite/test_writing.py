"""The end of a log that is remembered: what another process writes to that log counts at once."""

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest

from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Update
from threadkeep.conversation.ids import new_id
from threadkeep.errors import ConversationNotFound, DraftMismatch, LeaseLost, StaleVersion
from threadkeep.store.base import MAX_BYTES
from threadkeep.store.sqlite.store import SqliteStore
from threadkeep.store.sqlite.writing import SqliteEnd
from threadkeep.testing.samples import ADA, NO_TIME, new, running, say, settle


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(tmp_path / "one.db", utc_now, new_id, MAX_BYTES)
    yield store
    await store.close()


@pytest.fixture
async def other(store: SqliteStore, tmp_path: Path) -> AsyncIterator[SqliteStore]:
    """The same file, as another process has it open."""
    other = await SqliteStore.open(tmp_path / "one.db", utc_now, new_id, MAX_BYTES)
    yield other
    await other.close()


def _end(store: SqliteStore, name: str) -> SqliteEnd:
    return store._log._ends[ADA.tenant, ADA.user, name]


async def test_what_others_write_elsewhere_leaves_an_end_as_it_is(store: SqliteStore, other: SqliteStore) -> None:
    name = await new(store, ADA, "hello")
    lease = await running(store, name)
    await store.write(lease, "m", 0, "wo")
    end = _end(store, name)
    await new(other, ADA, "elsewhere")
    await store.write(lease, "m", 2, "rds")
    assert _end(store, name) is end


async def test_entries_of_others_are_before_ours(store: SqliteStore, other: SqliteStore) -> None:
    name = await new(store, ADA, "one")
    await say(other, name, "two")
    await say(store, name, "three")
    entries = await store.newest(ADA, name)
    assert [(entry.seq, entry.parent) for entry in entries] == [(1, None), (2, 1), (3, 2)]


async def test_text_of_others_is_before_ours(store: SqliteStore, other: SqliteStore) -> None:
    lease = await running(store, await new(store))
    await store.write(lease, "m", 0, "one ")
    await other.write(lease, "m", 4, "two ")
    with pytest.raises(DraftMismatch):
        await store.write(lease, "m", 4, "three")
    await store.write(lease, "m", 8, "three")


async def test_a_change_by_others_makes_a_version_old(store: SqliteStore, other: SqliteStore) -> None:
    name = await new(store)
    version = (await store.update(ADA, name, Update(title="one"))).version
    await other.update(ADA, name, Update(title="two"))
    with pytest.raises(StaleVersion):
        await store.update(ADA, name, Update(title="three"), expected_version=version)


@pytest.mark.parametrize("act", ["settles", "takes"])
async def test_a_turn_that_others_have_is_not_ours(store: SqliteStore, other: SqliteStore, act: str) -> None:
    lease = await running(store, await new(store))
    await store.extend(lease, timedelta(minutes=1))
    if act == "settles":
        await settle(other, lease)
    else:
        (turn,) = await other.turns(ADA, lease.conversation)
        await other.take(turn, "other", timedelta(minutes=1))
    with pytest.raises(LeaseLost):
        await store.extend(lease, timedelta(minutes=1))


async def test_what_others_deleted_is_gone(store: SqliteStore, other: SqliteStore) -> None:
    name = await new(store, ADA, "hello")
    await other.delete(ADA, name)
    with pytest.raises(ConversationNotFound):
        await say(store, name, "again")


async def test_what_others_made_in_the_place_of_a_purged_one_begins_anew(
    store: SqliteStore, other: SqliteStore
) -> None:
    name = await new(store, ADA, "one")
    before = _end(store, name)
    await other.delete(ADA, name)
    assert await other.operations.purge(NO_TIME) == 1
    await other.create(ADA, NewConversation(id=name))
    await say(other, name, "first")
    await say(store, name, "second")
    after = _end(store, name)
    # The new one has even the row's key of the old one, and as many entries.
    assert after.log.key.conversation == before.log.key.conversation
    assert after is not before
