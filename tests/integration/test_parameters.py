"""Every parameter of every reading route, with values that no client means: refused, never a failure of the server."""

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx

from tests.integration.serving import PATIENCE, serving
from tests.postgres_server import Urls
from threadkeep.conversation.api_key import KeyRole
from threadkeep.conversation.cursor import Cursor

NUMBERS = ("-1", "2147483648", "9007199254740992", "9" * 30)
TEXTS = ("%00", "a%00b", "%ED%A0%80", "%FF")
MOMENTS = ("0001-01-01T00:00:00%2B23:59", "9999-12-31T23:59:59-23:59")


def _requests(document: dict[str, Any], conversation: str) -> Iterator[str]:
    """Yield a path for each value of each parameter of each route that reads."""
    cursors = [Cursor(seq=seq).encode(conversation) for seq in (2**31, 2**40, 2**53)]
    cursors += [Cursor(seq=1, message="m", offset=offset).encode(conversation) for offset in (2**31, 2**53)]
    for path, operations in document["paths"].items():
        if path == "/v1/chat/query/stream":  # it asks a model, and keeps nothing
            continue
        parameters = operations.get("get", {}).get("parameters", [])
        for each in parameters:
            for value in (*NUMBERS, *TEXTS, *MOMENTS, *cursors):
                needed = "&".join(f"{p['name']}=a" for p in parameters if p["in"] == "query" and p.get("required"))
                if each["in"] == "path":
                    yield path.replace(f"{{{each['name']}}}", value).replace("{id}", conversation) + f"?{needed}"
                elif each["in"] == "query":
                    yield path.replace("{id}", conversation) + f"?{each['name']}={value}&{needed}"


async def _status(client: httpx.AsyncClient, path: str, headers: dict[str, str]) -> int:
    """Return the status of an answer, whose body may be a stream without end."""
    async with client.stream("GET", path, headers=headers) as answer:
        return answer.status_code


async def test_no_value_of_a_parameter_makes_a_server_on_postgresql_fail(postgres_database: Urls) -> None:
    async with serving(postgres_database.server, auth="keys", share=True, user_requests_per_second=0) as server:
        _, headers = await server.key("acme", "ada", KeyRole.ADMIN)
        made = await server.client.post("/v1/conversations", json={}, headers=headers)
        document = (await server.client.get("/openapi.json", headers=headers)).json()
        asked = list(_requests(document, made.json()["id"]))
        assert len(asked) > 100
        async with asyncio.timeout(4 * PATIENCE):
            statuses = [await _status(server.client, path, headers) for path in asked]
        assert [found for found in zip(statuses, asked, strict=True) if found[0] >= 500] == []
