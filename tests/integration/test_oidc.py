"""Signing in to the page at a real provider of OpenID Connect, by HTTP: who comes back as whom, and who does not."""

from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest
import pytest_asyncio

from tests.browser.server import free_port
from tests.integration.serving import PATIENCE, Server, serving
from tests.oidc import consent, provided, settings
from threadkeep.conversation.api_key import KeyRole


@pytest_asyncio.fixture
async def server() -> AsyncIterator[Server]:
    """A server at which people sign in at the provider, and nowhere else."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    with provided(url) as issuer:
        async with serving(auth="keys", identity={"oidc": settings(url, issuer)}, port=port) as found:
            yield found


def browser(server: Server) -> httpx.AsyncClient:
    """A browser: it keeps cookies, and says what it does."""
    return httpx.AsyncClient(base_url=server.url, timeout=PATIENCE, headers={"Sec-Fetch-Site": "same-origin"})


async def begun(person: httpx.AsyncClient) -> str:
    """Begin to sign in; return where the provider is."""
    started = await person.get("/sign-in/start")
    assert started.status_code == 303
    return str(started.headers["location"])


async def signed_in(person: httpx.AsyncClient, user: str) -> None:
    back = await consent(person, await begun(person), user)
    answer = await person.get(back, headers={"Sec-Fetch-Site": "cross-site"})
    assert (answer.status_code, answer.headers["location"]) == (303, f"{str(person.base_url).rstrip('/')}/")


async def test_somebody_signs_in_talks_and_signs_out(server: Server) -> None:
    async with browser(server) as person:
        assert (await person.get("/v1/me")).status_code == 401
        await signed_in(person, "ada")
        me = (await person.get("/v1/me")).json()
        assert (me["tenant"], me["user"], me["role"], me["signed_in"]) == ("acme", "ada", "user", True)
        assert (await person.post("/v1/conversations")).status_code == 201
        (login,) = (await person.get("/v1/logins")).json()["data"]
        assert login["is_this"]
        await person.post("/v1/logout")
        assert (await person.get("/v1/me")).status_code == 401
        ended = await person.get("/sign-in/end")
        assert "/session/end" in ended.headers["location"]


async def test_what_is_asked_of_the_provider_has_pkce_state_and_nonce(server: Server) -> None:
    async with browser(server) as person:
        asked = [parse_qs(urlsplit(await begun(person)).query) for _ in range(2)]
        for name in ("state", "nonce", "code_challenge"):
            assert len({each[name][0] for each in asked}) == 2
        assert asked[0]["code_challenge_method"] == ["S256"]
        kept = person.cookies.jar
        assert [(cookie.name, cookie.has_nonstandard_attr("HttpOnly")) for cookie in kept] == [
            ("threadkeep-sign-in", True)
        ]


async def test_an_answer_that_was_not_asked_for_lets_nobody_in(server: Server) -> None:
    async with browser(server) as person, browser(server) as victim:
        back = await consent(person, await begun(person), "mallory")
        wrong = [(victim, back), (person, back.replace("state=", "state=x")), (person, "/sign-in/callback?code=x")]
        await begun(victim)
        for who, where in [*wrong, (person, "/sign-in/callback?error=access_denied")]:
            answer = await who.get(where, headers={"Sec-Fetch-Site": "cross-site"})
            assert (answer.status_code, answer.headers["location"]) == (303, f"{server.url}/?sign-in=failed")
            assert (await who.get("/v1/me")).status_code == 401


async def test_a_code_is_good_once(server: Server) -> None:
    async with browser(server) as person:
        back = await consent(person, await begun(person), "ada")
        (kept,) = [cookie.value for cookie in person.cookies.jar if cookie.name == "threadkeep-sign-in"]
        assert (await person.get(back)).headers["location"] == f"{server.url}/"
        again = await person.get(back, headers={"Cookie": f"threadkeep-sign-in={kept}"})
        assert again.headers["location"] == f"{server.url}/?sign-in=failed"


async def test_whose_access_is_revoked_is_out_until_they_sign_in_at_the_provider_again(server: Server) -> None:
    _, root = await server.key("acme", "root", KeyRole.ADMIN)
    async with browser(server) as person:
        await signed_in(person, "ada")
        await signed_in(person, "ada")
        keys = (await server.client.get("/v1/admin/keys", headers=root)).json()["data"]
        (known,) = [key for key in keys if key["user"] == "ada"]
        assert known["hint"] == "oidc"
        await server.client.delete(f"/v1/admin/keys/{known['id']}", headers=root)
        assert (await server.client.get("/v1/admin/logins", headers=root)).json()["data"] == []
        async with browser(server) as later:
            await signed_in(later, "ada")
            assert (await later.get("/v1/me")).json()["user"] == "ada"


@pytest.mark.parametrize("path", ["/v1/conversations", "/v1/me", "/sign-in"])
async def test_other_sites_may_lead_back_from_a_provider_and_nowhere_else(server: Server, path: str) -> None:
    async with browser(server) as person:
        answer = await person.get(path, headers={"Sec-Fetch-Site": "cross-site"})
        assert (answer.status_code, answer.json()["code"]) == (403, "foreign_origin")


async def test_a_provider_that_is_away_is_told_and_nothing_breaks() -> None:
    table = settings("http://127.0.0.1:1", "http://127.0.0.1:9")
    async with serving(auth="keys", identity={"oidc": table}) as server, browser(server) as person:
        answer = await person.get("/sign-in/start")
        assert (answer.status_code, answer.headers["location"]) == (303, "http://127.0.0.1:1/?sign-in=failed")
