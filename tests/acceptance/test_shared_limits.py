"""Two servers on one database have the limits of one: a place is taken until it is given back or a server is killed."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import httpx
import pytest

from tests.browser.server import PATIENCE, Server
from tests.postgres_server import Urls


@pytest.fixture
def servers(postgres_database: Urls, tmp_path: Path) -> Iterator[list[Server]]:
    """Two servers on one database, where a user may have two event streams."""
    variables = {"THREADKEEP_USER_STREAMS": "2"}
    made = []
    for number in range(2):
        (folder := tmp_path / str(number)).mkdir()
        made.append(Server(folder, "--store", postgres_database.server, variables=variables))
        made[-1].start()
    yield made
    for server in made:
        server.kill()


async def answered(client: httpx.AsyncClient, status: int) -> None:
    """Open a stream and let go of it at once, again and again, until that is answered with a status."""
    async with asyncio.timeout(PATIENCE):
        while True:
            async with client.stream("GET", "/v1/events") as answer:
                if answer.status_code == status:
                    return
            await asyncio.sleep(0.05)


async def test_the_streams_of_a_user_are_counted_by_all_servers_together(servers: list[Server]) -> None:
    one, other = (httpx.AsyncClient(base_url=server.url, timeout=PATIENCE) for server in servers)
    async with one, other:
        async with AsyncExitStack() as held:
            for _ in range(2):
                answer = await held.enter_async_context(one.stream("GET", "/v1/events"))
                assert answer.status_code == 200
            await answered(other, 429)
        await answered(other, 200)
        async with AsyncExitStack() as held:
            for _ in range(2):
                await held.enter_async_context(one.stream("GET", "/v1/events"))
            await answered(other, 429)
            servers[0].kill()
            await answered(other, 200)
