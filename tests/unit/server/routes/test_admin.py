"""What is for administrators, and that it ends at their tenant."""

from collections.abc import AsyncIterator

import pytest

from tests.integration.serving import Server, assert_problem, serving
from threadkeep.conversation.api_key import KeyRole


@pytest.fixture
async def server() -> AsyncIterator[Server]:
    async with serving(auth="keys") as server:
        yield server


@pytest.mark.parametrize("path", ["/v1/admin/conversations", "/v1/admin/usage"])
async def test_what_is_for_administrators_is_refused_to_others(server: Server, path: str) -> None:
    _, ada = await server.key("acme", "ada")
    _, root = await server.key("acme", "root", KeyRole.ADMIN)
    assert_problem(await server.client.get(path, headers=ada), 403, "not_allowed")
    assert (await server.client.get(path, headers=root)).status_code == 200


async def test_an_administrator_sees_only_the_own_tenant(server: Server) -> None:
    _, ada = await server.key("acme", "ada")
    _, root = await server.key("globex", "root", KeyRole.ADMIN)
    await server.client.post("/v1/conversations", headers=ada)
    assert (await server.client.get("/v1/admin/conversations", headers=root)).json()["data"] == []
    usage = (await server.client.get("/v1/admin/usage", headers=root)).json()
    assert (usage["tenant"]["conversations"], usage["users"]) == (0, [])
