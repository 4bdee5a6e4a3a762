"""Stopping a real server with real signals, while a turn runs and streams are open."""

import asyncio
import signal
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from dataclasses import dataclass, field
from pathlib import Path

import httpx
import pytest

from tests.acceptance.server_process import server_process

QUESTION = {"content": "What can you do?"}
NEVER, IN_TIME = "5", "0.02"
"""Seconds for a word: a turn that will not end within a test, and one that will."""


@dataclass
class Server:
    """A server process and a client of it."""

    process: asyncio.subprocess.Process
    client: httpx.AsyncClient

    async def ended(self) -> tuple[int | None, bytes]:
        """Wait for the end of the process; return its status and what it complained about."""
        _, complaints = await asyncio.wait_for(self.process.communicate(), 20)
        return self.process.returncode, complaints

    async def conversation(self) -> str:
        return str((await self.client.post("/v1/conversations")).json()["id"])

    async def until_stopping(self) -> httpx.Response:
        while (answer := await self.client.get("/health/ready")).status_code == 200:
            pass
        return answer

    async def ask(self, conversation: str) -> None:
        """Send a question, and do not wait for its answer."""
        path = f"/v1/conversations/{conversation}/messages"
        await self.client.post(path, json=QUESTION, headers={"Prefer": "respond-async"})


@asynccontextmanager
async def serving(folder: Path, pace: str, patience: float) -> AsyncIterator[Server]:
    """Run a server that has so many seconds of patience with turns when it is stopped."""
    async with server_process(folder, pace=pace, THREADKEEP_STOP_PATIENCE=str(patience)) as served:
        yield Server(*served)


@dataclass
class Reading:
    """What came on a stream so far; `ended_cleanly` is whether the server closed it and nothing broke off."""

    text: str = ""
    ended_cleanly: bool = False
    said: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self, answer: httpx.Response) -> None:
        async for chunk in answer.aiter_text():
            self.text += chunk
            if "text.delta" in self.text:
                self.said.set()
        self.ended_cleanly = True

    @property
    def last_id(self) -> str:
        return [line.removeprefix("id: ") for line in self.text.splitlines() if line.startswith("id: ")][-1]


@asynccontextmanager
async def reading(client: httpx.AsyncClient, path: str, **headers: str) -> AsyncIterator[Reading]:
    """A stream that is read to its end in the background."""
    found = Reading()
    async with client.stream("GET", path, headers=headers) as answer:
        assert answer.status_code == 200
        task = asyncio.create_task(found.read(answer))
        yield found
        await asyncio.wait_for(task, 30)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_turn_that_runs_gets_time_and_its_readers_see_its_end(tmp_path: Path, number: signal.Signals) -> None:
    async with serving(tmp_path, IN_TIME, patience=30) as server:
        id = await server.conversation()
        async with reading(server.client, f"/v1/conversations/{id}/events") as stream:
            await server.ask(id)
            await asyncio.wait_for(stream.said.wait(), 30)
            server.process.send_signal(number)
        assert "event: turn.completed" in stream.text
        assert stream.text.endswith("retry: 1000\n: connect again\n\n")
        assert stream.ended_cleanly
        assert await server.ended() == (0, b"")


@pytest.mark.server_may_fail
async def test_meanwhile_no_new_turn_is_accepted_but_everything_can_be_read(tmp_path: Path) -> None:
    async with serving(tmp_path, NEVER, patience=60) as server:
        id, other = await server.conversation(), await server.conversation()
        await server.ask(id)
        server.process.terminate()
        assert (await server.until_stopping()).json()["code"] == "stopping"
        refused = await server.client.post(f"/v1/conversations/{other}/messages", json=QUESTION)
        assert (refused.status_code, refused.json()["code"]) == (503, "stopping")
        assert int(refused.headers["retry-after"]) >= 1
        assert (await server.client.get(f"/v1/conversations/{id}")).status_code == 200


async def test_a_turn_that_takes_too_long_is_left_and_taken_up_by_the_next_server(tmp_path: Path) -> None:
    async with serving(tmp_path, NEVER, patience=0.1) as server:
        id = await server.conversation()
        path = f"/v1/conversations/{id}"
        async with reading(server.client, f"{path}/events") as stream:
            waiting = asyncio.create_task(server.client.post(f"{path}/messages", json=QUESTION))
            await asyncio.wait_for(stream.said.wait(), 30)
            server.process.terminate()
            told = await waiting
        assert (told.status_code, told.json()["code"]) == (503, "stopping")
        assert stream.ended_cleanly
        assert "event: turn.completed" not in stream.text
        assert await server.ended() == (0, b"")
    async with serving(tmp_path, "0", patience=1) as server:
        headers = {"Last-Event-ID": stream.last_id}
        async with server.client.stream("GET", f"{path}/events", headers=headers) as answer:
            lines = answer.aiter_lines()
            while await asyncio.wait_for(anext(lines), 30) != "event: turn.completed":
                pass


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_ends_it_at_once(tmp_path: Path, number: signal.Signals) -> None:
    async with serving(tmp_path, NEVER, patience=3000) as server:
        await server.ask(await server.conversation())
        server.process.send_signal(number)
        await server.until_stopping()
        server.process.send_signal(number)
        assert await server.ended() == (-number, b"")


async def test_a_reader_who_reads_nothing_does_not_keep_it_from_stopping(tmp_path: Path) -> None:
    async with serving(tmp_path, NEVER, patience=0) as server:
        id = await server.conversation()
        async with (
            server.client.stream("GET", f"/v1/conversations/{id}/events"),
            server.client.stream("GET", "/v1/events"),
        ):
            server.process.terminate()
            assert await server.ended() == (0, b"")


async def test_a_store_that_hangs_does_not_keep_it_from_stopping(tmp_path: Path) -> None:
    async with serving(tmp_path, NEVER, patience=0.1) as server:
        id = await server.conversation()
        with closing(sqlite3.connect(tmp_path / "threadkeep.db", isolation_level=None)) as other:
            other.execute("BEGIN EXCLUSIVE")
            asking = asyncio.create_task(server.ask(id))
            while (await server.client.get("/health/ready")).status_code == 200:
                pass
            server.process.terminate()
            status, _ = await server.ended()
            await asyncio.gather(asking, return_exceptions=True)
        assert status in (0, 1)
