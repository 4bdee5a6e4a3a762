"""Real MCP servers, over stdio and streamable HTTP, that are called, killed and started again."""

import asyncio
import gzip
import os
import signal
import socket
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from tests.integration.serving import serving
from threadkeep.conversation.message import ToolCall
from threadkeep.conversation.scope import LOCAL
from threadkeep.tools.base import ToolContext, ToolOutcome
from threadkeep.tools.mcp import Backoff, Connected, McpServer, McpServers, McpState
from threadkeep.tools.registry import Registry, run_call, run_calls
from threadkeep.turn.assistant import Assistant
from threadkeep_integrations.mcp import connection as mcp_connection
from threadkeep_integrations.mcp.program import LARGEST_MESSAGE

SERVER = str(Path(__file__).with_name("mcp_server.py"))
OLD_SERVER = str(Path(__file__).with_name("old_mcp_server.py"))
CONTEXT = ToolContext(scope=LOCAL, conversation="c1", turn=1, call_id="")
PATIENCE = 60.0
QUICK = Backoff(first=0.02, longest=0.2)
STRANGE = "double__a_tool_with_a_name_that_no_provider_would_acc_fc20f6eb0a"


async def eventually(condition: Callable[[], object]) -> None:
    """Wait until something is so. Most of it happens in another process, so that there is no event to wait for."""
    async with asyncio.timeout(PATIENCE):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.005)


class HttpServer:
    """A server process on a port of its own, which can be killed and started again."""

    def __init__(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port: int = free.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the process; it listens some time later."""
        command = [sys.executable, SERVER, "http", str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def kill(self) -> None:
        """End the process as a crash would."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()


@pytest.fixture(scope="module")
def http_server() -> Iterator[HttpServer]:
    """A server that runs."""
    server = HttpServer()
    server.start()
    yield server
    server.kill()


@pytest.fixture(params=["stdio", "http"])
def config(request: pytest.FixtureRequest) -> McpServer:
    """How to reach the same server over each transport."""
    if request.param == "stdio":
        return McpServer(command=sys.executable, args=(SERVER, "stdio"))
    port = request.getfixturevalue("http_server").port
    return McpServer(url=f"http://127.0.0.1:{port}/mcp")


@pytest.fixture
async def servers(config: McpServer) -> AsyncIterator[McpServers]:
    """One server, ready."""
    async with McpServers({"double": config}, QUICK) as servers:
        await eventually(lambda: state_of(servers) is Connected.READY)
        yield servers


def has_ended(process: int) -> bool:
    """Whether a process has ended, even if nobody has asked how."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(") ")[2][0] == "Z"
    except FileNotFoundError:
        return True


def state_of(servers: McpServers) -> Connected:
    return servers.states()[0].state


def names(servers: McpServers) -> set[str]:
    return {tool.spec.name for tool in servers.tools()}


async def call(servers: McpServers, tool: str, **args: Any) -> ToolOutcome:
    return await run_call(Registry(servers.tools()), ToolCall(id="1", name=tool, args=args), CONTEXT)


async def process_of(servers: McpServers, other_than: str = "") -> str:
    """Return the id of the server's process, as soon as it tells one; a busy machine may exceed a short time limit."""
    async with asyncio.timeout(PATIENCE):
        while (told := await call(servers, "double__process")).error is not None or told.content == other_than:
            await eventually(lambda: state_of(servers) is Connected.READY)
    return told.content


async def test_the_tools_of_a_server_are_listed_and_called(servers: McpServers) -> None:
    tools = Registry(servers.tools())
    add = tools.get("double__add")
    assert add is not None
    assert add.spec.description == "Add two numbers."
    assert add.spec.parameters["required"] == ["a", "b"]
    assert add.repeatable
    assert servers.states() == (McpState(server="double", state=Connected.READY, tools=len(tools)),)
    assert (await call(servers, "double__add", a=2, b=40)).content == "42"


async def test_a_name_that_no_provider_would_accept_is_called_under_another(servers: McpServers) -> None:
    assert STRANGE in names(servers)
    assert (await call(servers, STRANGE)).content == "strange"


async def test_structured_content_becomes_text_and_pictures_files(servers: McpServers) -> None:
    assert '"length": 3' in (await call(servers, "double__remember", key="abc")).content
    (picture,) = (await call(servers, "double__picture")).files
    assert picture.line == "[image image/png, 4 KB, not shown]"


async def test_a_failing_tool_and_wrong_arguments_are_errors_for_the_model(servers: McpServers) -> None:
    failed = await call(servers, "double__fail", reason="the disk is full")
    assert failed.error is not None
    assert "the disk is full" in failed.error
    wrong = await call(servers, "double__add", a="many")
    assert wrong.error is not None
    assert "valid integer" in wrong.error


async def test_a_call_over_its_time_limit_is_an_error_and_the_connection_stays(
    config: McpServer, tmp_path: Path
) -> None:
    async with McpServers({"double": config.model_copy(update={"timeout": 1.0})}, QUICK) as servers:
        await eventually(lambda: state_of(servers) is Connected.READY)
        before = await process_of(servers)
        hung = await call(servers, "double__hang", marker=str(tmp_path / "running"))
        assert hung.error is not None
        assert "did not finish within 1 seconds" in hung.error
        assert await process_of(servers) == before


async def test_calls_run_in_parallel_over_one_connection(servers: McpServers, tmp_path: Path) -> None:
    markers = [tmp_path / str(number) for number in range(3)]
    hanging = [asyncio.create_task(call(servers, "double__hang", marker=str(marker))) for marker in markers]
    await eventually(lambda: all(marker.exists() for marker in markers))
    sums = [ToolCall(id=str(number), name="double__add", args={"a": number, "b": number}) for number in range(10)]
    ended = {each.id: outcome.content async for each, outcome in run_calls(Registry(servers.tools()), sums, CONTEXT)}
    assert ended == {str(number): str(2 * number) for number in range(10)}
    for task in hanging:
        task.cancel()
    assert all(
        isinstance(each, asyncio.CancelledError) for each in await asyncio.gather(*hanging, return_exceptions=True)
    )
    assert (await call(servers, "double__add", a=1, b=1)).content == "2"


async def test_a_tool_that_comes_later_is_listed_when_the_server_says_so(servers: McpServers) -> None:
    assert (await call(servers, "double__grow")).content == "grown"
    await eventually(lambda: "double__grown" in names(servers))
    assert servers.states()[0].tools == len(servers.tools())
    assert (await call(servers, "double__grown")).error is None


async def test_a_process_that_is_killed_is_started_again(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    script = f"while [ -e {closed} ]; do sleep 0.01; done; exec {sys.executable} {SERVER} stdio"
    async with McpServers({"double": McpServer(command="/bin/sh", args=("-c", script))}, QUICK) as servers:
        await eventually(lambda: state_of(servers) is Connected.READY)
        first = await process_of(servers)
        closed.touch()
        os.kill(int(first), signal.SIGKILL)
        await eventually(lambda: state_of(servers) is not Connected.READY)
        down = await call(servers, "double__process")
        assert down.error is not None
        assert down.error == "The tool server double is down. It is being tried again."
        assert "double__process" in names(servers)
        closed.unlink()
        assert await process_of(servers) != first


async def test_a_process_that_dies_in_a_call_is_told_and_started_again(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "threadkeep")
    config = McpServer(command=sys.executable, args=(SERVER, "stdio"))
    async with McpServers({"double": config}, QUICK) as servers:
        await eventually(lambda: state_of(servers) is Connected.READY)
        died = await call(servers, "double__die")
        assert died.error is not None
        assert "It may or may not have taken effect." in died.error
        await eventually(lambda: "is down: MCPError: Connection closed; it wrote: the server was told" in caplog.text)
        await eventually(lambda: state_of(servers) is Connected.READY)
        assert (await call(servers, "double__add", a=1, b=2)).content == "3"


async def test_a_process_that_hangs_is_ended_and_started_again(monkeypatch: pytest.MonkeyPatch) -> None:
    config = McpServer(command=sys.executable, args=(SERVER, "stdio"), timeout=0.5)
    async with McpServers({"double": config}, QUICK) as servers:
        await eventually(lambda: state_of(servers) is Connected.READY)
        first = await process_of(servers)
        monkeypatch.setattr(mcp_connection, "_LOOK_SECONDS", 0.5)
        hung = await call(servers, "double__freeze")
        assert hung.error is not None
        assert hung.error.startswith("tool_timeout: ")
        assert await process_of(servers, other_than=first) != first


async def test_an_http_server_that_dies_while_nobody_calls_is_missed_and_found_again() -> None:
    server = HttpServer()
    server.start()
    try:
        config = McpServer(url=f"http://127.0.0.1:{server.port}/mcp")
        async with McpServers({"double": config}, QUICK) as servers:
            await eventually(lambda: state_of(servers) is Connected.READY)
            first = (await call(servers, "double__process")).content
            server.kill()
            await eventually(lambda: state_of(servers) is Connected.FAILED)
            down = await call(servers, "double__process")
            assert down.error is not None
            assert "double is down. " in down.error
            server.start()
            await eventually(lambda: state_of(servers) is Connected.READY)
            assert (await call(servers, "double__process")).content != first
    finally:
        server.kill()


async def test_an_http_server_that_dies_in_a_call_is_told(tmp_path: Path) -> None:
    server, marker = HttpServer(), tmp_path / "running"
    server.start()
    try:
        config = McpServer(url=f"http://127.0.0.1:{server.port}/mcp")
        async with McpServers({"double": config}, QUICK) as servers:
            await eventually(lambda: state_of(servers) is Connected.READY)
            hanging = asyncio.create_task(call(servers, "double__hang", marker=str(marker)))
            await eventually(marker.exists)
            server.kill()
            error = (await hanging).error
            assert error is not None
            assert "It may or may not have taken effect." in error
    finally:
        server.kill()


async def test_a_server_of_the_years_before_is_understood_too() -> None:
    config = McpServer(command=sys.executable, args=(OLD_SERVER,))
    async with McpServers({"old": config}, QUICK) as servers:
        await eventually(lambda: state_of(servers) is Connected.READY)
        assert names(servers) == {"old__grow"}
        assert (await call(servers, "old__grow")).content == "grown"
        await eventually(lambda: names(servers) == {"old__grow", "old__grown"})


async def test_servers_that_cannot_be_reached_say_why_and_do_not_hinder_the_others() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        closed_port = taken.getsockname()[1]
    configs = {
        "missing": McpServer(command="/no/such/command"),
        "broken": McpServer(command=sys.executable, args=("-c", "raise SystemExit('no token given')")),
        "away": McpServer(url=f"http://127.0.0.1:{closed_port}/mcp"),
        "good": McpServer(command=sys.executable, args=(OLD_SERVER,)),
    }
    async with McpServers(configs, QUICK) as servers:
        assert await servers.settled(PATIENCE)
        by_name = {state.server: state for state in servers.states()}
        assert "No such file or directory" in str(by_name["missing"].reason)
        assert "it wrote: no token given" in str(by_name["broken"].reason)
        assert "ConnectError" in str(by_name["away"].reason)
        assert by_name["good"].state is Connected.READY
        assert names(servers) == {"good__grow"}


async def test_closing_ends_the_processes() -> None:
    config = McpServer(command=sys.executable, args=(SERVER, "stdio"))
    servers = McpServers({"double": config}, QUICK)
    await servers.start()
    await eventually(lambda: state_of(servers) is Connected.READY)
    process = int((await call(servers, "double__process")).content)
    await servers.close()
    with pytest.raises(ProcessLookupError):
        os.kill(process, 0)
    assert servers.states()[0].reason == "closed"
    closed = await call(servers, "double__process")
    assert closed.error is not None
    assert "double is down." in closed.error


KEEPER = """
import asyncio, sys
from threadkeep.tools.mcp import McpServer
from threadkeep.tools.mcp import McpServers

async def main():
    script = f"{sys.argv[2]} sleep 1000 & echo $! > {sys.argv[1]}.new; mv {sys.argv[1]}.new {sys.argv[1]}; cat"
    async with McpServers({"wrapped": McpServer(command="/bin/sh", args=("-c", script))}):
        await asyncio.Event().wait()

asyncio.run(main())
"""


WAYS = ["env", pytest.param("setsid", marks=pytest.mark.skipif(sys.platform != "linux", reason="no subreaper"))]


@pytest.mark.parametrize("way", WAYS)
async def test_after_a_kill_of_ours_nothing_that_a_server_started_is_left(tmp_path: Path, way: str) -> None:
    started = tmp_path / "pid"
    with subprocess.Popen([sys.executable, "-c", KEEPER, str(started), way]) as ours:
        await eventually(started.exists)
        grandchild = int(started.read_text())
        os.kill(grandchild, 0)
        ours.kill()
    await eventually(lambda: has_ended(grandchild))


@pytest.mark.parametrize("way", WAYS)
async def test_what_a_server_started_ends_with_it(tmp_path: Path, way: str) -> None:
    started = tmp_path / "pid"
    script = f"{way} sleep 1000 & echo $! > {started}.new; mv {started}.new {started}; cat"
    async with McpServers({"wrapped": McpServer(command="/bin/sh", args=("-c", script))}, QUICK):
        await eventually(started.exists)
        grandchild = int(started.read_text())
    await eventually(lambda: has_ended(grandchild))


async def test_a_dead_servers_words_reach_the_operator_without_secrets_and_nobody_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level("DEBUG", "threadkeep")
    said = "import os, sys; sys.exit('no such account: ' + os.environ['TOKEN'] + ' ' + 'x' * 1000)"
    config = McpServer(command=sys.executable, args=("-c", said), env={"TOKEN": "tok-1234567"})
    servers = McpServers({"broken": config}, QUICK)
    async with servers:
        assert await servers.settled(PATIENCE)
        reason = str(servers.states()[0].reason)
        assert "it wrote: no such account: *** x" in reason
        assert len(reason) < 700
        connection = servers._connections["broken"]
        assert isinstance(connection, mcp_connection.Connection)
        told = await connection.call("any", {})
        assert told.error == "The tool server broken is down. It is being tried again."
    assert "no such account: ***" in caplog.text
    assert "tok-1234567" not in caplog.text


@pytest.mark.parametrize(
    ("head", "body", "complaint"),
    [
        ("Content-Encoding: gzip", gzip.compress(bytes(100_000)), "is compressed, which was not asked for"),
        ("X-Plain: yes", b'"' + b"x" * (LARGEST_MESSAGE + 1) + b'"', f"has more than {LARGEST_MESSAGE} bytes"),
    ],
    ids=["bomb", "large"],
)
async def test_an_http_answer_that_is_no_stream_has_a_limit(head: str, body: bytes, complaint: str) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked = await reader.readuntil(b"\r\n\r\n")
        assert b"accept-encoding: identity" in asked.lower()
        kind = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n{head}\r\n\r\n"
        with suppress(ConnectionError):
            writer.write(kind.encode() + body)
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        async with McpServers({"large": McpServer(url=f"http://127.0.0.1:{port}/mcp")}, QUICK) as servers:
            assert await servers.settled(PATIENCE)
            assert complaint in str(servers.states()[0].reason)


async def test_closing_does_not_wait_for_a_server_that_never_answers(tmp_path: Path) -> None:
    marker = tmp_path / "running"
    script = f"import pathlib, sys; pathlib.Path({str(marker)!r}).touch(); sys.stdin.read()"
    async with McpServers({"mute": McpServer(command=sys.executable, args=("-c", script))}, QUICK) as servers:
        await eventually(marker.exists)
        assert not await servers.settled(0)
        assert state_of(servers) is Connected.CONNECTING


async def test_a_server_tells_which_tool_servers_it_has_and_what_they_offer_but_not_why_one_failed() -> None:
    mcp = {
        "double": McpServer(command=sys.executable, args=(SERVER, "stdio")),
        "gone": McpServer(command=sys.executable, args=("-c", "raise SystemExit('the password is 1234')")),
    }
    assistants = [Assistant(name="with", mcp=True), Assistant(name="without")]
    async with serving(assistants=assistants, mcp={"servers": mcp}) as server:
        await server.conversations.mcp.settled(PATIENCE)
        answer = await server.client.get("/v1/assistants")
        while answer.json()["tool_servers"][1]["state"] == "connecting":  # it is tried again and again
            answer = await server.client.get("/v1/assistants")
        metrics = (await server.client.get("/metrics")).text
    about = answer.json()
    double, gone = about["tool_servers"]
    assert (double["name"], double["state"]) == ("double", "ready")
    assert (gone["name"], gone["state"], gone["tools"]) == ("gone", "failed", 0)
    tools = {assistant["name"]: assistant["tools"] for assistant in about["data"]}
    assert tools["without"] == []
    assert len(tools["with"]) == double["tools"]
    assert all(name.startswith("double__") for name in tools["with"])
    assert "1234" not in answer.text
    assert 'threadkeep_mcp_ready{server="double"} 1' in metrics
    assert 'threadkeep_mcp_ready{server="gone"} 0' in metrics


async def test_no_servers_are_no_tools() -> None:
    async with McpServers({}) as servers:
        assert await servers.settled(0)
        assert servers.tools() == ()
        assert servers.states() == ()


async def test_without_the_package_the_servers_fail_with_the_line_that_installs_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "threadkeep_integrations.mcp.connection", None)
    async with McpServers({"any": McpServer(command="x")}) as servers:
        assert servers.states()[0].state is Connected.FAILED
        assert "pip install 'threadkeep[mcp]'" in str(servers.states()[0].reason)


def test_the_package_is_not_imported_before_a_server_is_started() -> None:
    program = "import sys, threadkeep.tools.mcp, threadkeep.settings; sys.exit('mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


@pytest.mark.parametrize("turns", [0, 1, 2, 3, 5, 8, 13, 21])
async def test_closing_while_a_process_is_being_started_leaves_none_behind(turns: int, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    script = f"import os, sys; open({str(pids)!r}, 'a').write(f'{{os.getpid()}}\\n'); sys.stdin.read()"
    servers = McpServers({"mute": McpServer(command=sys.executable, args=("-c", script))}, QUICK)
    await servers.start()
    for _ in range(turns):
        await asyncio.sleep(0)
    await servers.close()
    for pid in pids.read_text().split() if pids.exists() else []:
        with pytest.raises(ProcessLookupError):
            os.kill(int(pid), 0)
