"""What an answer of a real provider's client costs, and how late its tokens are, beside what others do.

    python -m bench.provider             100 answers of 200 tokens, 20 a second; 1,000 at 5 a second
    python -m bench.provider --quick     the same with fewer tokens

A provider in another process streams OpenAI's chunks, each token being the time at which it is said; late is what lies
between that and its arrival at the client. Rivals are a proxy that passes bytes on, a naive server that keeps a JSON
file, and the OpenAI Agents SDK behind FastAPI. All of them share the machine with provider and client, so that ratios
within one run are what counts. Then: how many turns pass in a second where the provider is as fast as it can be, and
when the first token of a long conversation comes. The rivals need an environment of their own, which `make bench` sets
up.
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
from itertools import islice
from pathlib import Path
from statistics import quantiles
from tempfile import TemporaryDirectory
from typing import NamedTuple

import httpx

from bench.provider_rivals import EVERY
from bench.report import Report
from bench.texts import turns
from tests.postgres_server import PostgresServer
from threadkeep.context.tokens import count_tokens
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_store
from threadkeep.store.values import Append

STREAMS, MANY = 100, 1000
SLOW = 0.2
"""Seconds between two tokens of each of many answers."""
WIDTH = 32
WARM = 5
APART = 0.02
"""Seconds between two questions: a hundred turns that begin in the same instant would be measured, not their tokens."""
MANY_APART = 0.008
TRIES = 20
"""How often one conversation is asked after a start."""
RIVALS = Path(__file__).with_name("provider_rivals.py")
RIVALS_PYTHON = Path(sys.prefix, "bench/bin/python")
NAMES = {
    "proxy": "a proxy that passes bytes on",
    "bare": "a bare proxy: Starlette and aiohttp",
    "naive": "a naive server with a JSON file",
    "agents": "OpenAI Agents SDK behind FastAPI",
    "threadkeep": "threadkeep serve, openai: model, SQLite",
    "postgres": "threadkeep serve, openai: model, PostgreSQL",
}
OURS = ("threadkeep", "postgres")
_STAMP = re.compile(rb"\d{10}\.\d{6}")


class Measured(NamedTuple):
    """Milliseconds: how late tokens were, and the server's processor time for one turn; its memory in MiB."""

    p50: float
    p99: float
    cpu: float
    memory: float


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
def server(kind: str, provider: int, folder: str, *flags: str) -> Iterator[tuple[int, int]]:
    """Run one of the servers in front of the provider, ours with flags; return its process id and port."""
    port = free_port()
    if kind in OURS:
        model = ["--model", "openai:played", "--port", str(port), *flags]
        command = [sys.executable, "-m", "threadkeep.cli.main", "serve", *model]
        url = {"OPENAI_BASE_URL": f"http://127.0.0.1:{provider}/v1", "OPENAI_API_KEY": "sk-bench"}
        limits = dict.fromkeys(("REQUESTS_PER_SECOND", "TURNS", "STREAMS"), "0")
        settings = {f"THREADKEEP_USER_{name}": value for name, value in limits.items()} | {
            "THREADKEEP_LOG_LEVEL": "error"
        }
        with store_url(kind, folder) as store, running([*command, "--store", store], port, **url, **settings) as pid:
            yield pid, port
        return
    python = str(RIVALS_PYTHON) if kind in ("naive", "agents") else sys.executable
    with running([python, str(RIVALS), kind, str(port), str(provider)], port) as pid:
        yield pid, port


@contextmanager
def store_url(kind: str, folder: str) -> Iterator[str]:
    """Return where a server of ours keeps conversations: a file in the folder, or a PostgreSQL for this block."""
    if kind != "postgres":
        yield f"sqlite:///{folder}/bench.db"
        return
    with PostgresServer.start() as database:
        yield database.fresh_database().server


def memory_peak(pid: int) -> float:
    """Return the most memory that a process has had, in MiB."""
    found = re.search(r"VmHWM:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def cpu_seconds(pid: int) -> float:
    """Return the processor time that a process has taken, all threads included."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def requests(kind: str, port: int, count: int) -> list[tuple[str, dict[str, object]]]:
    """Return the path and body of that many questions, each in a conversation of its own."""
    if kind == "proxy":
        return [("/v1/chat/completions", {"model": "played", "messages": [], "stream": True})] * count
    if kind not in OURS:
        return [("/chat", {"session_id": f"s{time.time_ns()}-{at}", "message": "Go on."}) for at in range(count)]
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
        body = {"title": "Measured", "assistant": "chat"}
        posts = [client.post("/v1/conversations", json=body) for _ in range(count)]
        made = [(await post).raise_for_status().json()["id"] for post in posts]
    return [(f"/v1/conversations/{name}/messages", {"content": "Go on."}) for name in made]


def _request(path: str, body: dict[str, object]) -> bytes:
    data = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAccept: text/event-stream\r\nConnection: close\r\n"
    return f"{head}Content-Type: application/json\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data


async def ask(port: int, path: str, body: dict[str, object], tokens: int) -> list[float]:
    """Ask once and return how late each token was. The whole answer, which may follow the last, is not looked at."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**22)
    writer.write(_request(path, body))
    late: list[float] = []
    while len(late) < tokens and (line := await reader.readline()):
        now = time.time()
        late += [now - float(stamp) for stamp in _STAMP.findall(line)]
    writer.close()
    if len(late) != tokens:
        raise ConnectionError(f"{path} gave {len(late)} tokens of {tokens}")
    return late


async def stream_all(
    port: int, questions: list[tuple[str, dict[str, object]]], tokens: int, apart: float = APART
) -> list[float]:
    """Ask one question after the other, listen to all answers at a time, and return how late all tokens were."""
    asked = []
    for path, body in questions:
        asked.append(asyncio.create_task(ask(port, path, body, tokens)))
        await asyncio.sleep(apart)
    return [late for answer in await asyncio.gather(*asked) for late in answer]


async def measure(kind: str, tokens: int, *, many: bool = False) -> Measured:
    """Have one of the servers stream answers side by side: many slow ones, which all are there only in the end, or a
    hundred."""
    streams, every, apart = (MANY, SLOW, MANY_APART) if many else (STREAMS, EVERY, APART)
    with ExitStack() as stack:
        folder, provider = stack.enter_context(TemporaryDirectory()), free_port()
        played = [sys.executable, str(RIVALS), "provider", str(provider), str(tokens), str(every)]
        stack.enter_context(running(played, provider))
        pid, port = stack.enter_context(server(kind, provider, folder))
        if not many:
            await stream_all(port, await requests(kind, port, WARM), tokens)
        questions = await requests(kind, port, streams)
        before = cpu_seconds(pid)
        late = await stream_all(port, questions, tokens, apart)
        spent, memory = cpu_seconds(pid) - before, memory_peak(pid)
    cuts = quantiles(late, n=100)
    return Measured(cuts[49] * 1000, cuts[98] * 1000, spent / streams * 1000, memory)


async def measure_rate(kind: str, tokens: int, times: int) -> float:
    """Return how many turns a second pass where so many people ask one question after the other, and the provider says
    all tokens at once."""
    with ExitStack() as stack:
        folder, provider = stack.enter_context(TemporaryDirectory()), free_port()
        stack.enter_context(
            running([sys.executable, str(RIVALS), "provider", str(provider), str(tokens), "0"], provider)
        )
        _, port = stack.enter_context(server(kind, provider, folder))
        people = await requests(kind, port, WIDTH)

        async def talk(path: str, body: dict[str, object], times: int) -> None:
            for _ in range(times):
                await ask(port, path, body, tokens)

        await asyncio.gather(*(talk(*question, 1) for question in people))
        began = time.perf_counter()
        await asyncio.gather(*(talk(*question, times) for question in people))
        return WIDTH * times / (time.perf_counter() - began)


async def compare(report: Report, *, quick: bool) -> None:
    """Measure every server and hold ours against the others."""
    tokens = 100 if quick else 200
    report.title(f"{STREAMS} answers of {tokens} tokens, 20 a second, from a provider that speaks OpenAI's protocol")
    kinds = [kind for kind in NAMES if kind in ("bare", *OURS) or (kind == "proxy" and not quick) or _is_there(kind)]
    found = {kind: await measure(kind, tokens) for kind in kinds}
    rows = [[NAMES[kind], f"{one.p50:.1f}", f"{one.p99:.1f}", f"{one.cpu:.1f}"] for kind, one in found.items()]
    report.table("How late tokens are, and what a turn costs", ["", "p50 ms", "p99 ms", "processor ms a turn"], rows)
    ours = found["threadkeep"]
    bare, there = found["bare"], found["postgres"]
    report.bar("p99 lateness / bare proxy", ours.p99 / bare.p99, at_most=1.5)
    report.bar("processor time of a turn / bare proxy", ours.cpu / bare.cpu, at_most=1.7)
    report.bar("p99 lateness on PostgreSQL / bare proxy", there.p99 / bare.p99, at_most=2)
    report.bar("processor time of a turn on PostgreSQL / bare proxy", there.cpu / bare.cpu, at_most=2)
    if "agents" in found:
        report.bar("processor time of a turn / Agents SDK", ours.cpu / found["agents"].cpu, at_most=1)
        report.bar("processor time of a turn / naive server", ours.cpu / found["naive"].cpu, at_most=1)
    else:
        report.note(f"no rivals: there is no {RIVALS_PYTHON}; `make bench` installs requirements/bench.txt there")


def _is_there(kind: str) -> bool:
    return kind in ("naive", "agents") and RIVALS_PYTHON.exists()


async def compare_rates(report: Report, *, quick: bool) -> None:
    """Measure how many turns pass in a second."""
    report.title(f"{WIDTH} people who ask one question after the other, answers of 200 tokens at once")
    found = {kind: await measure_rate(kind, 200, 4 if quick else 20) for kind in ("bare", *OURS)}
    report.table("Turns a second", ["", "turns/s"], [[NAMES[kind], f"{rate:.0f}"] for kind, rate in found.items()])
    report.bar("turns a second / bare proxy", found["threadkeep"] / found["bare"], at_least=0.9)
    report.bar("turns a second on PostgreSQL / bare proxy", found["postgres"] / found["bare"], at_least=0.75)


async def compare_many(report: Report, *, quick: bool) -> None:
    """Measure a thousand answers at a time."""
    tokens = 50 if quick else 100
    report.title(f"{MANY} answers of {tokens} tokens, 5 a second, in one process")
    found = {kind: await measure(kind, tokens, many=True) for kind in ("bare", "threadkeep")}
    rows = [
        [NAMES[kind], f"{one.p50:.1f}", f"{one.p99:.1f}", f"{one.cpu:.1f}", f"{one.memory:.0f}"]
        for kind, one in found.items()
    ]
    report.table("How late", ["", "p50 ms", "p99 ms", "processor ms a turn", "MiB"], rows)
    report.bar("p99 lateness of 1,000 / bare proxy", found["threadkeep"].p99 / found["bare"].p99, at_most=3)
    report.bar("memory of 1,000, in MiB", found["threadkeep"].memory, at_most=250)


async def first_tokens(kind: str, messages: int, starts: int) -> tuple[float, float]:
    """Return after how many milliseconds the first token comes in a conversation of so many messages: later, and the
    first time after a start. Of all tries the fastest quarter counts: what else the machine does is not ours."""
    at_first, later = list[float](), list[float]()
    with ExitStack() as stack:
        folder, provider = stack.enter_context(TemporaryDirectory()), free_port()
        stack.enter_context(running([sys.executable, str(RIVALS), "provider", str(provider), "1"], provider))
        said = [message for turn in islice(turns(1), messages // 2) for message in turn]
        # Each start has its own: what the one before it has said would make the next one longer.
        for name in [await _stored(folder, said) if kind == "threadkeep" else "s" for _ in range(starts)]:
            with server(kind, provider, folder) as (_, port):
                if kind == "bare":
                    told = [{"role": message.role, "content": message.content} for message in said]
                    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
                        await client.post("/fill", json={"session_id": name, "messages": told})
                other = await requests(kind, port, 1)
                for path, body in other * WARM:
                    await first_token(port, path, body)
                path = f"/v1/conversations/{name}/messages" if kind == "threadkeep" else "/chat"
                body = {"content": "Go on."} if kind == "threadkeep" else {"session_id": name, "message": "Go on."}
                at_first.append(await first_token(port, path, body))
                later += [await first_token(port, path, body) for _ in range(TRIES)]
    return quantiles(later, n=4)[0], quantiles(at_first, n=4)[0]


async def _stored(folder: str, said: list[Message]) -> str:
    """Store a conversation and return its id."""
    store = await open_store(f"sqlite:///{folder}/bench.db")
    name = (await store.create(LOCAL, NewConversation(title="Measured", assistant="chat"))).conversation.id
    counted = [message.model_copy(update={"tokens": count_tokens(message)}) for message in said]
    for at in range(0, len(counted), 100):
        await store.append(LOCAL, name, Append(bodies=tuple(counted[at : at + 100])))
    await store.close()
    return name


async def first_token(port: int, path: str, body: dict[str, object]) -> float:
    """Ask once, and return after how many milliseconds the first token came; the answer is read to its end."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**22)
    began, took = time.perf_counter(), None
    writer.write(_request(path, body))
    while line := await reader.readline():
        if took is None and _STAMP.search(line):
            took = time.perf_counter() - began
    writer.close()
    if took is None:
        raise ConnectionError(f"{path} gave no token")
    return took * 1000


async def compare_first_tokens(report: Report, *, quick: bool) -> None:
    """Measure after how long the first token comes, beside a proxy that writes the same history as JSON."""
    report.title("The first token, by the length of the conversation")
    rows, found = [], dict[tuple[str, int], tuple[float, float]]()
    for kind in ("bare", "threadkeep"):
        for messages in (10, 1000):
            found[kind, messages] = await first_tokens(kind, messages, 3 if quick else 8)
            later, first = found[kind, messages]
            rows.append([NAMES[kind], str(messages), f"{later:.1f}", f"{first:.1f}"])
    report.table("After how many milliseconds", ["", "messages", "later", "first after a start"], rows)
    for messages in (10, 1000):
        ratio = found["threadkeep", messages][0] / found["bare", messages][0]
        report.bar(f"first token at {messages} messages / bare proxy", ratio, at_most=4)
    restarted = found["threadkeep", 1000][1] / found["bare", 1000][0]
    report.bar("first token at 1000 messages after a start / bare proxy", restarted, at_most=10)


async def main() -> None:
    """Measure by command."""
    parser = argparse.ArgumentParser(prog="bench.provider", description="Answers of a provider beside other servers.")
    parser.add_argument("--quick", action="store_true", help="answers of 100 tokens")
    quick = parser.parse_args().quick
    report = Report(sys.stdout)
    await compare_all(report, quick=quick)
    report.close()


async def compare_all(report: Report, *, quick: bool) -> None:
    """Measure everything here."""
    await compare(report, quick=quick)
    await compare_many(report, quick=quick)
    await compare_rates(report, quick=quick)
    await compare_first_tokens(report, quick=quick)


if __name__ == "__main__":
    asyncio.run(main())
