"""The PostgreSQL store: a purge that is cut off in the middle."""

from pathlib import Path

import pytest

from tests.backends import url_of
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
