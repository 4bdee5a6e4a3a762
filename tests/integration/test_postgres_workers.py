"""A database whose tenants live on several machines, one of which is away: here every row of its tenant answers as a
coordinator does that cannot reach a worker. The work for the other tenants goes on."""

from collections.abc import Callable
from datetime import timedelta
from typing import cast

import pytest

from tests.postgres_server import SERVER, PostgresServer, Urls
from threadkeep.errors import StoreUnavailable
from threadkeep.runtime import open_store
from threadkeep.store.unreached import AGAIN_AFTER
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, EVE, NO_TIME, new, running
from threadkeep_postgres.store import PostgresStore

WHY = "connection to the remote node worker-2:5432 failed"
_GUARDED = f"""
CREATE TABLE public.away (tenant text);
CREATE FUNCTION public.is_reached(p_tenant integer) RETURNS boolean LANGUAGE plpgsql SECURITY DEFINER AS $$ BEGIN
    IF EXISTS (SELECT FROM public.away a JOIN threadkeep.tenant t ON t.name = a.tenant WHERE t.key = p_tenant) THEN
        RAISE connection_failure USING MESSAGE = '{WHY}';
    END IF;
    RETURN true;
END $$;
DO $$ DECLARE guarded text; BEGIN
    FOR guarded IN SELECT c.relname FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant'
        WHERE c.relnamespace = 'threadkeep'::regnamespace AND c.relkind = 'r' AND a.atttypid = 'integer'::regtype
    LOOP
        EXECUTE format('ALTER TABLE threadkeep.%I ENABLE ROW LEVEL SECURITY', guarded);
        IF NOT EXISTS (SELECT FROM pg_policies p WHERE p.schemaname = 'threadkeep' AND p.tablename = guarded) THEN
            EXECUTE format('CREATE POLICY everybody ON threadkeep.%I USING (true)', guarded);
        END IF;
        EXECUTE format('CREATE POLICY worker ON threadkeep.%I AS RESTRICTIVE USING (is_reached(tenant))', guarded);
    END LOOP;
    -- Otherwise small tables are read as a whole, whatever tenant is asked for.
    EXECUTE format('ALTER ROLE {SERVER} IN DATABASE %I SET enable_seqscan = off', current_database());
END $$;
"""


@pytest.fixture
def worker_dies(postgres_server: PostgresServer, postgres_database: Urls) -> Callable[[str], None]:
    """What lets the machine of a tenant (none: nobody's) be away."""
    admin = postgres_server.as_admin(postgres_database)
    postgres_server.execute(_GUARDED, admin)

    def die(tenant: str) -> None:
        postgres_server.execute(f"TRUNCATE public.away; INSERT INTO public.away VALUES ('{tenant}')", admin)

    return die


def _behind(server: PostgresServer, urls: Urls) -> int:
    return int(server.fetch("SELECT count(*) FROM threadkeep.behind", server.as_admin(urls))[0][0])


async def test_background_jobs_go_on_for_the_tenants_of_the_other_workers(
    postgres_server: PostgresServer,
    postgres_database: Urls,
    worker_dies: Callable[[str], None],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Nothing is indexed but when this says so.
    monkeypatch.setattr("threadkeep_postgres.search.PAUSE_SECONDS", 3600)
    clock = FakeClock()
    store = cast(PostgresStore, await open_store(postgres_database.server, clock=clock))
    for scope in (ADA, EVE):
        # Who deletes lets the index catch up first.
        await store.delete(scope, await new(store, scope, "secret"))
        await running(store, await new(store, scope), scope=scope, lease_for=NO_TIME)
    worker_dies(EVE.tenant)
    with pytest.raises(StoreUnavailable, match=WHY):
        await store.list(EVE)
    assert [turn.scope for turn in await store.operations.expired(timedelta(minutes=1))] == [ADA]
    assert await store.operations.purge(NO_TIME) == 1
    await store._index.catch_up()
    assert _behind(postgres_server, postgres_database) == 1
    state = store.operations.unreached.state
    assert state is not None
    assert (state.tenants, state.since) == (1, clock())
    assert state.error == "store_unavailable"
    assert {
        record.getMessage().partition(":")[0] for record in caplog.records if record.name.endswith("unreached")
    } == {
        f"{job} fails for the tenant {EVE.tenant} and goes on for the others"
        for job in ("recovery", "purging", "indexing")
    }

    worker_dies("nobody")
    clock.advance(AGAIN_AFTER.total_seconds())
    assert {turn.scope for turn in await store.operations.expired(timedelta(minutes=1))} == {ADA, EVE}
    assert await store.operations.purge(NO_TIME) == 1
    await store._index.catch_up()
    assert _behind(postgres_server, postgres_database) == 0
    assert store.operations.unreached.state is None
    await store.close()


async def test_search_finds_what_was_indexed_before_a_tenant_moved_to_a_worker_whose_clock_is_behind(
    postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    store = await open_store(postgres_database.server)
    await new(store, ADA, "word one", "word two", "word three")
    assert len((await store.search(ADA, "word")).items) == 3
    hour = 3600 * 1_000_000
    postgres_server.execute(
        f"UPDATE threadkeep.word SET position = position + {hour}", postgres_server.as_admin(postgres_database)
    )
    first = await store.search(ADA, "word", limit=2)
    rest = await store.search(ADA, "word", limit=2, after=first.next)
    assert len({hit.seq for hit in (*first.items, *rest.items)}) == 3
    await store.close()
