"""A server with several workers is one server: to who reads, who is limited, who measures, and while it is reloaded."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

import httpx
import pytest

from tests.acceptance.instances import Instances
from tests.acceptance.stream_reader import Reader
from tests.backends import ON_DISK, url_of
from tests.browser.server import PATIENCE, Server

KEPT = httpx.Limits(max_keepalive_connections=1, max_connections=1)
QUESTION = {"content": "My name is Alice."}


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Start servers with two workers; kill them at the end."""
    servers: list[Server] = []

    def start(*arguments: str, pace: float = 0, **variables: str) -> Server:
        servers.append(Server(tmp_path, "--workers", "2", *arguments, pace=pace, variables=variables))
        servers[-1].start()
        return servers[-1]

    yield start
    for server in servers:
        server.kill()


async def until(is_so: Callable[[], bool]) -> None:
    """Wait until something is so."""
    async with asyncio.timeout(PATIENCE):
        while not is_so():  # noqa: ASYNC110 - what is looked at is no event
            await asyncio.sleep(0.02)


async def both_serve(server: Server, without: Collection[int] = ()) -> list[int]:
    """Wait until there are two workers, none of them of those `without`, and both answer; return them."""
    await until(lambda: len(server.workers()) == 2 and not set(server.workers()) & set(without))
    for worker in (found := server.workers()):
        async with client_of(server, worker):
            pass
    return found


def worker_of(answer: httpx.Response, workers: list[int]) -> int:
    """Return the worker that the connection of an answer leads to: the one that has the other end of it."""
    _, port = answer.extensions["network_stream"].get_extra_info("client_addr")
    there = answer.extensions["network_stream"].get_extra_info("server_addr")[1]
    ends = f"{there:04X}", f"{port:04X}"
    for row in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, own, other, *fields = row.split()
        if (own.partition(":")[2], other.partition(":")[2]) == ends:
            inode = f"socket:[{fields[6]}]"
            for worker in workers:
                if inode in {os.readlink(each) for each in Path(f"/proc/{worker}/fd").iterdir() if each.is_symlink()}:
                    return worker
    raise AssertionError("nobody has that connection")


@asynccontextmanager
async def client_of(server: Server, worker: int) -> AsyncIterator[httpx.AsyncClient]:
    """Yield a client whose only connection leads to this worker."""
    async with AsyncExitStack() as stack:
        found = None
        async with asyncio.timeout(PATIENCE):
            while found is None or found[0] != worker:
                client = httpx.AsyncClient(base_url=server.url, timeout=PATIENCE, limits=KEPT)
                await stack.enter_async_context(client)
                found = worker_of(await client.get("/health/live"), server.workers()), client
        yield found[1]


async def conversation(client: httpx.AsyncClient) -> str:
    return str((await client.post("/v1/conversations", json={})).headers["location"])


async def numbers(client: httpx.AsyncClient) -> dict[str, float]:
    text = (await client.get("/metrics")).text
    return {line.rpartition(" ")[0]: float(line.rpartition(" ")[2]) for line in text.splitlines() if line[0] != "#"}


async def numbers_when(client: httpx.AsyncClient, expected: Mapping[str, float]) -> dict[str, float]:
    """Return the numbers as soon as some are as expected: the last turn is counted when its answer has gone."""
    async with asyncio.timeout(PATIENCE):
        told: dict[str, float] = {}
        while not told.items() >= expected.items():
            told = await numbers(client)
    return told


@pytest.mark.parametrize("backend", ON_DISK)
async def test_a_stream_at_one_worker_tells_a_turn_at_the_other_as_it_is_written(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest, serve: Callable[..., Server]
) -> None:
    server = serve("--store", url_of(backend, tmp_path, request), pace=0.1)
    one, other = await both_serve(server)
    async with client_of(server, one) as asks, client_of(server, other) as reads:
        path = await conversation(asks)
        reader = Reader(path)
        following = asyncio.create_task(reader.read(reads))
        answer = await asks.post(f"{path}/messages", json=QUESTION)
        await following
    reader.check()
    assert answer.json()["turn"]["state"] == "completed"
    # Without a word from the other worker, a reader would look once a second, and get the text in few pieces.
    assert sum(event.event == "text.delta" for event in reader.events) >= 10


async def test_limits_hold_for_all_workers_together_and_a_dead_one_holds_no_place(serve: Callable[..., Server]) -> None:
    server = serve(pace=0.5, THREADKEEP_USER_TURNS="1", THREADKEEP_USER_STREAMS="1")
    one, other = await both_serve(server)
    async with client_of(server, one) as first, client_of(server, other) as second, client_of(server, one) as reads:
        busy, path = await conversation(first), await conversation(first)
        sent = await first.post(f"{busy}/messages", json=QUESTION, headers={"Prefer": "respond-async"})
        assert sent.status_code == 202
        async with reads.stream("GET", f"{busy}/events"):
            refused = await second.get(f"{path}/events")
            assert (refused.status_code, refused.json()["code"]) == (429, "too_many_streams")
            refused = await second.post(f"{path}/messages", json=QUESTION)
            assert (refused.status_code, refused.json()["code"]) == (429, "too_many_turns")
            os.kill(one, signal.SIGKILL)
            await until(lambda: one not in server.workers())
        async with second.stream("GET", f"{path}/events") as stream:
            assert stream.status_code == 200


async def test_the_rate_of_requests_is_that_of_all_workers(serve: Callable[..., Server]) -> None:
    server = serve(THREADKEEP_USER_REQUESTS_PER_SECOND="0.01")
    one, other = await both_serve(server)
    async with client_of(server, one) as first, client_of(server, other) as second:
        asked = [await client.get("/v1/me") for client in (first, second, first, second)]
    assert [answer.status_code for answer in asked] == [200, 429, 429, 429]


async def test_any_worker_tells_the_numbers_of_all_also_of_dead_ones(serve: Callable[..., Server]) -> None:
    server = serve()
    one, other = await both_serve(server)
    turns, running = 'threadkeep_turns_total{state="completed"}', "threadkeep_running_turns"
    sent = 'method="POST",route="/v1/conversations/{id}/messages"'
    requests, seconds = f'threadkeep_requests_total{{{sent},status="200"}}', "threadkeep_request_seconds_bucket"
    async with client_of(server, one) as first, client_of(server, other) as second:
        for client in (first, second, second):
            await client.post(f"{await conversation(client)}/messages", json=QUESTION)
        for client in (first, second):
            await numbers_when(client, {turns: 3, running: 0, requests: 3, f'{seconds}{{le="+Inf",{sent}}}': 3})
        os.kill(one, signal.SIGKILL)
        await until(lambda: one not in server.workers())
        assert (await numbers_when(second, {running: 0}))[turns] == 3
        (third,) = set(await both_serve(server, (one,))) - {other}
        async with client_of(server, third) as client:
            await client.post(f"{await conversation(client)}/messages", json=QUESTION)
            await numbers_when(client, {turns: 4, running: 0})
        await numbers_when(second, {turns: 4, running: 0})


async def test_a_reload_replaces_all_with_new_settings_and_nobody_is_refused(
    tmp_path: Path, serve: Callable[..., Server]
) -> None:
    settings = tmp_path / "threadkeep.toml"
    settings.write_text("user_conversations = 3\n")
    server = serve(pace=0.05)
    before = await both_serve(server)
    is_over = asyncio.Event()
    statuses: list[int] = []

    async def keep_asking(limits: httpx.Limits) -> None:
        async with httpx.AsyncClient(base_url=server.url, timeout=PATIENCE, limits=limits) as client:
            while not is_over.is_set():
                statuses.append((await client.get("/health/ready")).status_code)

    async with client_of(server, before[0]) as client:
        path = await conversation(client)
        asking = [
            asyncio.create_task(keep_asking(limits)) for limits in (KEPT, httpx.Limits(max_keepalive_connections=0))
        ]
        settings.write_text("user_conversations = 1\n")
        turn = asyncio.create_task(client.post(f"{path}/messages", json=QUESTION))
        server.reload()
        after = await both_serve(server, before)
        is_over.set()
        await asyncio.gather(*asking)
        assert (await turn).json()["turn"]["state"] == "completed"
    assert set(statuses) == {200}
    assert len(statuses) > 10
    for worker in after:
        async with client_of(server, worker) as client:
            assert (await client.post("/v1/conversations", json={})).status_code == 429


async def test_settings_that_are_wrong_change_nothing(tmp_path: Path, serve: Callable[..., Server]) -> None:
    settings = tmp_path / "threadkeep.toml"
    settings.write_text("")
    server = serve()
    before = await both_serve(server)
    settings.write_text("user_conversations = -1\n")
    server.reload()
    await until(lambda: "the settings stay as they are: the setting user_conversations is not valid" in server.log)
    assert server.workers() == before


async def test_what_is_done_once_is_done_by_one_of_them(serve: Callable[..., Server]) -> None:
    server = serve()
    async with httpx.AsyncClient(base_url=server.url) as client:
        await conversation(client)
    server.stop()
    server.start()
    await both_serve(server)
    async with httpx.AsyncClient(base_url=server.url) as client:
        acts: list[str] = []
        async with asyncio.timeout(PATIENCE):
            while "retention.ran" not in acts:
                found = (await client.get("/v1/audit")).json()["data"]
                acts = sorted(act["action"] for act in found if act["action"] != "audit.read")
    assert acts == ["retention.began", "retention.ran", "settings.changed"]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("backend", ["sqlite", "postgresql"])
async def test_workers_killed_under_load_lose_nothing_and_double_nothing(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    instances = Instances(url_of(backend, tmp_path, request), tmp_path / "server", count=1, seed=20261118, workers=3)
    (tmp_path / "server").mkdir()
    talks = await instances.run(conversations=10, faults=6)
    assert await instances.violations(talks) == []
    assert (instances.kills, instances.freezes) == (6, 0)
