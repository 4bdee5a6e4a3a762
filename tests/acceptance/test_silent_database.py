"""A real server whose PostgreSQL falls silent: it says so soon, works when it speaks again, and can be stopped."""

import asyncio
import os
import signal
import sys
from pathlib import Path

import httpx

from tests.database_proxy import before
from tests.postgres_server import Urls

PATIENCE = 30


async def test_a_server_says_within_seconds_that_its_database_is_silent_and_stops_when_it_is_told_to(
    postgres_database: Urls, tmp_path: Path
) -> None:
    async with before(postgres_database.server) as proxy:
        process = await asyncio.create_subprocess_exec(
            *(
                sys.executable,
                "-m",
                "threadkeep.cli.main",
                "serve",
                "--port",
                "0",
                "--model",
                "demo",
                "--store",
                proxy.url(),
            ),
            cwd=tmp_path,
            env={**os.environ, "THREADKEEP_LOG_LEVEL": "error"},
            stdout=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        url = (await process.stdout.readline()).decode().split()[-1]
        async with httpx.AsyncClient(base_url=url, timeout=PATIENCE) as client:
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
