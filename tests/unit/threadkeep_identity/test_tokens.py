"""Tokens of minutes: never more, nor longer, than what they were asked for with, and over as soon as that is."""

import asyncio
from collections.abc import AsyncIterator

import httpx
import pytest
import pytest_asyncio

from tests.identities import TestIssuer
from tests.unit.server.serving import app_behind, conversation, served
from threadkeep.conversation.api_key import ApiKey, KeyRole
from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import NotAuthenticated
from threadkeep.server.identity.guards import Identity
from threadkeep.settings import Settings
from threadkeep.testing.clock import FakeClock
from threadkeep_identity.tables import IdentityTable
from threadkeep_identity.tokens import Tokens

ONE = TestIssuer()
ADA = Scope(tenant="acme", user="ada")


def showing(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


def behind(client: httpx.AsyncClient) -> Conversations:
    found: Conversations = app_behind(client).state.tested
    return found


async def key_of(client: httpx.AsyncClient, role: KeyRole = KeyRole.USER, user: str = "ada") -> tuple[str, ApiKey]:
    return await behind(client).admin.create_key(Scope(tenant="acme", user=user), role)


@pytest_asyncio.fixture
async def client() -> AsyncIterator[httpx.AsyncClient]:
    """A client of a server that asks for keys, and knows an issuer; it is Ada, unless it says otherwise."""
    async with served(Settings(store="memory:", share=True, **ONE.settings())) as served_client:
        served_client.headers.update(showing((await key_of(served_client))[0]))
        yield served_client


async def token(client: httpx.AsyncClient, headers: dict[str, str] | None = None, **body: object) -> dict[str, str]:
    made = await client.post("/v1/tokens", json=body, headers=headers)
    assert made.status_code == 201, made.text
    return showing(made.json()["token"])


async def code(answer: httpx.Response) -> tuple[int, str | None]:
    return answer.status_code, answer.json().get("code") if answer.content else None


async def test_a_token_is_its_user_and_only_reads(client: httpx.AsyncClient) -> None:
    path, shown = await conversation(client), await token(client)
    assert (await client.get("/v1/me", headers=shown)).json()["user"] == "ada"
    assert (await client.get(path, headers=shown)).status_code == 200
    assert (await client.post("/v1/search", json={"q": "word"}, headers=shown)).status_code == 200
    sent = await client.post(f"{path}/messages", json={"content": "Hello"}, headers=shown)
    assert await code(sent) == (403, "not_allowed")
    assert await code(await client.delete(path, headers=shown)) == (403, "not_allowed")


async def test_a_token_that_may_write_is_never_an_administrator(client: httpx.AsyncClient) -> None:
    secret, _ = await key_of(client, KeyRole.ADMIN, "root")
    shown = await token(client, showing(secret), access="write")
    assert (await client.post("/v1/conversations", headers=shown)).status_code == 201
    assert await code(await client.get("/v1/admin/keys", headers=shown)) == (403, "not_allowed")


async def test_a_token_for_one_conversation_is_for_nothing_else(client: httpx.AsyncClient) -> None:
    mine, other = await conversation(client), await conversation(client)
    shown = await token(client, conversation=mine.rpartition("/")[2], access="write")
    said = await client.post(f"{mine}/messages", json={"content": "Hello"}, headers=shown)
    assert said.status_code == 200
    assert (await client.get(mine, headers=shown)).status_code == 200
    assert (await client.get("/v1/me", headers=shown)).status_code == 200
    assert await code(await client.get(other, headers=shown)) == (404, "conversation_not_found")
    for method, path in (
        ("GET", "/v1/conversations"),
        ("POST", "/v1/conversations"),
        ("DELETE", mine),
        ("POST", f"{mine}/shares"),
        ("GET", "/v1/events"),
        ("GET", "/v1/search?q=hello"),
        ("GET", "/v1/export"),
        ("POST", "/v1/chat/query/stream"),
        ("POST", "/v1/tokens"),
        ("GET", "/openapi.json"),
    ):
        answer = await client.request(method, path, headers=shown)
        assert await code(answer) == (403, "not_allowed"), f"{method} {path}"


async def test_a_token_for_a_conversation_that_is_not_ones_own_is_not_made(client: httpx.AsyncClient) -> None:
    theirs = await conversation(client)
    bob = showing((await key_of(client, user="bob"))[0])
    made = await client.post("/v1/tokens", json={"conversation": theirs.rpartition("/")[2]}, headers=bob)
    assert await code(made) == (404, "conversation_not_found")


async def test_a_token_ends_with_the_key_that_it_was_asked_for_with(client: httpx.AsyncClient) -> None:
    secret, key = await key_of(client)
    shown = await token(client, showing(secret))
    assert (await client.get("/v1/me", headers=shown)).status_code == 200
    await behind(client).admin.revoke_key(key.id)
    async with asyncio.timeout(2):
        while (await client.get("/v1/me", headers=shown)).status_code == 200:  # noqa: ASYNC110 - it is no event
            await asyncio.sleep(0.05)


async def test_a_token_that_was_taken_back_is_over(client: httpx.AsyncClient) -> None:
    shown, other = await token(client, access="write"), await token(client)
    for _ in range(2):
        taken = await client.post("/v1/tokens/revoke", json={"token": shown["Authorization"].split()[1]})
        assert taken.status_code == 204
        assert await code(await client.get("/v1/me", headers=shown)) == (401, "not_authenticated")
    assert (await client.get("/v1/me", headers=other)).status_code == 200


async def test_nobody_takes_back_what_is_somebody_elses(client: httpx.AsyncClient) -> None:
    shown = await token(client)
    bob = showing((await key_of(client, user="bob"))[0])
    body = {"token": shown["Authorization"].split()[1]}
    assert (await client.post("/v1/tokens/revoke", json=body, headers=bob)).status_code == 401
    assert (await client.get("/v1/me", headers=shown)).status_code == 200


async def test_a_token_is_not_good_for_another_server_or_when_it_was_changed(client: httpx.AsyncClient) -> None:
    shown = await token(client)
    async with served(Settings(store="memory:", auth="keys")) as other:
        assert (await other.get("/v1/me", headers=shown)).status_code == 401
    changed = {"Authorization": shown["Authorization"][:-8] + "AAAAAAAA"}
    for bad in (changed, showing("tt_"), showing("tt_a.b.c"), showing(shown["Authorization"].split()[1][3:])):
        assert await code(await client.get("/v1/me", headers=bad)) == (401, "not_authenticated")


def tokens_of(client: httpx.AsyncClient, clock: FakeClock, **table: object) -> Tokens:
    return Tokens(behind(client), IdentityTable.model_validate(table), app_behind(client).state.guard, clock)


async def test_a_token_lasts_no_longer_than_it_may(client: httpx.AsyncClient) -> None:
    clock = FakeClock()
    tokens = tokens_of(client, clock, token_seconds=60)
    _, until = await tokens.make(Identity(scope=ADA), 3600, None, writes=False)
    assert (until - clock()).total_seconds() == 60
    briefly = Identity(scope=ADA, expires_at=clock.advance(0).replace(second=7))
    assert (await tokens.make(briefly, 3600, None, writes=False))[1] == briefly.expires_at


async def test_a_token_made_with_a_token_allows_no_more(client: httpx.AsyncClient) -> None:
    clock = FakeClock()
    tokens = tokens_of(client, clock)
    bounded = Identity(scope=ADA, writes=False, conversation="c-1")
    made, _ = await tokens.make(bounded, 60, None, writes=True)
    with pytest.raises(NotAuthenticated):
        await tokens.read(made)  # made in the past of the true clock
    later, _ = await Tokens(behind(client), IdentityTable(), app_behind(client).state.guard).make(
        bounded, 60, None, writes=True
    )
    read = await tokens.read(later)
    assert (read.writes, read.conversation, read.role) == (False, "c-1", KeyRole.USER)


async def test_instances_with_one_key_take_each_others_tokens(client: httpx.AsyncClient) -> None:
    key = {"token_key": "k" * 32}
    first, second = (
        Tokens(behind(client), IdentityTable.model_validate(key), app_behind(client).state.guard) for _ in range(2)
    )
    made, _ = await first.make(Identity(scope=ADA), 60, None, writes=True)
    assert (await second.read(made)).scope == ADA


async def test_a_token_says_when_it_ends(client: httpx.AsyncClient) -> None:
    tokens = Tokens(behind(client), IdentityTable(), app_behind(client).state.guard)
    made, until = await tokens.make(Identity(scope=ADA), 60, None, writes=False)
    read = await tokens.read(made)
    assert read.expires_at == until
    assert (read.has_expired(until), read.has_expired(until.replace(year=2020))) == (True, False)
