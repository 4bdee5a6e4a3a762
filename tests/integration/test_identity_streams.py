"""Whoever has expired or was revoked is out within a second, open streams included, and nobody else is."""

import asyncio
import time
from collections.abc import AsyncIterator

import pytest
import pytest_asyncio
from starlette.requests import HTTPConnection

from tests.identities import ISSUER_OF_LANES
from tests.integration.serving import EVENTS, PATIENCE, Server, serving
from threadkeep.conversation.api_key import KeyRole
from threadkeep.conversation.scope import Scope
from threadkeep.server.identity.guards import Identity
from threadkeep.store.audit import Wanted


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Server]:
    """A server that knows an issuer."""
    async with serving(**ISSUER_OF_LANES.settings()) as found:
        yield found


async def listen(server: Server, headers: dict[str, str]) -> str:
    """Listen to what happens to somebody's conversations until the stream ends; return the last that it said."""
    said = ""
    async with server.client.stream("GET", "/v1/events", headers={**headers, **EVENTS}) as answer:
        assert answer.status_code == 200
        async for line in answer.aiter_lines():
            said = line or said
    return said


async def test_a_stream_ends_with_its_token_and_those_of_others_go_on(server: Server) -> None:
    ends = int(time.time()) + 2
    _, bob = await server.key("acme", "bob")
    mine = asyncio.create_task(listen(server, ISSUER_OF_LANES.headers(exp=ends)))
    later = asyncio.create_task(listen(server, ISSUER_OF_LANES.headers(exp=ends + 600)))
    others = asyncio.create_task(listen(server, bob))
    await server.until_streams(3)
    async with asyncio.timeout(PATIENCE):
        assert "not_authenticated" in await mine
    assert time.time() >= ends
    assert (later.done(), others.done()) == (False, False)
    for task in (later, others):
        task.cancel()


async def test_a_service_that_is_revoked_takes_all_for_whom_it_acts_along_and_nobody_else(server: Server) -> None:
    key, service = await server.key("acme", "backend", KeyRole.SERVICE)
    _, other = await server.key("acme", "other", KeyRole.SERVICE)
    asked = {"Threadkeep-User": "cleo", **service}
    made = await server.client.post("/v1/tokens", headers=asked, json={})
    token = {"Authorization": f"Bearer {made.json()['token']}"}
    acting = [{**service, "Threadkeep-User": "ada"}, {**service, "Threadkeep-User": "bob"}, token]
    mine = [asyncio.create_task(listen(server, headers)) for headers in acting]
    theirs = asyncio.create_task(listen(server, {**other, "Threadkeep-User": "ada"}))
    await server.until_streams(4)
    await server.conversations.admin.revoke_key(key.id)
    async with asyncio.timeout(PATIENCE):
        assert all("not_authenticated" in said for said in await asyncio.gather(*mine))
    assert not theirs.done()
    theirs.cancel()


class Directory:
    """Knows who may come in; asked about some, it fails or says nothing."""

    def __init__(self) -> None:
        self.gone: set[str] = set()

    async def identify(self, connection: HTTPConnection) -> Identity:
        return Identity(scope=Scope(tenant="acme", user=connection.headers["x-user"]))

    async def is_valid(self, identity: Identity) -> bool:
        match identity.scope.user:
            case "silent" if self.gone:
                await asyncio.Event().wait()
            case "broken" if self.gone:
                raise ValueError("broken")
        return identity.scope.user not in self.gone


@pytest.mark.server_may_fail
async def test_a_guard_that_fails_or_is_silent_about_some_holds_up_its_verdict_on_nobody_else() -> None:
    directory = Directory()
    async with serving(guard=directory) as server:
        asked = ["silent", "broken", "ada", *(f"user{number}" for number in range(40))]
        streams = {user: asyncio.create_task(listen(server, {"x-user": user})) for user in asked}
        await server.until_streams(len(asked))
        directory.gone = {"ada", asked[-1]}
        async with asyncio.timeout(PATIENCE):
            for user in ("ada", asked[-1]):
                assert "not_authenticated" in await streams[user], user
            assert "not_authenticated" not in await streams["broken"]
        assert [user for user, stream in streams.items() if not stream.done()] == ["silent", *asked[3:-1]]
        for stream in streams.values():
            stream.cancel()


async def test_a_token_that_is_taken_back_ends_its_own_stream_only(server: Server) -> None:
    _, ada = await server.key("acme", "ada")
    made = [(await server.client.post("/v1/tokens", headers=ada, json={})).json()["token"] for _ in range(2)]
    streams = [asyncio.create_task(listen(server, {"Authorization": f"Bearer {each}"})) for each in made]
    await server.until_streams(2)
    await server.client.post("/v1/tokens/revoke", headers=ada, json={"token": made[0]})
    async with asyncio.timeout(PATIENCE):
        assert "not_authenticated" in await streams[0]
    assert not streams[1].done()
    streams[1].cancel()


async def test_what_a_service_does_for_somebody_is_in_the_audit_log_with_its_name(server: Server) -> None:
    _, service = await server.key("acme", "backend", KeyRole.SERVICE)
    acting = {**service, "Threadkeep-User": "ada"}
    id = (await server.client.post("/v1/conversations", headers=acting)).json()["id"]
    assert (await server.client.delete(f"/v1/conversations/{id}", headers=acting)).status_code == 204
    audit = server.conversations.admin.audit
    acts = await audit.read("acme", Wanted(actor="user:ada"))
    assert acts
    assert {each.act.details["via"] for each in acts} == {audit.alias("acme", "user:backend")}
