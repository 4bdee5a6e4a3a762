"""What the server adds to bare streams and to the engine alone.

    python -m bench.server             1,000 streams
    python -m bench.server --quick     200 streams

It ends with `bench.provider`: answers of a real provider's client, beside the OpenAI Agents SDK and others.

A stream is late by the time between a word being said in the server and its arrival at the client. Client and server
share two cores, so that the numbers of both sides are worse than on separate machines; their ratio is what counts.
"""

import argparse
import asyncio
import json
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from statistics import median, quantiles
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import httpx

from bench.provider import compare_all
from bench.report import Report
from bench.stopwatch import rate
from bench.texts import turns
from bench.turn import ASSISTANT, TOKENS, InstantModel
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.runtime import open_conversations, open_store
from threadkeep.store.values import Append

WARM_SECONDS = 5.0
MEASURED_SECONDS = 8.0


class Streams(NamedTuple):
    """How late words were, in milliseconds, how many arrived, and the server's memory in MiB."""

    p50: float
    p99: float
    events: int
    memory: float


@contextmanager
def serving(kind: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Run a server of this kind on a free port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    process = subprocess.Popen([sys.executable, "-m", "bench.stream_server", kind, str(port)])
    try:
        _wait(port)
        yield process, port
    finally:
        process.kill()
        process.wait()


def _wait(port: int) -> None:
    until = time.monotonic() + 30
    while time.monotonic() < until:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise TimeoutError("the server did not start")


def memory_of(process: subprocess.Popen[Any]) -> float:
    """Return the memory of a process in MiB."""
    lines = Path(f"/proc/{process.pid}/status").read_text().splitlines()
    return int(next(line.split()[1] for line in lines if line.startswith("VmRSS"))) / 1024


async def listen(port: int, path: str, late: list[float], window: tuple[float, float]) -> None:
    """Follow one stream and note how late each word was, as long as the window is open."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port, limit=2**20)
    writer.write(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAccept: text/event-stream\r\n\r\n".encode())
    try:
        while (now := time.time()) < window[1]:
            line = await reader.readline()
            if not line:
                return
            if not line.startswith(b"data: ") or b'"text":' not in line:
                continue
            now = time.time()
            words = json.loads(line[6:])["text"].split()
            if window[0] <= now < window[1]:
                late.extend(now - float(word) for word in words)
    finally:
        writer.close()


async def measure(kind: str, count: int, turns: int) -> Streams:
    """Open streams on a server of this kind and listen for a while."""
    with serving(kind) as (process, port):
        paths = ["/stream"] * count if kind == "bare" else await begin(port, count, turns)
        start = time.time() + WARM_SECONDS
        late: list[float] = []
        window = (start, start + MEASURED_SECONDS)
        listening = [asyncio.create_task(listen(port, path, late, window)) for path in paths]
        await asyncio.sleep(WARM_SECONDS + MEASURED_SECONDS / 2)
        memory = memory_of(process)
        await asyncio.gather(*listening, return_exceptions=True)
    cuts = quantiles(late, n=100)
    return Streams(cuts[49] * 1000, cuts[98] * 1000, len(late), memory)


async def begin(port: int, count: int, turns: int) -> list[str]:
    """Begin turns, and return the paths of streams that follow them, evenly shared."""
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=30) as client:
        names = [(await client.post("/v1/conversations", json={})).json()["id"] for _ in range(turns)]
        for name in names:
            send = {"content": "What time is it?"}
            await client.post(f"/v1/conversations/{name}/messages", json=send, headers={"Prefer": "respond-async"})
    return [f"/v1/conversations/{names[at % turns]}/events?after=0" for at in range(count)]


async def measure_rate(report: Report, count: int, width: int = 32) -> None:
    """Turns a second over HTTP, beside the engine alone."""
    with TemporaryDirectory() as folder:
        conversations = await open_conversations(
            f"sqlite:///{Path(folder) / 'engine.db'}", [ASSISTANT], model=InstantModel()
        )
        chats = [await conversations.create() for _ in range(width)]
        engine = await rate(asyncio.gather(*(_talk(chat, count // width) for chat in chats)), count)
        await conversations.close()
    with serving("instant") as (_, port):
        async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            names = [(await client.post("/v1/conversations", json={})).json()["id"] for _ in range(width)]
            http = await rate(asyncio.gather(*(_ask(client, name, count // width) for name in names)), count)
    rows = [["the engine alone", f"{engine:.0f}"], ["over HTTP, waiting for the answer", f"{http:.0f}"]]
    report.table(f"Turns of {TOKENS} tokens a second, {width} at a time", ["", "turns/s"], rows)


async def _talk(chat: ConversationHandle, times: int) -> None:
    for _ in range(times):
        await (await chat.send("Go on.")).answer()


async def _ask(client: httpx.AsyncClient, name: str, times: int) -> None:
    for _ in range(times):
        answer = await client.post(f"/v1/conversations/{name}/messages", json={"content": "Go on."})
        answer.raise_for_status()


async def measure_start(report: Report, messages: int) -> None:
    """How long a server takes from its start to being ready, with a full store."""
    with TemporaryDirectory() as folder:
        url = f"sqlite:///{Path(folder) / 'full.db'}"
        store = await open_store(url)
        source = turns(1)
        for number in range(messages // 1000):
            name = (await store.create(LOCAL, NewConversation())).conversation.id
            for _ in range(10):
                bodies = tuple(message for turn in islice(source, 50) for message in turn)
                await store.append(LOCAL, name, Append(bodies=bodies))
            report.progress(f"storing {messages} messages", (number + 1) * 1000 / messages)
        await store.search(LOCAL, "settle")
        await store.close()
        took, _ = start_of(url)
        starts = [start_of(f"sqlite:///{Path(folder) / f'{number}.db'}") for number in range(5)]
    report.bar(f"seconds from start to ready with {messages} messages", took, at_most=3)
    report.bar("seconds from start to ready with an empty store", median(seconds for seconds, _ in starts), at_most=1.2)
    report.bar("its memory, in MiB", median(memory for _, memory in starts), at_most=90)


def start_of(url: str) -> tuple[float, float]:
    """Start a server on this store, and return how long it took until it was ready, and its memory then."""
    command = [str(Path(sys.executable).with_name("threadkeep")), "serve", "--port", "0", "--store", url]
    started = time.perf_counter()
    with subprocess.Popen([*command, "--model", "demo"], stdout=subprocess.PIPE, text=True) as process:
        line = process.stdout.readline() if process.stdout else ""
        httpx.get(f"{line.split()[-1]}/health/ready").raise_for_status()
        took, memory = time.perf_counter() - started, memory_of(process)
        process.kill()
    return took, memory


async def main() -> None:
    """Measure the server beside a bare one."""
    parser = argparse.ArgumentParser(prog="bench.server", description="The server beside a bare Starlette stream.")
    parser.add_argument("--quick", action="store_true", help="200 streams, 50,000 messages")
    quick = parser.parse_args().quick
    count = 200 if quick else 1000
    report = Report(sys.stdout)
    report.title(f"{count} streams of 20 events a second in one process")
    bare = await measure("bare", count, 0)
    ours = await measure("threadkeep", count, count // 10)
    rows = [
        [name, f"{one.p50:.1f}", f"{one.p99:.1f}", f"{one.events / MEASURED_SECONDS:.0f}", f"{one.memory:.0f}"]
        for name, one in (("bare Starlette", bare), (f"threadkeep, {count // 10} turns with 10 readers each", ours))
    ]
    report.table("How late", ["", "p50 ms", "p99 ms", "words/s", "MiB"], rows)
    report.bar("memory / bare", ours.memory / bare.memory, at_most=2)
    report.bar("p99 lateness / bare", ours.p99 / bare.p99, at_most=2)
    await measure_rate(report, 320 if quick else 1600)
    await measure_start(report, 50_000 if quick else 1_000_000)
    await compare_all(report, quick=quick)
    report.close()


if __name__ == "__main__":
    asyncio.run(main())
