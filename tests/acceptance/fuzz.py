"""Requests that nobody would think of: `python -m tests.acceptance.fuzz --requests 20000 --seed 1`.

schemathesis makes them from the OpenAPI document of a real server and looks for answers that the document does not
allow; the server's own metrics say how many requests there were and that none failed on its side. Endless streams are
left out. Ends with 1 if something was found.
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

ROOT = Path(__file__).parents[2]
ENDLESS = ("/v1/events", "/v1/conversations/{id}/events", "/stream")
CHECKS = "not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance"
WORKERS = "4"
PATIENCE = 3600


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """A server process with a store of its own, without limits, answered by the demo."""
    free = {"THREADKEEP_LOG_LEVEL": "error", "THREADKEEP_USER_REQUESTS_PER_SECOND": "0", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-m", "tests.acceptance.slow_server", "0", "--port", "0", "--model", "demo"]
    with subprocess.Popen(
        command, cwd=folder, env=os.environ | free, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.kill()


def attack(url: str, folder: Path, seed: int, examples: int, phases: str) -> tuple[int, str]:
    """Let schemathesis loose on a server; return its status and its report."""
    program = str(Path(sys.executable).with_name("schemathesis"))
    command = [program, "run", f"{url}/openapi.json", "--checks", CHECKS, "--max-examples", str(examples)]
    command += ["--seed", str(seed), "--phases", phases, "--workers", WORKERS]
    command += ["--request-timeout", "30", "--no-color", "--suppress-health-check", "all", "--continue-on-failure"]
    for path in ENDLESS:
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


def main(arguments: list[str] | None = None) -> int:
    """Send as many requests as the command line asks for, round by round, each with a seed of its own."""
    parser = argparse.ArgumentParser(prog="fuzz", description="Send requests that nobody would think of.")
    parser.add_argument("--requests", type=int, default=20_000, help="how many at least")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--examples", type=int, default=100, help="per operation and round")
    parser.add_argument("--phases", default="examples,coverage,fuzzing,stateful", help="of schemathesis")
    chosen = parser.parse_args(arguments)
    started, seed, sent, failed, status, report = time.monotonic(), chosen.seed, 0, 0, 0, ""
    with tempfile.TemporaryDirectory(prefix="threadkeep-fuzz-") as name, serving(Path(name)) as url:
        while sent < chosen.requests and not status:
            status, report = attack(url, Path(name), seed, chosen.examples, chosen.phases)
            sent, failed = answered(url)
            seed += 1
    if status or failed:
        print(report)
    verdict = "something broke" if status or failed else "no 5xx, no schema break"
    took = time.monotonic() - started
    print(f"fuzz: seed {chosen.seed}, {sent} requests, {failed} of them 5xx, {took:.0f} s: {verdict}")
    return 1 if status or failed else 0


if __name__ == "__main__":
    sys.exit(main())
