"""What was purged is in no file of a PostgreSQL database after its next checkpoint; of its own log see the docs."""

import asyncpg
import pytest

from tests.postgres_server import PostgresServer, Urls
from threadkeep.conversation.api_key import KeyRole
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Update
from threadkeep.conversation.scope import Scope
from threadkeep.retention.erasure import Erasure
from threadkeep.runtime import open_store, open_unanswered
from threadkeep.store.attachments import Attachments
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, BOB, NO_TIME, new, running, say
from threadkeep_postgres import database

SAID = ("zebrafinch", "quetzalbird", "okapiherd")
TITLE, META, SYSTEM, DRAFT, KEPT = "xerusburrow", "jacanalily", "vicunawool", "wombatden", "pangolinlair"
PERSON = Scope(tenant="acme", user="tamarinnest")
_FILES = """
SELECT DISTINCT word FROM unnest($1::text[]) word,
    (SELECT 'base/' || d.oid AS folder FROM pg_database d WHERE d.datname = current_database()) here,
    pg_ls_dir(here.folder) file
WHERE position(convert_to(word, 'UTF8') IN pg_read_binary_file(here.folder || '/' || file, 0, 100000000, true)) > 0
"""


def _found(server: PostgresServer, urls: Urls) -> set[str]:
    """Return the words that stand in any file of the database."""
    admin, words = (
        server.as_admin(urls),
        ", ".join(f"'{word}'" for word in (*SAID, TITLE, META, SYSTEM, DRAFT, KEPT, PERSON.user)),
    )
    server.execute("ANALYZE; CHECKPOINT", admin)
    return {word for (word,) in server.fetch(_FILES.replace("$1", f"ARRAY[{words}]"), admin)}


async def _store_and_delete(urls: Urls) -> None:
    store = await open_store(urls.server)
    await new(store, BOB, *(f"{KEPT} {number}" for number in range(50)), name="kept")
    await store.create(ADA, NewConversation(id="gone", system=f"be {SYSTEM}", metadata={"a": META}))
    for word in SAID:
        await say(store, "gone", *(f"a {word} {number}" for number in range(30)))
        assert (await store.search(ADA, word)).items
    await store.update(ADA, "gone", Update(title=TITLE))
    await store.write(await running(store, "gone"), "m1", 0, DRAFT)
    await store.delete(ADA, "gone")
    await store.close()


async def test_a_purged_text_is_in_no_file_and_the_neighbours_is(
    postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    await _store_and_delete(postgres_database)
    assert len(_found(postgres_server, postgres_database)) > 5
    store = await open_store(postgres_database.server)
    assert await store.operations.purge(NO_TIME) == 1
    assert _found(postgres_server, postgres_database) == {KEPT}
    assert len((await store.search(BOB, KEPT, limit=100)).items) == 50
    assert len(await store.newest(BOB, "kept", limit=100)) == 50
    await store.close()


async def test_the_name_of_an_erased_person_is_in_no_file_and_whoever_comes_back_is_known_to_all(
    postgres_server: PostgresServer, postgres_database: Urls, clock: FakeClock
) -> None:
    store, other = await open_store(postgres_database.server), await open_store(postgres_database.server)
    await (await open_unanswered(store)).admin.create_key(PERSON, KeyRole.USER)
    await new(store, PERSON, "hello", name="first")
    await running(store, "first", scope=PERSON)
    assert (await other.list(PERSON)).items
    assert _found(postgres_server, postgres_database) == {PERSON.user}
    assert store.files is not None
    files = Attachments(store.files, clock)
    await files.save(PERSON, f"{PERSON.user}.txt", "", PERSON.user.encode() * 50_000)
    assert (await Erasure(store, files, clock, _stop).erase(PERSON)).files == 1
    assert _found(postgres_server, postgres_database) == set()
    for one in (other, store):
        name = await new(one, PERSON, "hello again")
        assert await store.operations.users("acme") == (PERSON.user,)
        for each in (store, other):
            assert [item.id for item in (await each.list(PERSON)).items] == [name]
        await one.delete(PERSON, name)
        assert await one.operations.purge(NO_TIME) == 1
    await store.close()
    await other.close()


async def _stop(scope: Scope, conversation: str) -> None:
    """Nothing runs."""


async def test_a_purge_that_met_somebody_who_reads_on_is_finished_by_the_next(
    postgres_server: PostgresServer, postgres_database: Urls
) -> None:
    await _store_and_delete(postgres_database)
    store = await open_store(postgres_database.server)
    reader = await asyncpg.connect(postgres_database.owner)
    await reader.execute("BEGIN; LOCK TABLE threadkeep.entry IN ACCESS SHARE MODE")
    assert await store.operations.purge(NO_TIME) == 0
    await reader.close()
    assert await store.operations.purge(NO_TIME) == 1
    assert await store.operations.purge(NO_TIME) == 0
    assert _found(postgres_server, postgres_database) == {KEPT}
    await store.close()


async def test_a_table_that_is_too_large_is_not_written_anew(
    postgres_server: PostgresServer, postgres_database: Urls, monkeypatch: pytest.MonkeyPatch
) -> None:
    await _store_and_delete(postgres_database)
    monkeypatch.setattr(database, "REWRITTEN_BYTES", 0)
    before = postgres_server.fetch("SELECT pg_relation_filenode('threadkeep.entry')", postgres_database.owner)
    store = await open_store(postgres_database.server)
    assert await store.operations.purge(NO_TIME) == 1
    after = postgres_server.fetch("SELECT pg_relation_filenode('threadkeep.entry')", postgres_database.owner)
    assert before == after
    await store.close()
