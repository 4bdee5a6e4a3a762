"""A header that names somebody is believed from the proxy alone."""

import httpx
import pytest
from pydantic import ValidationError

from tests.unit.server.serving import URL, app_behind, served
from threadkeep.settings import Settings

NAMED = {"X-Forwarded-User": "ada@example.org"}


def settings(**proxy: object) -> Settings:
    return Settings(store="memory:", auth="keys", identity={"proxy": {"tenant": "acme", **proxy}})


def from_address(client: httpx.AsyncClient, address: str) -> httpx.AsyncClient:
    transport = httpx.ASGITransport(app=app_behind(client), client=(address, 4711))
    return httpx.AsyncClient(transport=transport, base_url=URL)


async def test_only_connections_from_its_addresses_are_believed() -> None:
    believed = {"10.1.2.3": True, "::ffff:10.1.2.3": True, "fd00::1": True, "11.1.2.3": False, "127.0.0.1": False}
    async with served(settings(addresses=["10.0.0.0/8", "fd00::1"])) as client:
        for address, is_believed in believed.items():
            async with from_address(client, address) as asking:
                answer = await asking.get("/v1/me", headers={**NAMED, "X-Forwarded-For": "10.1.2.3"})
                assert answer.status_code == (200 if is_believed else 401), address
                if is_believed:
                    me = answer.json()
                    assert (me["tenant"], me["user"], me["role"]) == ("acme", "ada__40example.org", "user")


async def test_without_the_setting_the_header_is_nothing() -> None:
    async with served(Settings(store="memory:", auth="keys")) as client:
        assert (await client.get("/v1/me", headers=NAMED)).status_code == 401


async def test_whom_the_proxy_does_not_name_or_names_twice_is_nobody() -> None:
    async with served(settings(addresses="127.0.0.1")) as client:
        for headers in ([], [("X-Forwarded-User", "")], [("X-Forwarded-User", "a"), ("X-Forwarded-User", "b")]):
            assert (await client.get("/v1/me", headers=headers)).status_code == 401


async def test_a_proxy_may_name_the_tenant_and_the_settings_its_administrators() -> None:
    table = {"tenant": None, "tenant_header": "X-Tenant", "addresses": "127.0.0.1", "admins": ["ada@example.org"]}
    async with served(settings(**table)) as client:
        me = (await client.get("/v1/me", headers={**NAMED, "X-Tenant": "globex"})).json()
        assert (me["tenant"], me["role"]) == ("globex", "admin")
        assert (await client.get("/v1/me", headers=NAMED)).status_code == 401


async def test_what_changes_something_must_come_from_our_own_page() -> None:
    async with served(settings(addresses="127.0.0.1")) as client:
        assert (await client.post("/v1/conversations", headers=NAMED)).status_code == 401
        ours = {**NAMED, "Origin": URL}
        assert (await client.post("/v1/conversations", headers=ours)).status_code == 201


def test_the_addresses_must_be_named() -> None:
    wrongs: list[dict[str, object]] = [{}, {"addresses": []}, {"addresses": "everywhere"}]
    wrongs.append({"addresses": "10.0.0.1", "tenant_header": "T"})
    for wrong in wrongs:
        with pytest.raises(ValidationError):
            settings(**wrong)
