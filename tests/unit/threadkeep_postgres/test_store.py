"""The PostgreSQL store: a purge that is cut off in the middle, text that shares commits."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.backends import url_of
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.ids import new_id
from threadkeep.errors import ConversationNotFound
from threadkeep.store.base import MAX_BYTES
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, EVE, NO_TIME, new, running
from threadkeep_postgres import store as stores
from threadkeep_postgres.store import PostgresStore


async def test_a_purge_that_was_cut_off_is_finished_by_the_next(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(stores, "PURGE_STEP", 2)
    store = await PostgresStore.open(url_of("postgresql", tmp_path, request), clock, new_id, MAX_BYTES)
    for scope in (ADA, EVE):
        await new(store, scope, *["words"] * 5, name="c")
        await running(store, "c", scope=scope)
        assert len((await store.search(scope, "words")).items) == 5
        await store.delete(scope, "c")
    pool = store._pool
    tenant = await store._db.tenant(ADA.tenant)
    found = await pool.one("next_removal", tenant, NO_TIME, None)
    assert (await pool.one("purge", tenant, *found, 0, 2))["is_left"]
    with pytest.raises(ConversationNotFound):
        await store.restore(ADA, "c")
    assert await store.operations.purge(NO_TIME) == 2
    assert (await pool.one("next_removal", tenant, NO_TIME, None))["conversation"] is None
    await store.close()


async def test_texts_that_go_on_soon_after_one_another_share_a_commit(
    tmp_path: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    store = await PostgresStore.open(url_of("postgresql", tmp_path, request), clock, new_id, MAX_BYTES)
    write, commits = store._pool.write, 0

    async def count(name: str, *given: Any) -> Any:
        nonlocal commits
        commits += name == "commit"
        return await write(name, *given)

    monkeypatch.setattr(store._pool, "write", count)
    monkeypatch.setattr("threadkeep_postgres.writing.PACE_SECONDS", 0.5)
    leases = [await running(store, await new(store)) for _ in range(5)]
    for lease in leases:
        await store.write(lease, "m", 0, "One ")
    await store.write(leases[0], "m", 4, "two ")
    commits = 0
    await asyncio.gather(*(store.write(lease, "m", 8 if lease is leases[0] else 4, "more") for lease in leases))
    assert commits == 1
    drafts = [(await store.log(ADA, lease.conversation, Cursor(seq=2))).draft for lease in leases]
    assert [draft.text for draft in drafts if draft] == ["One two more", *["One more"] * 4]
    await store.close()
