"""A message that freezes its process, on real servers: they are killed, or end themselves, and are started anew; the
turn is given up, and everybody else is served."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.acceptance.poison import SETTINGS
from tests.acceptance.server_process import server_process

NEW = {"assistant": "poison"}


@asynccontextmanager
async def serving(folder: Path, **settings: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, httpx.AsyncClient]]:
    """Run a server with the assistant that freezes it."""
    (folder / "threadkeep.toml").write_text(SETTINGS)
    async with server_process(folder, "--config", "threadkeep.toml", **settings) as served:
        yield served


async def hangs(folder: Path, times: int) -> None:
    """Wait until the poison has worked so often."""
    async with asyncio.timeout(30):
        while not (folder / "hangs").exists() or len((folder / "hangs").read_text().split()) < times:  # noqa: ASYNC110
            await asyncio.sleep(0.02)


async def ask(client: httpx.AsyncClient, path: str, content: str) -> None:
    """Send a message and do not wait for its answer."""
    sent = await client.post(f"{path}/messages", json={"content": content}, headers={"Prefer": "respond-async"})
    assert sent.status_code == 202, sent.text


async def ended(client: httpx.AsyncClient, path: str) -> dict[str, Any]:
    """Wait until the newest turn has ended, and return how."""
    async with asyncio.timeout(30):
        while not (found := (await client.get(path)).json()["ended"]):  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    return dict(found)


@pytest.mark.parametrize("poison", ["spin", "match"])
async def test_a_turn_that_has_frozen_three_processes_is_given_up_though_none_of_them_said_so(
    tmp_path: Path, poison: str
) -> None:
    async with serving(tmp_path) as (_, client):
        path = (await client.post("/v1/conversations", json=NEW)).headers["location"]
        await ask(client, path, poison)
        await hangs(tmp_path, 1)
    for times in (2, 3):
        async with serving(tmp_path):
            await hangs(tmp_path, times)
    async with serving(tmp_path) as (_, client):
        end = await ended(client, path)
        assert (end["state"], "given up" in end["detail"]) == ("interrupted", True)
        for asked in (path, (await client.post("/v1/conversations", json=NEW)).headers["location"]):
            answer = await client.post(f"{asked}/messages", json={"content": "How are you?"})
            assert answer.json()["message"]["content"].startswith("Fine.")


@pytest.mark.parametrize("poison", ["spin", "block"])
async def test_a_server_that_stands_still_says_where_and_ends_itself(tmp_path: Path, poison: str) -> None:
    async with serving(tmp_path, THREADKEEP_FREEZE_LIMIT="1") as (process, client):
        path = (await client.post("/v1/conversations", json=NEW)).headers["location"]
        await ask(client, path, poison)
        _, complaints = await asyncio.wait_for(process.communicate(), 30)
        assert process.returncode == -signal.SIGPROF
        assert f"in {'_spin' if poison == 'spin' else 'block'}\n" in complaints.decode()


async def test_a_server_that_was_stopped_for_longer_than_the_limit_goes_on(tmp_path: Path) -> None:
    async with serving(tmp_path, THREADKEEP_FREEZE_LIMIT="0.5") as (process, client):
        process.send_signal(signal.SIGSTOP)
        await asyncio.sleep(1)  # the time in which it does nothing is what is tested
        process.send_signal(signal.SIGCONT)
        assert (await client.get("/health/live")).status_code == 200
