"""Long campaigns of killing: `python -m tests.acceptance.torture --count 1000 --seed 7 [--store sqlite]`.

Prints a line of progress, the seed and a summary; ends with 1 if a promise was broken. A campaign with the same seed
kills after the same times, which is not the same moment: what a seed repeats is the plan, not the machine.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

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


class Told(NamedTuple):
    """What came of a campaign: what was done, what was broken, and what is said if nothing was."""

    done: str
    violations: Sequence[str]
    fine: str


def torture(
    name: str, about: str, run: Callable[[str, argparse.Namespace], Told], stores: Sequence[str] = STORES
) -> int:
    """Run a campaign, which is the module `name`, on the stores that the command line asks for; return its status."""
    parser = argparse.ArgumentParser(prog=name, description=about)
    parser.add_argument("--count", type=int, default=20, help="how many rounds, per store")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--every", action="store_true", help="every moment once, where it can count them")
    parser.add_argument("--store", choices=stores, action="append", help="only this store; may be repeated")
    parser.add_argument("--url", help="use the empty store behind this URL")
    chosen = parser.parse_args()
    if chosen.url:
        return _tell(chosen.url.partition(":")[0], lambda: run(chosen.url, chosen))
    status = 0
    for store in chosen.store or stores:
        with place_of(store) as url:
            # A process of its own: forking is safe only where no thread was ever started.
            command = [sys.executable, "-m", f"tests.acceptance.{name}", "--url", url, *sys.argv[1:]]
            status |= subprocess.run(command, check=False).returncode
    return status


def _tell(scheme: str, run: Callable[[], Told]) -> int:
    started = time.monotonic()
    told = run()
    for violation in told.violations:
        print(f"{scheme}: BROKEN: {violation}")
    verdict = "a promise was broken" if told.violations else told.fine
    print(f"{scheme}: {told.done}, {time.monotonic() - started:.0f} s: {verdict}", flush=True)
    return 1 if told.violations else 0


def progress(line: str, rounds: int) -> None:
    """Show how far a campaign is: always at a terminal, elsewhere now and then."""
    if sys.stdout.isatty() or rounds % 100 == 0:
        print(line, end="\r", flush=True)


def _kill(url: str, chosen: argparse.Namespace) -> Told:
    def tell(tally: Tally) -> None:
        progress(f"{tally.rounds}/{chosen.count} killed, {tally.steps} steps acknowledged", tally.rounds)

    tally = Campaign(url, chosen.seed).run(chosen.count, tell)
    done = f"seed {chosen.seed}, {tally.rounds} killed, {tally.steps} steps"
    return Told(done, tally.violations, "nothing lost, nothing twice")


if __name__ == "__main__":
    sys.exit(torture("torture", "Kill writers at random moments and look what is lost.", _kill))
