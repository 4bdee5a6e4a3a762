"""Reading a conversation from PostgreSQL: everything that is shown of it comes in one round trip."""

from typing import Any

import pytest

from tests.postgres_server import Urls
from threadkeep.runtime import open_store
from threadkeep.store.values import Page
from threadkeep.testing.samples import ADA, new, running
from threadkeep_postgres.store import PostgresStore


async def test_a_whole_conversation_is_read_in_one_round_trip(
    postgres_database: Urls, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = await open_store(postgres_database.server)
    assert isinstance(store, PostgresStore)
    name = await new(store, ADA, *map(str, range(60)))
    await running(store, name)
    call, called = store._pool.call, list[str]()

    async def counted(verb: str, *arguments: Any) -> Any:
        called.append(verb)
        return await call(verb, *arguments)

    monkeypatch.setattr(store._pool, "call", counted)
    found = await store.snapshot(ADA, name, Page(messages=50))
    assert (len(found.entries), len(found.turns)) == (50, 1)
    assert called == ["snapshot"]
    await store.close()
