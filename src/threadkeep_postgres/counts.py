"""Counting together: servers on one database tell each other, once a second, what was asked of them and runs there.

A limit of a user or a tenant then holds for all servers together. It is an average: within a second each may let
through what it would alone, and what was too much is owed. Words go over a notify channel of their own: a server that
hears nothing counts alone. Names are digests, and of who asks for little nothing is told.
"""

import asyncio
import json
from collections.abc import Mapping
from contextlib import suppress
from secrets import token_hex
from time import monotonic
from typing import Protocol

from threadkeep.store.changes import MOST_BYTES
from threadkeep_postgres.address import Address
from threadkeep_postgres.notify_channel import PostgresNotifyChannel

CHANNEL = "threadkeep_counts"
EVERY = 1.0
LEAST = 2
"""How many requests somebody must make within that time to be told of."""
GONE_AFTER = 3.5
"""Seconds of silence after which a server is taken for gone, and its places for free."""
IN_A_WORD = MOST_BYTES // 64
"""How many names are told of in one word."""

Counts = dict[int, tuple[int, int]]
"""By the digest of a name: requests since the last word, and places."""


class Tally(Protocol):
    """What counts here, and is told of the others: see `threadkeep/tally.py`."""

    def here(self) -> tuple[dict[int, int], dict[int, int]]:
        """Return the requests so far and the places taken here."""

    def elsewhere(self, asked: Mapping[int, int], taken: Mapping[int, int]) -> None:
        """Count the requests since the last call and the places taken elsewhere."""


class Others:
    """What other servers have told: requests since the last word of each, places, and when that was."""

    def __init__(self) -> None:
        self._owed: dict[int, int] = {}
        self._places: dict[str, dict[int, tuple[int, float]]] = {}

    def hear(self, sender: str, counts: Counts, now: float) -> None:
        """Take note of what a server says."""
        places = self._places.setdefault(sender, {})
        for digest, (asked, taken) in counts.items():
            self._owed[digest] = self._owed.get(digest, 0) + asked
            places[digest] = taken, now

    def take(self, now: float) -> tuple[Mapping[int, int], Mapping[int, int]]:
        """Return the requests that were heard of since the last call, and the places that are taken now."""
        owed, self._owed = self._owed, {}
        taken: dict[int, int] = {}
        for sender, places in self._places.items():
            fresh = {digest: told for digest, told in places.items() if told[0] and told[1] > now - GONE_AFTER}
            self._places[sender] = fresh
            for digest, (count, _) in fresh.items():
                taken[digest] = taken.get(digest, 0) + count
        self._places = {sender: places for sender, places in self._places.items() if places}
        return owed, taken


def worth_telling(asked: Mapping[int, int], before: Mapping[int, int], places: Mapping[int, int]) -> Counts:
    """Return what others should know: who has asked for something since then, and who has places."""
    grown = {digest: count - before.get(digest, 0) for digest, count in asked.items()}
    busy = {digest for digest, count in grown.items() if count >= LEAST}
    busy |= {digest for digest, count in places.items() if count}
    return {digest: (max(0, grown.get(digest, 0)), places.get(digest, 0)) for digest in sorted(busy)}


def words_of(sender: str, counts: Counts) -> list[str]:
    """Return counts as words of a channel."""
    rows = [[digest, *pair] for digest, pair in counts.items()]
    return [json.dumps([sender, rows[at : at + IN_A_WORD]]) for at in range(0, len(rows), IN_A_WORD)]


async def share(url: str, tally: Tally) -> None:
    """Tell and hear of counts until the channel breaks; return at once where there are no notifications."""
    own, others = token_hex(8), Others()
    if (address := Address(url).notifications()) is None:
        return

    def hear(word: str) -> None:
        # What another program sends is no count.
        with suppress(ValueError, TypeError):
            sender, rows = json.loads(word)
            if sender != own:
                others.hear(str(sender), {int(d): (int(asked), int(places)) for d, asked, places in rows}, monotonic())

    channel = PostgresNotifyChannel(address, CHANNEL)
    told: Counts = {}
    before: dict[int, int] = {}
    try:
        await channel.open(hear)
        while True:
            asked, places = tally.here()
            counts = worth_telling(asked, before, places)
            # Who has let go of all its places is told of once more.
            gone = {digest: (0, 0) for digest in told if digest not in counts}
            await channel.send(words_of(own, counts | gone))
            told, before = counts, asked
            tally.elsewhere(*others.take(monotonic()))
            await asyncio.sleep(EVERY)
    finally:
        tally.elsewhere({}, {})
        await channel.close()
