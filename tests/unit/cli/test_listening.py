"""The socket of a server: where it listens, and how connections are taken from it and handed over."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import httpx
import pytest
from fastapi import FastAPI

from threadkeep.cli import listening
from threadkeep.cli.listening import Server, listen, url_of
from threadkeep.errors import InvalidValue
from threadkeep.server.connection import ConnectionLimits
from threadkeep.settings import Settings

SETTINGS = Settings(port=0)


@pytest.fixture
def listener() -> Iterator[socket.socket]:
    with listen(SETTINGS) as one:
        yield one


def app() -> FastAPI:
    found = FastAPI()
    found.add_api_route("/", lambda: "here")
    return found


@asynccontextmanager
async def serving(listener: socket.socket) -> AsyncIterator[Server]:
    """Serve on it until the end of the block, as another process would."""
    with listener.dup() as own:
        server = Server(app(), SETTINGS, ConnectionLimits(), own)
        task = asyncio.create_task(server.serve())
        yield server
        server.should_exit = True
        await task


def test_where_it_cannot_listen_is_told_with_the_reason() -> None:
    with listen(SETTINGS) as one:
        port = one.getsockname()[1]
        with pytest.raises(InvalidValue, match=f":{port}: Address already in use; choose another with --port"):
            listen(Settings(port=port))


def test_an_address_of_version_6_stands_in_brackets() -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as one:
        assert url_of(one).startswith("http://[::1]:")


async def test_two_servers_share_what_arrives_at_once(listener: socket.socket) -> None:
    async with serving(listener) as one, serving(listener) as other, httpx.AsyncClient() as client:
        answers = await asyncio.gather(*(client.get(url_of(listener)) for _ in range(50)))
        assert {answer.status_code for answer in answers} == {200}
    taken = one.server_state.total_requests, other.server_state.total_requests
    assert sum(taken) == 50
    assert min(taken) >= 10


async def test_after_it_has_handed_over_the_other_one_answers(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "CLOSING_SECONDS", 0.0)
    async with serving(listener) as one, httpx.AsyncClient(base_url=url_of(listener)) as client:
        assert "connection" not in (await client.get("/")).headers
        (connection,) = one.server_state.connections
        async with serving(listener) as other:
            monkeypatch.setattr(connection, "shutdown", lambda: None)
            await one.hand_over()
            # The client is told to leave the connection that it has.
            assert (await client.get("/")).headers["connection"] == "close"
            assert "connection" not in (await client.get("/")).headers
            assert (len(one.server_state.connections), len(other.server_state.connections)) == (0, 1)


async def test_without_an_open_file_for_a_connection_it_is_taken_later(
    listener: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listening, "AGAIN_SECONDS", 0.01)

    class Full:
        """A listener of a process that has no open file left, once."""

        times = 0

        def fileno(self) -> int:
            return listener.fileno()

        def accept(self) -> tuple[socket.socket, object]:
            self.times += 1
            if self.times == 1:
                raise OSError(24, "Too many open files")
            return listener.accept()

    full = Full()
    server = Server(app(), SETTINGS, ConnectionLimits(), full)  # type: ignore[arg-type]
    task = asyncio.create_task(server.serve())
    async with httpx.AsyncClient() as client:
        assert (await client.get(url_of(listener))).status_code == 200
    server.should_exit = True
    await task
    assert full.times > 1


async def test_a_connection_is_kept_for_longer_than_proxies_keep_it(listener: socket.socket) -> None:
    async with serving(listener) as server:
        assert server.config.timeout_keep_alive > 60
