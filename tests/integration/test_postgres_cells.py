"""Tenants of several cells: nothing that a store promises changes, and a tenant is widened while people come.

Parts of the conformance suite run with three cells for every tenant; with `THREADKEEP_TEST_CELLS=1` all of it does.
"""

import asyncio
import os
from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
import pytest_asyncio

from tests.backends import InDatabase
from tests.postgres_server import Urls
from threadkeep.cli.main import main
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.scope import Scope
from threadkeep.errors import InvalidValue, TooManyConversations
from threadkeep.store.audit import Wanted
from threadkeep.store.base import Store
from threadkeep.store.caps import Caps, Load
from threadkeep.store.values import EVERY, ListFilter
from threadkeep.testing import conformance
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, new, texts_of
from threadkeep.testing.stores import OpenAnother
from threadkeep_postgres import pool
from threadkeep_postgres.cells import KNOWN_FOR, OPENS_AFTER
from threadkeep_postgres.store import PostgresStore

PARTS = ("TestAttachments", "TestAudit", "TestConversations", "TestDeletion", "TestScopes", "TestStatistics")
globals().update(
    {
        name: part
        for name, part in vars(conformance).items()
        if name in PARTS or (name.startswith("Test") and os.environ.get("THREADKEEP_TEST_CELLS"))
    }
)
THREE = (
    "INSERT INTO threadkeep.tenant (name, cell) SELECT $1, cell FROM generate_series(0, 2) cell ON CONFLICT DO NOTHING"
)
PEOPLE = [Scope(tenant="acme", user=f"user-{number}") for number in range(12)]


@pytest.fixture
def open_another(clock: FakeClock, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> OpenAnother:
    """Every tenant begins with three cells."""
    opened = InDatabase(request)
    monkeypatch.setitem(pool._STATEMENTS, "make_tenant", THREE)

    async def open_one() -> Store:
        return await opened(clock)

    return open_one


@pytest_asyncio.fixture
async def narrow(
    clock: FakeClock, request: pytest.FixtureRequest
) -> AsyncIterator[tuple[PostgresStore, PostgresStore]]:
    """Two servers on a database in which tenants begin with one cell."""
    opened = InDatabase(request)
    stores = [await opened(clock), await opened(clock)]
    one, other = (store for store in stores if isinstance(store, PostgresStore))
    yield one, other
    for store in stores:
        await store.close()


async def _cell(store: PostgresStore, scope: Scope) -> int:
    keys = await store._db.scope(scope)
    assert keys is not None
    return keys[0]


def _later(store: PostgresStore) -> None:
    """Let a server take what it knows of cells for old, as it does after `KNOWN_FOR` seconds."""
    store._db._tenants = type(store._db._tenants)(
        {name: (cells, read_at - KNOWN_FOR) for name, (cells, read_at) in store._db._tenants.items()}
    )


async def test_who_is_there_stays_and_who_is_new_lives_in_all_cells(
    narrow: tuple[PostgresStore, PostgresStore], clock: FakeClock
) -> None:
    one, other = narrow
    before = {scope: await new(one, scope, "before") for scope in PEOPLE[:6]}
    home = await _cell(one, PEOPLE[0])
    assert len((await one.cells("acme", 4)).keys) == 4
    await new(one, ADA)
    assert await _cell(one, ADA) == home
    clock.advance(OPENS_AFTER.total_seconds())
    _later(one)
    _later(other)
    after = {scope: await new(other, scope, "after") for scope in PEOPLE[6:]}
    cells = {scope: await _cell(other, scope) for scope in after}
    assert len(set(cells.values())) > 1
    for scope, name in (before | after).items():
        for store in narrow:
            assert texts_of(await store.newest(scope, name)) == ["before" if scope in before else "after"]
            assert await _cell(store, scope) == cells.get(scope, home)
    assert await one.operations.users("acme") == tuple(sorted(scope.user for scope in [*PEOPLE, ADA]))
    assert (await one.operations.statistics("acme")).conversations == 13
    assert await one.operations.owner("acme", after[PEOPLE[9]]) == PEOPLE[9]


async def test_somebody_who_comes_to_two_servers_while_cells_open_lives_in_one(
    narrow: tuple[PostgresStore, PostgresStore], clock: FakeClock
) -> None:
    one, other = narrow
    await new(one, ADA)
    await new(other, PEOPLE[0])
    await one.cells("acme", 16)
    clock.advance(OPENS_AFTER.total_seconds())
    # The other server still goes by what it knew before.
    await asyncio.gather(*(new(store, scope) for scope in PEOPLE[1:] for store in narrow))
    _later(one)
    _later(other)
    for scope in PEOPLE[1:]:
        for store in narrow:
            assert len((await store.list(scope)).items) == 2
    assert (await one.operations.statistics("acme")).conversations == 2 + 2 * len(PEOPLE[1:])


async def test_lists_of_a_tenant_go_through_all_cells_in_order(open_another: OpenAnother, clock: FakeClock) -> None:
    store = await open_another()
    names: list[str] = []
    for scope in PEOPLE * 3:
        clock.advance(1)
        kind = "even" if len(names) % 2 == 0 else "odd"
        made = await store.create(scope, NewConversation(title=f"{kind} {len(names)}"))
        names.append(made.conversation.id)
    for where, wanted in ((EVERY, names), (ListFilter(title="even"), names[::2])):
        found, after = list[str](), None
        while True:
            page = await store.list("acme", where, limit=5, after=after)
            found += [item.id for item in page.items]
            if (after := page.next) is None:
                break
        assert found == wanted[::-1]
    await store.close()


async def test_acts_of_all_cells_stand_in_one_chain(open_another: OpenAnother, clock: FakeClock) -> None:
    store, other = await open_another(), await open_another()
    names = [(scope, await new(store, scope)) for scope in PEOPLE]
    for scope, name in names:
        clock.advance(1)
        await store.delete(scope, name)
    # Two who read at the same time give each act one place.
    await asyncio.gather(*(each.audit.read("acme") for each in (store, other) for _ in range(3)))
    deleted = await store.audit.read("acme", Wanted(actions=("conversation.deleted",)))
    assert sorted(record.act.object for record in deleted) == sorted(f"conversation:{name}" for _, name in names)
    assert (await other.audit.verify("acme")).breaks == ()
    await store.close()
    await other.close()


async def test_a_cap_of_a_tenant_counts_all_its_cells(open_another: OpenAnother) -> None:
    store = await open_another()
    store.operations.caps = Caps(tenant=Load(len(PEOPLE)))
    for scope in PEOPLE:
        await new(store, scope)
    with pytest.raises(TooManyConversations):
        await new(store, ADA)
    await store.close()


async def test_who_is_erased_and_comes_back_lives_where_they_lived(
    narrow: tuple[PostgresStore, PostgresStore], clock: FakeClock
) -> None:
    one, other = narrow
    name = await new(one, ADA, "secret")
    home = await _cell(one, ADA)
    await one.delete(ADA, name)
    await one.operations.purge(timedelta(0), owner=ADA)
    await one.cells("acme", 64)
    clock.advance(OPENS_AFTER.total_seconds())
    await new(other, ADA)
    assert await _cell(other, ADA) == home


async def test_the_command_shows_cells_and_adds_some(
    narrow: tuple[PostgresStore, PostgresStore],
    postgres_database: Urls,
    capsys: pytest.CaptureFixture[str],
) -> None:
    one, _ = narrow
    await new(one, ADA)
    store = ["--store", postgres_database.server]
    assert await asyncio.to_thread(main, ["cells", "acme", *store]) == 0
    assert capsys.readouterr().out == "acme has 1 cell\n"
    assert await asyncio.to_thread(main, ["cells", "acme", "3", *store]) == 0
    assert "acme has 3 cells\nPeople who are new live in all of them from" in capsys.readouterr().out
    assert [record.act.details for record in await one.audit.read("acme", Wanted(actions=("tenant.widened",)))] == [
        {"cells": 3}
    ]
    for wrong in (["nobody", "3"], ["acme", "0"], ["acme", "100000"]):
        assert await asyncio.to_thread(main, ["cells", *wrong, *store]) == 1
        assert len(capsys.readouterr().err.splitlines()) == 1
    with pytest.raises(InvalidValue):
        await one.cells("nobody", 2)


def test_elsewhere_tenants_have_no_cells(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cells", "acme", "2", "--store", f"sqlite:///{tmp_path}/threadkeep.db"]) == 1
    assert capsys.readouterr().err == "threadkeep: Only tenants in PostgreSQL have cells.\n"
