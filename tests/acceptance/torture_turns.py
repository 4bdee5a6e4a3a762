"""Kills processes that run turns: `python -m tests.acceptance.torture_turns --count 100 --seed 7 [--store sqlite]`.

With `--every` each moment of two turns is hit once: the process dies by its own hand before and after every write of
the store, until one survives. Otherwise it is killed at random moments, and so are some of those that take its turns
up. Ends with 1 if a promise was broken.
"""

import argparse
import asyncio
import json
import os
import random
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable
from importlib import import_module
from itertools import count
from pathlib import Path

from tests.acceptance.child import fork, in_child
from tests.acceptance.torture import Told, progress, torture
from tests.acceptance.turn_checker import Line, TurnChecker
from tests.acceptance.turn_player import Player, play

PATIENCE = 60.0
PACE = 0.001
MOST_KILLS = 3


class TurnKills:
    """Rounds of playing, killing and checking, each in a conversation of its own."""

    def __init__(self, url: str, seed: int, folder: Path) -> None:
        self._url = url
        self._charges = folder / "charges"
        self._chance = random.Random(seed)
        self.kills = 0
        self.violations: list[str] = []

    def every_moment(self) -> int:
        """Let a process die at each moment once; return how many moments there are."""
        for moment in count(1):
            name = f"moment{moment}"
            lines = _last_words(self._playing(name, moment=moment))
            survived = any("survived" in line for line in lines)
            self.kills += not survived
            self._check(name, lines, kills=0 if survived else 1)
            if survived or self.violations:
                return moment - 1
        raise AssertionError("there is always a last moment")

    def at_random(self, rounds: int, tell: Callable[[int], None]) -> None:
        """Kill processes whenever it happens to be."""
        for number in range(rounds):
            name, kills = f"round{number}", self._chance.randint(1, MOST_KILLS)
            lines: list[Line] = []
            for life in range(kills):
                after = self._chance.uniform(0.0, 0.06)
                lines += _last_words(self._playing(name, lives=life, pace=PACE), after)
            self.kills += kills
            self._check(name, lines, kills=kills)
            tell(number + 1)
            if self.violations:
                return

    def _playing(self, name: str, *, lives: int = 0, pace: float = 0.0, moment: int = 0) -> Callable[[int], None]:
        """Return what a process does in the conversation of that name."""

        def work(out: int) -> None:
            asyncio.run(play(Player(self._url, name, self._charges, lives=lives, pace=pace), moment, out))

        return work

    def _check(self, name: str, lines: list[Line], *, kills: int) -> None:
        def check(out: int) -> None:
            player = Player(self._url, name, self._charges, lives=MOST_KILLS + 1)
            checker = TurnChecker(player, lines, self._charges, kills=kills)
            asyncio.run(checker.check())
            os.write(out, json.dumps(checker.violations[:20]).encode())

        self.violations += [f"{name}: {what}" for what in json.loads(in_child(check))]


def _last_words(work: Callable[[int], None], after: float | None = None) -> list[Line]:
    """Run the work in a child until it dies, by itself or, some time after its first word, by us; return its words."""
    reader, out = os.pipe()
    child = fork(lambda: work(out), reader)
    os.close(out)
    told = b""
    until = time.monotonic() + PATIENCE
    while (left := until - time.monotonic()) > 0 and select.select([reader], [], [], left)[0]:
        piece = os.read(reader, 65536)
        if not piece:
            break
        if not told and after is not None:
            until = time.monotonic() + after
        told += piece
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while piece := os.read(reader, 65536):
        told += piece
    os.close(reader)
    # The last line may have been cut off by the kill: nobody has seen it.
    return [json.loads(line) for line in told.split(b"\n")[:-1]]


def _kill(url: str, chosen: argparse.Namespace) -> Told:
    is_sqlite = url.startswith("sqlite:")
    import_module("threadkeep.store.sqlite.store" if is_sqlite else "threadkeep_postgres.store")
    with tempfile.TemporaryDirectory(prefix="threadkeep-charges-") as folder:
        campaign = TurnKills(url, chosen.seed, Path(folder))
        if chosen.every:
            done = f"{campaign.every_moment()} moments"
        else:
            campaign.at_random(chosen.count, lambda rounds: progress(f"{rounds}/{chosen.count} conversations", rounds))
            done = f"seed {chosen.seed}"
    fine = "every turn ended, nothing lost, nothing twice"
    return Told(f"turns, {done}, {campaign.kills} killed", campaign.violations, fine)


if __name__ == "__main__":
    sys.exit(torture("torture_turns", "Kill processes that run turns.", _kill, ("sqlite", "postgresql")))
