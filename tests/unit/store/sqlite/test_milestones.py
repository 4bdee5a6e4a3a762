"""Milestones in SQLite: where they are set, that counting relies on them, and files that have none or too few."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.entry import Summary
from threadkeep.conversation.ids import new_id
from threadkeep.errors import StaleVersion
from threadkeep.store.base import MAX_BYTES, Append
from threadkeep.store.rules import Rules, Verb
from threadkeep.store.sqlite.connection import Database
from threadkeep.store.sqlite.schema import APPLICATION, migrations
from threadkeep.store.sqlite.store import SqliteStore
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, EVE, NO_TIME, asked, new, say

ALL = "SELECT tenant, conversation, seq, messages FROM milestone ORDER BY 1, 2, 3"


@pytest.fixture
async def store(tmp_path: Path, clock: FakeClock) -> AsyncIterator[SqliteStore]:
    store = await _open(tmp_path, clock)
    yield store
    await store.close()


async def _open(folder: Path, clock: FakeClock) -> SqliteStore:
    return await SqliteStore.open(folder / "t.db", clock, new_id, MAX_BYTES)


def _db(store: SqliteStore) -> Database:
    return store.writer.connection


def _write_old(source: Path, path: Path) -> None:
    """Write a file as the releases before milestones did, with the log of another."""
    old = Database(str(path))
    for _, _, sql in migrations()[:3]:
        old.execute(sql)
    old.pragma("user_version", 3)
    old.pragma("application_id", APPLICATION)
    old.execute("ATTACH ? AS new", (str(source),))
    for table in ("tenant", "user", "conversation", "entry", "jump"):
        columns = ", ".join(f'"{row[1]}"' for row in old.rows(f"PRAGMA main.table_info({table})"))
        old.execute(f"INSERT INTO main.{table} ({columns}) SELECT {columns} FROM new.{table}")
    old.close()


async def _remark(store: SqliteStore, name: str) -> None:
    await store.append(ADA, name, Append(bodies=(Summary(content="remark"),)))


async def test_a_log_has_a_milestone_at_every_256th_entry(store: SqliteStore) -> None:
    name = await new(store, ADA, *["x"] * 254)
    await _remark(store, name)
    assert _db(store).rows(ALL) == []
    await _remark(store, name)
    assert _db(store).rows(ALL) == [(1, 1, 256, 254)]
    await say(store, name, *["x"] * 600)
    assert _db(store).rows(ALL) == [(1, 1, 256, 254), (1, 1, 512, 510), (1, 1, 768, 766)]


async def test_what_lies_between_milestones_is_not_read(store: SqliteStore) -> None:
    name = await new(store, ADA, *["x"] * 1000)
    _db(store).execute("DELETE FROM entry WHERE seq BETWEEN 300 AND 700")
    assert await store.count(ADA, name) == 1000
    assert await store.count(ADA, name, after=280) == 720


async def test_missing_milestones_make_no_difference_and_the_next_one_is_right(store: SqliteStore) -> None:
    name = await new(store, ADA, *["x"] * 1000)
    _db(store).execute("DELETE FROM milestone WHERE seq > 256")
    assert await store.count(ADA, name) == 1000
    await say(store, name, *["x"] * 100)
    assert await store.count(ADA, name) == 1100
    assert _db(store).rows(ALL) == [(1, 1, 256, 256), (1, 1, 1024, 1024)]


async def test_an_append_that_is_undone_leaves_no_milestone(store: SqliteStore) -> None:
    name = await new(store, ADA, *["x"] * 255)

    def fail() -> None:
        append = Append(bodies=(asked("y"),))
        store._log.write(ADA, name, Verb(lambda end: Rules(utc_now, 1000).append(end, append)))
        assert len(_db(store).rows(ALL)) == 1
        raise StaleVersion(1)

    with pytest.raises(StaleVersion):
        await store.writer.run(fail)
    assert _db(store).rows(ALL) == []
    await say(store, name, "y")
    assert await store.count(ADA, name) == 256


async def test_a_file_of_an_older_release_gets_its_milestones_when_it_is_opened(
    tmp_path: Path, clock: FakeClock
) -> None:
    store = await _open(tmp_path, clock)
    names = [(scope, await new(store, scope, *["x"] * 200)) for scope in (ADA, ADA, EVE)]
    for scope, name in names:
        await store.append(scope, name, Append(bodies=(Summary(content="remark"),) * 30))
        await say(store, name, *["x"] * 500, scope=scope, parent=7)
    await new(store, EVE, "too short for one")
    await new(store, EVE, *["x"] * 512)
    expected = _db(store).rows(ALL)
    await store.close()
    (tmp_path / "old").mkdir()
    _write_old(tmp_path / "t.db", tmp_path / "old" / "t.db")
    store = await _open(tmp_path / "old", clock)
    assert _db(store).rows(ALL) == expected
    assert len(expected) == 8
    assert [await store.count(*name) for name in names] == [507] * 3
    await store.close()


async def test_milestones_are_purged_with_their_conversation(store: SqliteStore, clock: FakeClock) -> None:
    name = await new(store, ADA, *["x"] * 600)
    await store.delete(ADA, name)
    assert len(_db(store).rows(ALL)) == 2
    await store.purge(NO_TIME)
    assert _db(store).rows(ALL) == []


async def test_a_milestone_that_an_older_release_left_behind_does_not_hold_an_append_up(store: SqliteStore) -> None:
    name = await new(store, ADA, "x")
    tenant, conversation = _db(store).row("SELECT tenant, conversation FROM entry LIMIT 1")
    await store.writer.run(
        lambda: _db(store).execute("INSERT INTO milestone VALUES (?, ?, 256, 7)", (tenant, conversation))
    )
    for _ in range(3):
        await store.append(ADA, name, Append(bodies=tuple(asked("x") for _ in range(100))))
    assert await store.count(ADA, name) == 301
