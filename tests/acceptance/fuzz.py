"""Requests that nobody would think of: `python -m tests.acceptance.fuzz --requests 20000 --seed 1`.

schemathesis makes them from the OpenAPI document of a real server and looks for answers that the document does not
allow; `raw_fuzz` makes those that are no HTTP any more. The server's own metrics say how many requests there were, that
none failed on its side and that no stream is left open; its log holds no trace, and after the first round its memory
does not grow. Ends with 1 if something was found.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from tests.acceptance.raw_fuzz import attack_raw

ROOT = Path(__file__).parents[2]
READY = "/health/ready"
"""What may answer 503 on a busy machine, and says the truth by that."""
LEFT_OUT = (
    "/v1/events",
    "/v1/conversations/{id}/events",
    "/v1/conversations/{id}/turns/{turn}/stream",
    "/stream",
    READY,
)
"""Endless streams among them, and what takes a stream."""
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
WORKERS = "4"
PATIENCE = 3600
LOG = "server.log"
RAW = 2000
"""Requests over bare sockets in each round."""
MOST_GROWTH = 1.5


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a server process with a store of its own, without limits, answered by the demo."""
    with serving_process(folder) as (url, _):
        yield url


@contextmanager
def serving_process(folder: Path) -> Iterator[tuple[str, int]]:
    """The same, with the number of the process. It logs to a file of the folder."""
    free = {"THREADKEEP_LOG_LEVEL": "error", "THREADKEEP_USER_REQUESTS_PER_SECOND": "0", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.acceptance.slow_server", "0", "--port", "0", "--model", "demo"]
    with (
        (folder / LOG).open("w") as log,
        subprocess.Popen(
            command, cwd=folder, env=os.environ | free, stdout=subprocess.PIPE, stderr=log, text=True
        ) as process,
    ):
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1], process.pid
        finally:
            process.kill()


def attack(url: str, folder: Path, seed: int, examples: int, phases: str) -> tuple[int, str]:
    """Let schemathesis loose on a server; return its status and its report."""
    program = str(Path(sys.executable).with_name("schemathesis"))
    command = [program, "run", f"{url}/openapi.json", "--checks", CHECKS, "--max-examples", str(examples)]
    command += ["--seed", str(seed), "--phases", phases, "--workers", WORKERS]
    # Who sends behind a turn of a loop that nobody runs waits until its lease has run out, after a minute.
    command += ["--request-timeout", "120", "--no-color", "--suppress-health-check", "all", "--continue-on-failure"]
    for path in LEFT_OUT:
        command += ["--exclude-path", path]
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=PATIENCE, check=False
    )
    return done.returncode, done.stdout


def answered(url: str) -> tuple[int, int]:
    """Return how many requests a server has answered, and how many of them with 5xx."""
    counted = re.findall(
        r'^threadkeep_requests_total\{.*status="(\d+)".*\} (\d+)', httpx.get(f"{url}/metrics").text, re.M
    )
    return sum(int(count) for _, count in counted), sum(int(count) for status, count in counted if status[0] == "5")


def memory(process: int) -> int:
    """Return the kilobytes that a process has in memory."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{process}/status").read_text())
    return int(found[1]) if found else 0


def left_open(url: str) -> int:
    """Return how many streams are open after their readers have gone, and had time to be noticed."""
    until = time.monotonic() + 30
    while (found := httpx.get(f"{url}/metrics").text.partition("\nthreadkeep_open_streams ")[2].split()[0]) != "0.0":
        if time.monotonic() > until:
            break
    return int(float(found))


def main(arguments: list[str] | None = None) -> int:
    """Send as many requests as the command line asks for, round by round, each with a seed of its own."""
    parser = argparse.ArgumentParser(prog="fuzz", description="Send requests that nobody would think of.")
    parser.add_argument("--requests", type=int, default=20_000, help="how many at least")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--examples", type=int, default=100, help="per operation and round")
    parser.add_argument("--raw", type=int, default=RAW, help="requests over bare sockets in each round")
    parser.add_argument("--phases", default="examples,coverage,fuzzing,stateful", help="of schemathesis")
    chosen = parser.parse_args(arguments)
    started, seed, sent, failed = time.monotonic(), chosen.seed, 0, 0
    sizes: list[int] = []
    found: list[str] = []
    with tempfile.TemporaryDirectory(prefix="threadkeep-fuzz-") as name, serving_process(Path(name)) as (url, process):
        document = httpx.get(f"{url}/openapi.json").json()
        del document["paths"][READY]
        while sent < chosen.requests and not found:
            status, report = attack(url, Path(name), seed, chosen.examples, chosen.phases)
            found += [report] if status else []
            conversation = httpx.post(f"{url}/v1/conversations").json()["id"]
            found += attack_raw(url, document, conversation, seed, chosen.raw)
            sent, failed = answered(url)
            sizes.append(memory(process))
            seed += 1
        found += [f"{streams} streams are left open"] if (streams := left_open(url)) else []
        found += [
            line for line in (Path(name) / LOG).read_text().splitlines() if "Traceback" in line or '"trace"' in line
        ]
    if sizes[-1] > MOST_GROWTH * sizes[0]:
        found.append(f"the process grew: {sizes}")
    print("\n".join(found), end="\n" if found else "")
    verdict = "something broke" if found or failed else "no 5xx, no trace, no schema break"
    took, grown = time.monotonic() - started, sizes[-1] / sizes[0]
    counted = f"{sent} requests, {failed} of them 5xx, memory x {grown:.2f}"
    print(f"fuzz: seed {chosen.seed}, {counted}, {took:.0f} s: {verdict}")
    return 1 if found or failed else 0


if __name__ == "__main__":
    sys.exit(main())
