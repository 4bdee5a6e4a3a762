"""What an answer of a real provider's client costs, and how late its tokens are, beside what others do.

    python -m bench.provider             100 answers of 200 tokens, 20 a second
    python -m bench.provider --quick     the same with 100 tokens

A provider in another process streams OpenAI's chunks, each token being the time at which it is said; late is what lies
between that and its arrival at the client. Rivals are a proxy that passes bytes on, a naive server that keeps a JSON
file, and the OpenAI Agents SDK behind FastAPI. All of them share the machine with provider and client, so that ratios
within one run are what counts. The rivals need an environment of their own, which `make bench` sets up.
"""

import argparse
import asyncio
import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import NamedTuple

import httpx

from bench.report import Report

STREAMS = 100
WARM = 5
APART = 0.02
"""Seconds between two questions: a hundred turns that begin in the same instant would be measured, not their tokens."""
RIVALS = Path(__file__).with_name("provider_rivals.py")
RIVALS_PYTHON = Path(sys.prefix, "bench/bin/python")
NAMES = {
    "proxy": "a proxy that passes bytes on",
    "naive": "a naive server with a JSON file",
    "agents": "OpenAI Agents SDK behind FastAPI",
    "threadkeep": "threadkeep serve, openai: model, SQLite",
}
_STAMP = re.compile(rb"\d{10}\.\d{6}")


class Measured(NamedTuple):
    """Milliseconds: how late tokens were, and the server's processor time for one turn."""

    p50: float
    p99: float
    cpu: float


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@contextmanager
def running(command: list[str], port: int, **environment: str) -> Iterator[int]:
    """Run a server until it listens and for as long as the block takes; return its process id."""
    process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL)
    try:
        until = time.monotonic() + 60
        while time.monotonic() < until and process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        else:
            raise TimeoutError(f"{command[1]} did not start")
        yield process.pid
    finally:
        process.kill()
        process.wait()


@contextmanager
def server(kind: str, provider: int, folder: str) -> Iterator[tuple[int, int]]:
    """Run one of the servers in front of the provider; return its process id and port."""
    port = free_port()
    if kind == "threadkeep":
        store = ["--store", f"sqlite:///{folder}/bench.db", "--model", "openai:played", "--port", str(port)]
        command = [sys.executable, "-m", "threadkeep.cli.main", "serve", *store]
        url = {"OPENAI_BASE_URL": f"http://127.0.0.1:{provider}/v1", "OPENAI_API_KEY": "sk-bench"}
        limits = {"THREADKEEP_USER_REQUESTS_PER_SECOND": "0", "THREADKEEP_LOG_LEVEL": "error"}
        with running(command, port, **url, **limits) as pid:
            yield pid, port
        return
    python = str(RIVALS_PYTHON) if kind in ("naive", "agents") else sys.executable
    with running([python, str(RIVALS), kind, str(port), str(provider)], port) as pid:
        yield pid, port


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has taken, all threads included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def requests(kind: str, port: int, count: int) -> list[tuple[str, dict[str, object]]]:
    """Return the path and body of that many questions, each in a conversation of its own."""
    if kind == "proxy":
        return [("/v1/chat/completions", {"model": "played", "messages": [], "stream": True})] * count
    if kind != "threadkeep":
        return [("/chat", {"session_id": f"s{time.time_ns()}-{at}", "message": "Go on."}) for at in range(count)]
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
        body = {"title": "Measured", "assistant": "chat"}
        made = [
            (await client.post("/v1/conversations", json=body)).raise_for_status().json()["id"] for _ in range(count)
        ]
    return [(f"/v1/conversations/{name}/messages", {"content": "Go on."}) for name in made]


async def ask(port: int, path: str, body: dict[str, object], tokens: int) -> list[float]:
    """Ask once and return how late each token was. The whole answer, which may follow the last, is not looked at."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**22)
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nConnection: close\r\n"
    writer.write(f"{head}Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data)
    late: list[float] = []
    while len(late) < tokens and (line := await reader.readline()):
        now = time.time()
        late += [now - float(stamp) for stamp in _STAMP.findall(line)]
    writer.close()
    if len(late) != tokens:
        raise ConnectionError(f"{path} gave {len(late)} tokens of {tokens}")
    return late


async def stream_all(port: int, questions: list[tuple[str, dict[str, object]]], tokens: int) -> list[float]:
    """Ask one question after the other, listen to all answers at a time, and return how late all tokens were."""
    asked = []
    for path, body in questions:
        asked.append(asyncio.create_task(ask(port, path, body, tokens)))
        await asyncio.sleep(APART)
    return [late for answer in await asyncio.gather(*asked) for late in answer]


async def measure(kind: str, tokens: int) -> Measured:
    """Have one of the servers stream answers side by side."""
    with ExitStack() as stack:
        folder, provider = stack.enter_context(TemporaryDirectory()), free_port()
        played = [sys.executable, str(RIVALS), "provider", str(provider), str(tokens)]
        stack.enter_context(running(played, provider))
        pid, port = stack.enter_context(server(kind, provider, folder))
        await stream_all(port, await requests(kind, port, WARM), tokens)
        questions = await requests(kind, port, STREAMS)
        before = cpu_seconds(pid)
        late = await stream_all(port, questions, tokens)
        spent = cpu_seconds(pid) - before
    cuts = quantiles(late, n=100)
    return Measured(cuts[49] * 1000, cuts[98] * 1000, spent / STREAMS * 1000)


async def compare(report: Report, *, quick: bool) -> None:
    """Measure every server and hold ours against the others."""
    tokens = 100 if quick else 200
    report.title(f"{STREAMS} answers of {tokens} tokens, 20 a second, from a provider that speaks OpenAI's protocol")
    kinds = [kind for kind in NAMES if RIVALS_PYTHON.exists() or kind in ("proxy", "threadkeep")]
    found = {kind: await measure(kind, tokens) for kind in kinds}
    rows = [[NAMES[kind], f"{one.p50:.1f}", f"{one.p99:.1f}", f"{one.cpu:.1f}"] for kind, one in found.items()]
    report.table("How late tokens are, and what a turn costs", ["", "p50 ms", "p99 ms", "processor ms a turn"], rows)
    ours = found["threadkeep"]
    report.bar("p99 lateness / bare proxy", ours.p99 / found["proxy"].p99, at_most=5)
    if "agents" in found:
        report.bar("processor time of a turn / Agents SDK", ours.cpu / found["agents"].cpu, at_most=1)
        report.bar("processor time of a turn / naive server", ours.cpu / found["naive"].cpu, at_most=1)
    else:
        report.note(f"no rivals: there is no {RIVALS_PYTHON}; `make bench` installs requirements/bench.txt there")


async def main() -> None:
    """Measure by command."""
    parser = argparse.ArgumentParser(prog="bench.provider", description="Answers of a provider beside other servers.")
    parser.add_argument("--quick", action="store_true", help="answers of 100 tokens")
    quick = parser.parse_args().quick
    report = Report(sys.stdout)
    await compare(report, quick=quick)
    report.close()


if __name__ == "__main__":
    asyncio.run(main())
