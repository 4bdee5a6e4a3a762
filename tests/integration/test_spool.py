"""A database that goes away while people write: what they send is kept on the instance's disk, and written once, in
order, when it is back."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from httpx_sse import aconnect_sse

from tests.database_proxy import before
from tests.integration.serving import EVENTS, Server, serving
from tests.postgres_server import PostgresServer, Urls
from threadkeep.conversation.api_key import ApiKey, KeyRole, digest_of, new_secret
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.events import TurnEnded
from threadkeep.conversation.message import Message
from threadkeep.conversation.parts import Attachment
from threadkeep.conversation.turn import TurnState
from threadkeep.errors import (
    FileNotFound,
    InvalidCursor,
    InvalidValue,
    LeaseLost,
    SpoolFull,
    StoreBusy,
    StoreUnavailable,
)
from threadkeep.hosting import Hosting, SpoolSettings
from threadkeep.runtime import migrate, open_conversations, open_store
from threadkeep.settings import Settings
from threadkeep.store.attachments import Attachments
from threadkeep.store.base import Store
from threadkeep.store.values import Append, Begin
from threadkeep.testing.samples import ADA, MINUTE, NO_TIME, answered, asked, key, new, run, settle, texts_of
from threadkeep.testing.scripted_model import ScriptedModel, says
from threadkeep.testing.stores import whole_log
from threadkeep.turn.follow import follow
from threadkeep.turn.local_bus import LocalBus
from threadkeep_postgres.spool.opening import open_spooling_store
from threadkeep_postgres.spool.spooling import SpoolingStore

PATIENCE = 30
PNG = b"\x89PNG\r\n\x1a\n and so on"


@asynccontextmanager
async def spooling(url: str, folder: Path, **settings: Any) -> AsyncIterator[SpoolingStore]:
    """Open a store with a spool for a while; it notices within a second that nobody answers."""
    store = await open_spooling_store(url, SpoolSettings(folder=folder, **{"patience": 1.0, **settings}))
    try:
        yield store
    finally:
        await store.close()


async def until_well(store: SpoolingStore) -> None:
    """Wait until everything is in the database."""
    async with asyncio.timeout(PATIENCE):
        while store.operations.outage() is not None:  # noqa: ASYNC110 - what is looked at is no event
            await asyncio.sleep(0.02)


async def until_reached(store: SpoolingStore) -> None:
    """Wait until the database is back, though not everything need be there."""
    async with asyncio.timeout(PATIENCE):
        while (outage := store.operations.outage()) is None or outage.is_down:  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.02)


def begins(text: str, name: str) -> Begin:
    """Return how a message is sent with a key."""
    return Begin(message=asked(text), owner="one", lease_for=MINUTE, key=key(name))


async def answer(store: Store, name: str, question: str, text: str, **fields: Any) -> None:
    """Ask and answer in one turn."""
    begun = await store.begin(ADA, name, Begin(message=asked(question), owner="one", lease_for=MINUTE, **fields))
    assert begun.lease is not None
    await settle(store, begun.lease, answered(text))


async def places(store: Store, name: str) -> list[tuple[int, int | None, int | None, str]]:
    """Return number, parent, turn and text of all that a conversation holds."""
    entries, _ = await whole_log(store, ADA, name)
    texts = [entry.body.content if isinstance(entry.body, Message) else "" for entry in entries]
    return [(entry.seq, entry.parent, entry.turn, text) for entry, text in zip(entries, texts, strict=True)]


async def test_a_conversation_goes_on_while_the_database_is_silent_and_is_there_when_it_speaks(
    postgres_database: Urls, tmp_path: Path
) -> None:
    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path) as store:
        name = await new(store, ADA, "one", "two")
        await store.get(ADA, name)
        proxy.fall_silent()
        await answer(store, name, "three", "four", key=key("third"))
        assert (await store.get(ADA, name)).incomplete
        outage = store.operations.outage()
        assert outage is not None
        assert (outage.is_down, outage.conversations, outage.entries) == (True, 1, 4)
        born = (await store.create(ADA, NewConversation(title="born"), key=key("born"))).conversation
        await answer(store, born.id, "five", "six")
        shown = [await places(store, each) for each in (name, born.id)]
        assert [text for *_, text in shown[0] if text] == ["one", "two", "three", "four"]
        proxy.speak()
        await until_well(store)
        # The same entries with the same numbers are in the database now, and keys find what they made.
        assert [await places(store.database, each) for each in (name, born.id)] == shown
        begun = await store.begin(ADA, name, begins("three", "third"))
        assert (begun.replayed, begun.turn) == (True, 3)
        again = await store.create(ADA, NewConversation(title="born"), key=key("born"))
        assert (again.replayed, again.conversation.id, again.conversation.incomplete) == (True, born.id, False)
        assert await store.turns(ADA, name) == ()


async def test_what_others_wrote_meanwhile_stays_beside_it_as_a_branch(postgres_database: Urls, tmp_path: Path) -> None:
    other = await open_store(postgres_database.server)
    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path) as store:
        name = await new(store, ADA, "one", "two")
        proxy.fall_silent()
        await answer(store, name, "here", "so")
        await answer(other, name, "there", "too")
        proxy.speak()
        await until_well(store)
    tree = (await other.snapshot(ADA, name)).tree
    found = [texts_of(await other.newest(ADA, name, head=branch.head)) for branch in tree.branches()]
    assert sorted(found) == [["one", "two", "here", "so"], ["one", "two", "there", "too"]]
    assert await other.turns(ADA, name) == ()
    await other.close()


async def test_files_seen_lately_can_be_read_in_an_outage_and_others_wait_for_the_database(
    postgres_database: Urls, tmp_path: Path
) -> None:
    elsewhere = await open_store(postgres_database.server)
    assert elsewhere.files is not None
    unseen = await Attachments(elsewhere.files).save(ADA, "c.txt", "", b"unseen")
    await elsewhere.close()
    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path) as store:
        assert store.files is not None
        files, name = Attachments(store.files), await new(store, ADA, "one", "two")
        saved = await files.save(ADA, "a.txt", "", b"hello")
        await store.append(ADA, name, Append(bodies=(asked("Look.").model_copy(update={"parts": (saved,)}),)))
        proxy.fall_silent()
        await answer(store, name, "three", "four")
        assert await files.read(ADA, saved.file) == b"hello"
        for refused in (
            files.find(ADA, unseen.file),
            files.save(ADA, "b.txt", "", b"hello"),
            files.remove_unused(ADA.tenant),
        ):
            with pytest.raises(StoreUnavailable):
                await refused
        proxy.speak()
        await until_well(store)
        assert await files.read(ADA, unseen.file) == b"unseen"
        assert await store.files.used_bytes("acme", "ada", name) == 5
        assert (await files.save(ADA, "b.txt", "", b"hello")).size == 5
        await files.erase(ADA)
        proxy.fall_silent()
        with pytest.raises(StoreUnavailable):
            await files.read(ADA, saved.file)
        proxy.speak()


async def test_a_turn_of_an_outage_goes_on_without_the_files_that_are_not_known_here(
    postgres_database: Urls, tmp_path: Path
) -> None:
    async with await open_conversations(postgres_database.server, model=ScriptedModel(says("A cat."))) as elsewhere:
        begun = await elsewhere.create()
        await (await begun.send("Who is it?", attach=[("cat.png", PNG)])).outcome()
    model, settings = ScriptedModel(says("Still a cat.")), Settings(spool_dir=str(tmp_path), outage_after=1.0)
    async with before(postgres_database.server) as proxy:
        hosting = Hosting(is_server=True, settings=settings)
        async with await open_conversations(proxy.url(), model=model, hosting=hosting) as conversations:
            chat = await conversations.get(begun.id)
            (question, _) = await chat.messages()
            proxy.fall_silent()
            assert isinstance((await (await chat.send("And now?")).outcome()).end, TurnEnded)
            (request,) = model.requests
            (part,) = question.parts
            assert isinstance(part, Attachment)
            assert request.read_file is not None
            with pytest.raises(FileNotFound):
                await request.read_file(part)
            proxy.speak()


async def test_a_cursor_of_an_outage_is_good_until_its_number_means_another_entry(
    postgres_database: Urls, tmp_path: Path
) -> None:
    other = await open_store(postgres_database.server)
    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path) as store:
        here, moved = await new(store, ADA, "one", "two"), await new(store, ADA, "one", "two")
        proxy.fall_silent()
        cursors = {}
        for name in (here, moved):
            await answer(store, name, "here", "so")
            events = follow(store, LocalBus(), ADA, name, Cursor())
            told = [await anext(events) for _ in range(7)]
            cursors[name] = told[-1].cursor.encode(name)
            await events.aclose()
        await answer(other, moved, "there", "too")
        proxy.speak()
        await until_well(store)
    async with serving(postgres_database.server) as server:
        conversations = server.conversations
        found = await conversations.at(ADA, here).cursor(cursors[here])
        assert found is not None
        assert found.seq == 6
        with pytest.raises(InvalidCursor):
            await conversations.at(ADA, moved).cursor(cursors[moved])
    await other.close()


async def test_a_request_that_two_instances_spooled_is_one_message(postgres_database: Urls, tmp_path: Path) -> None:
    async with (
        before(postgres_database.server) as proxy,
        spooling(proxy.url(), tmp_path / "a") as first,
        spooling(proxy.url(), tmp_path / "b") as second,
    ):
        name = await new(first, ADA, "one", "two")
        await second.get(ADA, name)
        await second.newest(ADA, name)
        proxy.fall_silent()
        await answer(first, name, "three", "of the first", key=key("same"))
        await answer(second, name, "three", "of the second", key=key("same"))
        proxy.speak()
        await until_well(first)
        await until_well(second)
        # The whole turn of one of them, and nothing of the other.
        *before_it, answered_with = [text for *_, text in await places(first, name) if text]
        assert before_it == ["one", "two", "three"]
        assert answered_with in ("of the first", "of the second")
        assert await first.database.turns(ADA, name) == ()


async def test_a_message_to_a_conversation_that_is_not_known_here_waits_for_the_database(
    postgres_database: Urls, tmp_path: Path
) -> None:
    other = await open_store(postgres_database.server)
    name = await new(other, ADA, "one", "two")
    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path) as store:
        proxy.fall_silent()
        with pytest.raises(StoreUnavailable):
            await store.newest(ADA, name)
        assert (await run(store, name, "three")).lease is None
        assert await store.start(ADA, name, "one", MINUTE) is None
        assert [turn.state for turn in await store.turns(ADA, name)] == [TurnState.QUEUED]
        proxy.speak()
        await until_well(store)
    assert await other.start(ADA, name, "two", MINUTE) is not None
    assert texts_of(await other.newest(ADA, name)) == ["one", "two", "three"]
    await other.close()


async def test_turns_wait_if_they_are_told_to_and_nothing_is_deleted_meanwhile(
    postgres_database: Urls, tmp_path: Path
) -> None:
    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path, answers=False) as store:
        name = await new(store, ADA, "one", "two")
        proxy.fall_silent()
        assert (await run(store, name, "three")).lease is None
        assert await store.operations.expired(MINUTE) == ()
        with pytest.raises(StoreUnavailable):
            await store.delete(ADA, name)
        proxy.speak()
        await until_well(store)
        # Or the last write before the outage arrived after all, and its turn is nobody's until its lease ends.
        assert [turn.number for turn in await store.turns(ADA, name)] == [3]


async def test_a_spool_that_is_full_refuses_what_is_new(postgres_database: Urls, tmp_path: Path) -> None:
    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path, max_bytes=3000) as store:
        name = await new(store, ADA, "one")
        proxy.fall_silent()
        begun = await run(store, name, "two")
        assert begun.lease is not None
        with pytest.raises(SpoolFull):
            await run(store, name, "x" * 3000)
        await settle(store, begun.lease, answered("y" * 3000))
        proxy.speak()
        await until_well(store)
        assert [len(text) for text in texts_of(await store.newest(ADA, name))] == [3, 3, 3000]
        await run(store, name, "x" * 3000)


async def test_a_turn_that_runs_when_the_database_is_back_ends_before_its_conversation_goes_there(
    postgres_database: Urls, tmp_path: Path
) -> None:
    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path) as store:
        name = await new(store, ADA, "one", "two")
        proxy.fall_silent()
        lease = (await run(store, name, "three")).lease
        assert lease is not None
        await store.write(lease, "m", 0, "fo")
        proxy.speak()
        await until_reached(store)
        assert (await run(store, name, "five")).lease is None
        await store.write(lease, "m", 2, "ur")
        await settle(store, lease, answered("four").model_copy(update={"id": "m"}))
        await until_well(store)
        assert await store.start(ADA, name, "one", MINUTE) is not None
        assert texts_of(await store.newest(ADA, name)) == ["one", "two", "three", "four", "five"]


async def test_a_turn_that_runs_when_the_database_goes_away_goes_on_and_ends_there_once(
    postgres_database: Urls, tmp_path: Path
) -> None:
    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path) as store:
        name = await new(store, ADA, "one", "two")
        lease = (await run(store, name, "three")).lease
        assert lease is not None
        await store.get(ADA, name)
        await store.write(lease, "m", 0, "fo")
        queued = (await run(store, name, "five")).turn
        proxy.fall_silent()
        await store.write(lease, "m", 2, "ur")
        await store.extend(lease, MINUTE)
        _, draft = await whole_log(store, ADA, name)
        assert draft is not None
        assert (draft.text, store.operations.spool_state(ADA, name).is_spooled) == ("four", True)
        await settle(store, lease, answered("four").model_copy(update={"id": "m"}))
        # What the database has in its queue is begun there: only it knows whether another instance has done that.
        assert await store.start(ADA, name, "one", MINUTE) is None
        assert await store.operations.expired(NO_TIME) == ()
        shown = await places(store, name)
        proxy.speak()
        await until_well(store)
        assert await places(store.database, name) == shown
        assert (await whole_log(store.database, ADA, name))[1] is None
        next_one = await store.start(ADA, name, "one", MINUTE)
        assert next_one is not None
        assert (next_one.turn, next_one.lease is not None) == (queued, True)
        assert texts_of(await store.newest(ADA, name)) == ["one", "two", "three", "four", "five"]


async def test_a_turn_that_others_took_up_meanwhile_ends_as_they_say_and_what_was_said_here_is_a_branch(
    postgres_database: Urls, tmp_path: Path
) -> None:
    other = await open_store(postgres_database.server)
    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path) as store:
        name = await new(store, ADA, "one", "two")
        lease = (await run(store, name, "three", lease_for=NO_TIME)).lease
        assert lease is not None
        await store.get(ADA, name)
        proxy.fall_silent()
        await store.write(lease, "m", 0, "of the first")
        (turn,) = await other.turns(ADA, name)
        taken = await other.take(turn, "two", MINUTE)
        await settle(other, taken, answered("of the second"))
        await settle(store, lease, answered("of the first").model_copy(update={"id": "m"}))
        proxy.speak()
        await until_well(store)
    tree = (await other.snapshot(ADA, name)).tree
    found = [texts_of(await other.newest(ADA, name, head=branch.head))[-1] for branch in tree.branches()]
    assert sorted(found) == ["of the first", "of the second"]
    assert await other.turns(ADA, name) == ()
    await other.close()


async def test_a_turn_whose_end_arrived_unheard_does_not_end_twice(postgres_database: Urls, tmp_path: Path) -> None:
    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path) as store:
        name = await new(store, ADA, "one", "two")
        lease = (await run(store, name, "three")).lease
        assert lease is not None
        await store.get(ADA, name)
        proxy.lose_answers()
        await settle(store, lease, answered("four"))
        shown = await places(store, name)
        proxy.speak()
        await until_well(store)
        assert await places(store.database, name) == shown


async def test_a_turn_that_waits_for_a_person_waits_for_the_database_too(
    postgres_database: Urls, tmp_path: Path
) -> None:
    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path) as store:
        name = await new(store, ADA, "one", "two")
        lease = (await run(store, name, "three")).lease
        assert lease is not None
        await settle(store, lease, state=TurnState.WAITING)
        await store.get(ADA, name)
        proxy.fall_silent()
        (turn,) = await store.turns(ADA, name)
        assert (turn.number, turn.state) == (lease.turn, TurnState.WAITING)
        with pytest.raises(StoreUnavailable):
            await store.take(turn, "one", MINUTE)
        assert (await run(store, name, "five")).lease is None
        proxy.speak()
        await until_well(store)
        (turn, queued) = await store.turns(ADA, name)
        await settle(store, await store.take(turn, "one", MINUTE), answered("four"))
        begun = await store.start(ADA, name, "one", MINUTE)
        assert begun is not None
        assert begun.turn == queued.number
        assert texts_of(await store.newest(ADA, name)) == ["one", "two", "three", "four", "five"]


async def test_a_process_that_is_started_anew_drains_what_the_last_one_left(
    postgres_database: Urls, tmp_path: Path
) -> None:
    async with before(postgres_database.server) as proxy:
        async with spooling(proxy.url(), tmp_path) as store:
            name = await new(store, ADA, "one", "two")
            proxy.fall_silent()
            await answer(store, name, "three", "four", key=key("third"))
            left = (await run(store, name, "five")).lease
        assert left is not None
        # The database is still silent, and the turn was left by a process that is gone.
        async with spooling(proxy.url(), tmp_path) as store:
            assert texts_of(await store.newest(ADA, name)) == ["one", "two", "three", "four", "five"]
            (turn,) = await store.operations.expired(MINUTE)
            taken = await store.take(turn, "another", MINUTE)
            with pytest.raises(LeaseLost):
                await settle(store, left, answered("too late"))
            await settle(store, taken, answered("six"))
            proxy.speak()
            await until_well(store)
            assert (await store.begin(ADA, name, begins("three", "third"))).replayed
            assert texts_of(await store.newest(ADA, name)) == ["one", "two", "three", "four", "five", "six"]


@pytest.mark.parametrize("every", [3, 5, 7, 11])
async def test_a_drain_that_is_cut_again_and_again_writes_everything_once(
    postgres_database: Urls, tmp_path: Path, every: int
) -> None:
    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path) as store:
        names = [await new(store, ADA, "one", "two") for _ in range(3)]
        proxy.fall_silent()
        for name in names:
            await answer(store, name, "three", "four", key=key(f"third of {name}"))
            await answer(store, name, "five", "six")
        proxy.cut_often(every)
        proxy.speak()
        async with asyncio.timeout(PATIENCE):
            while proxy.cuts < 5 and store.operations.outage():  # noqa: ASYNC110 - no event
                await asyncio.sleep(0.01)
        assert proxy.cuts > 0
        proxy.cut_often(0)
        await until_well(store)
        for name in names:
            said = [text for *_, text in await places(store, name) if text]
            assert said == ["one", "two", "three", "four", "five", "six"]


async def test_who_was_let_in_before_is_let_in_during_an_outage(postgres_database: Urls, tmp_path: Path) -> None:
    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path) as store:
        digest = digest_of(secret := new_secret())
        made = ApiKey(id="k", digest=digest, hint=secret[:9], scope=ADA, role=KeyRole.USER, created_at=utc_now())
        await store.keyring.add(made)
        assert await store.keyring.find(digest) == made
        proxy.fall_silent()
        assert await store.keyring.find(digest) == made
        with pytest.raises(StoreUnavailable):
            await store.keyring.find(digest_of("tk_stranger"))
        with pytest.raises(StoreUnavailable):
            await store.keyring.revoke("k", utc_now())


async def test_a_database_that_may_only_be_read_is_an_outage(
    postgres_server: PostgresServer, postgres_database: Urls, tmp_path: Path
) -> None:
    database = postgres_database.owner.partition("?")[0].rpartition("/")[2]
    async with spooling(postgres_database.server, tmp_path) as store:
        name = await new(store, ADA, "one", "two")
        postgres_server.execute(f"ALTER DATABASE {database} SET default_transaction_read_only = on")
        postgres_server.execute(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{database}'")
        await answer(store, name, "three", "four")
        assert store.operations.outage() is not None
        postgres_server.execute(f"ALTER DATABASE {database} RESET default_transaction_read_only")
        await until_well(store)
        assert texts_of(await store.newest(ADA, name)) == ["one", "two", "three", "four"]


async def test_an_instance_is_ready_while_it_waits_for_a_database_that_hangs(
    postgres_database: Urls, tmp_path: Path
) -> None:
    async with before(postgres_database.server) as proxy, spooling(proxy.url(), tmp_path, patience=60.0) as store:
        await store.operations.ping()
        proxy.fall_silent()
        await store.operations.ping()
        assert store.operations.outage() is None
        proxy.speak()


async def test_a_spool_is_for_one_database_and_for_one_process(
    postgres_server: PostgresServer, postgres_database: Urls, tmp_path: Path
) -> None:
    async with before(postgres_database.server) as proxy:
        async with spooling(proxy.url(), tmp_path) as store:
            with pytest.raises(StoreBusy):
                await open_spooling_store(proxy.url(), SpoolSettings(folder=tmp_path))
            name = await new(store, ADA, "one", "two")
            proxy.fall_silent()
            await answer(store, name, "three", "four")
        proxy.speak()
        urls = postgres_server.fresh_database(migrated=False)
        await migrate(urls.owner)
        another = urls.server
        with pytest.raises(InvalidValue):
            await open_spooling_store(another, SpoolSettings(folder=tmp_path))
        async with spooling(proxy.url(), tmp_path) as store:
            await until_well(store)
        async with spooling(another, tmp_path) as store:
            assert store.operations.outage() is None


@pytest.fixture
def own_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresServer]:
    """A server of our own, which can be stopped."""
    monkeypatch.delenv("THREADKEEP_TEST_POSTGRES", raising=False)
    with PostgresServer.start(durable=False) as server:
        yield server


@pytest.mark.server_may_fail
async def test_a_message_sent_while_postgresql_is_stopped_is_answered_and_written_when_it_is_back(
    own_server: PostgresServer, tmp_path: Path
) -> None:
    url = own_server.fresh_database().server
    async with serving(url, spool_dir=str(tmp_path)) as server:
        known = await server.conversation()
        assert (await server.say(known, "My name is Alice.")).status_code == 200
        own_server.stop()
        sent = await server.say(known, "What's my name?", **{"Idempotency-Key": "again"})
        assert (sent.status_code, sent.json()["turn"]["spooled"]) == (200, True)
        assert "Alice" in sent.json()["message"]["content"]
        assert sent.headers["threadkeep-degraded"].startswith("since=")
        born = await server.conversation(title="Born in an outage")
        events = await _streamed(server, born, "Hello")
        assert events[0] == ("conversation.spooled", {"type": "conversation.spooled", "spooled": True})
        assert events[-1][0] == "turn.completed"
        await _check_degraded(server, known)
        own_server.restart()
        await until_status(server, "ok")
        assert "threadkeep-degraded" not in (await server.client.get(known)).headers
        again = await server.say(known, "What's my name?", **{"Idempotency-Key": "again"})
        assert again.headers["idempotency-replayed"] == "true"
        assert again.json()["message"]["content"] == sent.json()["message"]["content"]
    async with serving(url) as other:
        asked = [message["content"] for message in (await other.client.get(known)).json()["messages"]]
        assert asked[0::2] == ["My name is Alice.", "What's my name?"]
        assert len(asked) == 4
        titled = (await other.client.get(born)).json()
        assert [message["role"] for message in titled["messages"]] == ["user", "assistant"]
        assert titled["title"] == "Born in an outage"


async def test_an_instance_is_ready_when_a_spell_in_which_everything_could_only_be_read_is_over(
    own_server: PostgresServer, tmp_path: Path
) -> None:
    url = own_server.fresh_database().server
    async with serving(url, spool_dir=str(tmp_path)) as server:
        known = await server.conversation()
        assert (await server.say(known, "one")).json()["turn"]["spooled"] is False
        own_server.execute("ALTER SYSTEM SET default_transaction_read_only = on")
        own_server.execute("SELECT pg_reload_conf()")
        await until_status(server, "degraded")
        assert (await server.say(known, "two")).json()["turn"]["spooled"] is True
        own_server.execute("ALTER SYSTEM RESET default_transaction_read_only")
        own_server.execute("SELECT pg_reload_conf()")
        await until_status(server, "ok")
        assert server.conversations.operations.outage() is None
        shown = (await server.client.get(known)).json()["messages"]
        assert [message["content"] for message in shown if message["role"] == "user"] == ["one", "two"]


async def _check_degraded(server: Server, path: str) -> None:
    """Check that reading goes on, and that everybody says so."""
    ready = (await server.client.get("/health/ready")).json()
    assert (ready["status"], ready["spooled"]["conversations"]) == ("degraded", 2)
    shown = (await server.client.get(path)).json()
    assert (shown["incomplete"], len(shown["messages"])) == (True, 4)
    listed = (await server.client.get("/v1/conversations")).json()["data"]
    assert [item["incomplete"] for item in listed] == [True, True]
    unknown = await server.client.post(f"{path}/cancel", params={"turn": 1})
    assert (unknown.status_code, unknown.json()["code"]) == (503, "store_unavailable")
    metrics = (await server.client.get("/metrics")).text
    assert "threadkeep_spooled_conversations 2.0" in metrics


async def _streamed(server: Server, path: str, content: str) -> list[tuple[str, Any]]:
    """Send a message and return the events of its turn."""
    body = {"content": content}
    async with aconnect_sse(server.client, "POST", f"{path}/messages", json=body, headers=EVENTS) as source:
        return [(event.event, event.json()) async for event in source.aiter_sse() if event.data]


async def until_status(server: Server, status: str) -> None:
    """Wait until the database is away, or has everything."""
    async with asyncio.timeout(PATIENCE):
        while (await server.client.get("/health/ready")).json().get("status") != status:  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.05)
