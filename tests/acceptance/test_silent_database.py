"""A real server whose PostgreSQL falls silent: it says so soon, works when it speaks again, and can be stopped."""

import asyncio
import signal
from pathlib import Path

import httpx

from tests.acceptance.server_process import server_process
from tests.database_proxy import before
from tests.postgres_server import Urls


async def test_a_server_says_within_seconds_that_its_database_is_silent_and_stops_when_it_is_told_to(
    postgres_database: Urls, tmp_path: Path
) -> None:
    async with (
        before(postgres_database.server) as proxy,
        server_process(tmp_path, "--store", proxy.url(), THREADKEEP_LOG_LEVEL="error") as (process, client),
    ):
        created = (await client.post("/v1/conversations")).json()["id"]
        proxy.fall_silent()
        # The client would wait for longer than a server may take that has noticed.
        client.timeout = httpx.Timeout(8)
        asked = (client.get("/health/ready"), client.get(f"/v1/conversations/{created}"))
        for answer in await asyncio.gather(*asked):
            assert (answer.status_code, answer.json()["code"]) == (503, "store_unavailable")
        proxy.speak()
        assert (await client.get("/health/ready")).status_code == 200
        assert (await client.get(f"/v1/conversations/{created}")).json()["id"] == created
        proxy.fall_silent()
        process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(process.wait(), 15)
