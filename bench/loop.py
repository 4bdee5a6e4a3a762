"""What a token costs that a loop of one's own writes: as one streamed request, as a request of its own, by our engine.

    python -m bench.loop [--quick]

All three write the same text into one SQLite file behind the same server, and a token counts when it is stored. Our
engine reads it from a provider in another process. Loops and provider share the cores with the server, so what counts
is the processor time of the server; the tokens a second that did pass are shown beside it.
"""

import argparse
import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from tempfile import TemporaryDirectory
from typing import NamedTuple

import httpx

from bench.provider import RIVALS, ask, cpu_seconds, free_port, requests, running, server
from bench.report import Report

WORD = "word "


class Cost(NamedTuple):
    """Tokens a second, and microseconds of the server's processor time for each."""

    rate: float
    each: float


async def _begin(client: httpx.AsyncClient) -> tuple[str, dict[str, str]]:
    """Begin a turn in a conversation of its own; return its path and the header that shows its token."""
    made = (await client.post("/v1/conversations", json={"title": "Measured"})).json()["id"]
    begun = (await client.post(f"/v1/conversations/{made}/turns", json={"content": "Go on."})).raise_for_status().json()
    return f"/v1/conversations/{made}/turns/{begun['turn']}", {"Turn-Token": begun["token"]}


async def stream(client: httpx.AsyncClient, tokens: int) -> None:
    """Write a turn as one request, a line for each token."""
    path, headers = await _begin(client)
    line = json.dumps({"type": "text", "text": WORD}).encode() + b"\n"

    async def lines() -> AsyncIterator[bytes]:
        for _ in range(tokens):
            yield line
        yield b'{"type": "settle", "state": "completed"}\n'

    answer = await client.post(f"{path}/stream", content=lines(), headers=headers)
    last = json.loads(answer.text.splitlines()[-1])
    if (last["state"], last["lines"]) != ("completed", tokens + 1):
        raise ConnectionError(f"the stream ended with {last}")


async def post(client: httpx.AsyncClient, tokens: int) -> None:
    """Write a turn with a request for each token."""
    path, headers = await _begin(client)
    offset = 0
    for _ in range(tokens):
        written = await client.post(f"{path}/draft", json={"offset": offset, "text": WORD}, headers=headers)
        offset = written.raise_for_status().json()["offset"]
    (await client.post(f"{path}/settle", json={"state": "completed"}, headers=headers)).raise_for_status()


async def measure(pid: int, work: Callable[[], Awaitable[object]], tokens: int, times: int) -> Cost:
    """Do some work once to warm up, then so many times."""
    await work()
    cpu, began = cpu_seconds(pid), time.perf_counter()
    for _ in range(times):
        await work()
    written = tokens * times
    return Cost(written / (time.perf_counter() - began), (cpu_seconds(pid) - cpu) / written * 1e6)


async def main() -> None:
    """Measure, print, and say whether the bar holds."""
    parser = argparse.ArgumentParser(description="Tokens that a loop of one's own writes.")
    parser.add_argument("--quick", action="store_true")
    tokens = 2_000  # so few go into one piece, whatever else runs: a token that is cut is not counted
    posts, times = (200, 3) if parser.parse_args().quick else (500, 20)
    report, provider = Report(sys.stdout), free_port()
    played = [sys.executable, str(RIVALS), "provider", str(provider), str(tokens), "0"]
    with (
        TemporaryDirectory() as folder,
        running(played, provider),
        server("threadkeep", provider, folder) as (pid, port),
    ):
        address = f"http://127.0.0.1:{port}"
        questions = iter(await requests("threadkeep", port, times + 1))
        engine = await measure(pid, lambda: ask(port, *next(questions), tokens), tokens, times)
        async with httpx.AsyncClient(base_url=address, timeout=120) as client:
            streamed = await measure(pid, lambda: stream(client, tokens), tokens, times)
            posted = await measure(pid, lambda: post(client, posts), posts, 2)
    rows = [("one streamed request", streamed), ("a request for each token", posted), ("our engine", engine)]
    report.table(
        "A token of a loop of one's own",
        ("how", "tokens a second", "server, µs of processor time"),
        [(name, f"{cost.rate:,.0f}", f"{cost.each:,.0f}") for name, cost in rows],
    )
    report.bar("the streamed loop beside our engine, by processor time", engine.each / streamed.each, at_least=0.5)
    report.close()


if __name__ == "__main__":
    asyncio.run(main())
