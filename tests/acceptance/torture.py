"""Long campaigns of killing: `python -m tests.acceptance.torture --count 1000 --seed 7 [--store sqlite]`.

Prints a line of progress, the seed and a summary; ends with 1 if a promise was broken. A campaign with the same seed
kills after the same times, which is not the same moment: what a seed repeats is the plan, not the machine.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.acceptance.campaign import Campaign, Tally
from tests.postgres_server import PostgresServer

STORES = ("sqlite", "postgresql", "files")


@contextmanager
def place_of(store: str) -> Iterator[str]:
    """Make an empty store of this kind and yield its URL."""
    if store == "postgresql":
        with PostgresServer.start() as server:
            yield server.fresh_database().server
        return
    with tempfile.TemporaryDirectory(prefix="threadkeep-torture-") as folder:
        name = "threadkeep.db" if store == "sqlite" else "conversations"
        yield f"{store}:///{folder}/{name}"


def _kill(url: str, count: int, seed: int) -> int:
    """Run one campaign here and tell how it goes."""
    started = time.monotonic()
    scheme = url.partition(":")[0]

    def tell(tally: Tally) -> None:
        if sys.stdout.isatty() or tally.rounds % 100 == 0:
            print(f"{scheme}: {tally.rounds}/{count} killed, {tally.steps} steps acknowledged", end="\r", flush=True)

    tally = Campaign(url, seed).run(count, tell)
    for violation in tally.violations:
        print(f"{scheme}: BROKEN: {violation}")
    verdict = "a promise was broken" if tally.violations else "nothing lost, nothing twice"
    took = time.monotonic() - started
    print(f"{scheme}: seed {seed}, {tally.rounds} killed, {tally.steps} steps, {took:.0f} s: {verdict}", flush=True)
    return 1 if tally.violations else 0


def main(arguments: list[str] | None = None) -> int:
    """Run the campaigns that the command line asks for."""
    parser = argparse.ArgumentParser(
        prog="torture", description="Kill writers at random moments and look what is lost."
    )
    parser.add_argument("--count", type=int, default=20, help="how many writers to kill, per store")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", choices=STORES, action="append", help="only this store; may be repeated")
    parser.add_argument("--url", help="use the empty store behind this URL")
    chosen = parser.parse_args(arguments)
    if chosen.url:
        return _kill(chosen.url, chosen.count, chosen.seed)
    status = 0
    for store in chosen.store or STORES:
        with place_of(store) as url:
            # A process of its own: forking is safe only where no thread was ever started.
            command = [sys.executable, "-m", "tests.acceptance.torture", "--url", url]
            command += ["--count", str(chosen.count), "--seed", str(chosen.seed)]
            status |= subprocess.run(command, check=False).returncode
    return status


if __name__ == "__main__":
    sys.exit(main())
