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
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.message import Message
from threadkeep.runtime import SpoolSettings, open_spooling_store
from threadkeep.store.base import Store
from threadkeep.store.spool.spooling import SpoolingStore
from threadkeep.store.values import Begin
from threadkeep.testing.samples import ADA, MINUTE, answered, asked, key, new, settle
from threadkeep.testing.stores import whole_log

PATIENCE = 30


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
        while store.outage() is not None:  # noqa: ASYNC110 - what is looked at is no event
            await asyncio.sleep(0.02)


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
        outage = store.outage()
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
        begin = Begin(message=asked("three"), owner="one", lease_for=MINUTE, key=key("third"))
        begun = await store.begin(ADA, name, begin)
        assert (begun.replayed, begun.turn) == (True, 3)
        again = await store.create(ADA, NewConversation(title="born"), key=key("born"))
        assert (again.replayed, again.conversation.id, again.conversation.incomplete) == (True, born.id, False)
        assert await store.turns(ADA, name) == ()


@pytest.fixture
def own_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[PostgresServer]:
    """A server of our own, which can be stopped."""
    monkeypatch.delenv("THREADKEEP_TEST_POSTGRES", raising=False)
    with PostgresServer.start(durable=False) as server:
        yield server


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
        assert events[0] == ("conversation.spooled", {"spooled": True})
        assert events[-1][0] == "turn.completed"
        await _check_degraded(server, known)
        own_server.restart()
        await _until_ok(server)
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


async def _check_degraded(server: Server, path: str) -> None:
    """Check that reading goes on, and that everybody says so."""
    ready = (await server.client.get("/health/ready")).json()
    assert (ready["status"], ready["spooled"]["conversations"]) == ("degraded", 2)
    shown = (await server.client.get(path)).json()
    assert (shown["incomplete"], len(shown["messages"])) == (True, 4)
    listed = (await server.client.get("/v1/conversations")).json()["data"]
    assert [item["incomplete"] for item in listed] == [True, True]
    metrics = (await server.client.get("/metrics")).text
    assert "threadkeep_spooled_conversations 2.0" in metrics


async def _streamed(server: Server, path: str, content: str) -> list[tuple[str, Any]]:
    """Send a message and return the events of its turn."""
    body = {"content": content}
    async with aconnect_sse(server.client, "POST", f"{path}/messages", json=body, headers=EVENTS) as source:
        return [(event.event, event.json()) async for event in source.aiter_sse() if event.data]


async def _until_ok(server: Server) -> None:
    """Wait until everything is in the database."""
    async with asyncio.timeout(PATIENCE):
        while (await server.client.get("/health/ready")).json().get("status") != "ok":  # noqa: ASYNC110 - no event
            await asyncio.sleep(0.05)
