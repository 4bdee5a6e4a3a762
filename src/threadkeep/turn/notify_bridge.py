"""Telling readers in other processes, over the notify channel of the store, that a log has grown, and hearing theirs.

Only digests of names travel, and no text: readers elsewhere read what is new from the log, where their tenant's walls
are. The bridge may lose anything, as the bus may: readers also look by themselves.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from secrets import token_hex

from threadkeep.store.notify_channel import MOST_BYTES, NotifyChannel
from threadkeep.turn.local_bus import TOLD_EVERY, TOPIC_BYTES, LocalBus, Topic

GATHER = 0.1
"""Most seconds between two sendings: what happens meanwhile is told together."""
PAUSE = 2
"""How many times as long as the last sending took nothing is sent, so that a busy database is bothered less often."""
QUIET = TOLD_EVERY
"""Seconds after which readers are told of again, by which it is tried whether the channel still carries."""
MOST_TOPICS = (MOST_BYTES - 100) // (2 * TOPIC_BYTES)
READERS = "readers "
"""What a word begins with that tells how many readers topics have here; it is no digest."""
COUNT_BYTES = 2
MOST_READERS = 2 ** (8 * COUNT_BYTES) - 1
MOST_COUNTS = (MOST_BYTES - 100) // (2 * (TOPIC_BYTES + COUNT_BYTES))


class NotifyBridge:
    """Carries the nudges of one bus to those of other processes. `changed` is told what others have changed."""

    def __init__(
        self, bus: LocalBus, channel: NotifyChannel, changed: Callable[[frozenset[Topic]], Awaitable[None]]
    ) -> None:
        self._bus = bus
        self._channel = channel
        self._changed = changed
        self._sender = token_hex(8)
        self._outgoing: set[Topic] = set()
        self._incoming: set[Topic] = set()
        self._woken = asyncio.Event()
        self._present: set[Topic] = set()
        self._told_all = 0.0

    async def run(self) -> None:
        """Carry nudges until the channel breaks; run supervised, which opens it again."""
        try:
            await self._channel.open(self._hear)
            self._told_all = 0.0
            self._bus.presence.relay(self._note_readers)
            with self._bus.bridged(self._note):
                await self._carry()
        finally:
            self._bus.presence.relay(None)
            self._present.clear()
            await self._channel.close()

    def _note(self, topic: Topic) -> None:
        self._outgoing.add(topic)
        self._woken.set()

    def _note_readers(self, topic: Topic) -> None:
        self._present.add(topic)
        self._woken.set()

    def _hear(self, word: str) -> None:
        """Pass a word on to readers here. What we sent ourselves, and what is none of ours, means nothing."""
        sender, _, names = word.partition(" ")
        if sender == self._sender:
            return
        if names.startswith(READERS):
            for topic, count in _counts(names.removeprefix(READERS)):
                self._bus.presence.hear(sender, topic, count)
            return
        for topic in _topics(names):
            self._bus.notify(topic)
            self._incoming.add(topic)
        self._woken.set()

    async def _carry(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(QUIET):
                    await self._woken.wait()
            if not self._woken.is_set() or time.monotonic() - self._told_all >= QUIET:
                self._told_all = time.monotonic()
                await self._channel.send(self._reader_words(self._bus.presence.counts_here()))
            self._woken.clear()
            began = time.monotonic()
            outgoing, self._outgoing = self._outgoing, set()
            incoming, self._incoming = frozenset(self._incoming), set()
            if outgoing:
                await self._channel.send(self._words(list(outgoing)))
            if incoming:
                await self._changed(incoming)
            if self._present:
                present, self._present = self._present, set()
                await self._channel.send(self._reader_words(self._bus.presence.counts_here(present)))
            await asyncio.sleep(min(GATHER, PAUSE * (time.monotonic() - began)))

    def _words(self, topics: list[Topic]) -> list[str]:
        shares = (topics[first : first + MOST_TOPICS] for first in range(0, len(topics), MOST_TOPICS))
        return [f"{self._sender} {b''.join(share).hex()}" for share in shares]

    def _reader_words(self, readers: dict[Topic, int]) -> list[str]:
        counts = [topic + min(count, MOST_READERS).to_bytes(COUNT_BYTES) for topic, count in readers.items()]
        shares = (counts[first : first + MOST_COUNTS] for first in range(0, len(counts), MOST_COUNTS))
        return [f"{self._sender} {READERS}{b''.join(share).hex()}" for share in shares]


def _topics(names: str) -> list[Topic]:
    """Return the topics of a word; of one that another program sent, none."""
    return [Topic(each) for each in _cut_up(names, TOPIC_BYTES)]


def _counts(told: str) -> list[tuple[Topic, int]]:
    parts = _cut_up(told, TOPIC_BYTES + COUNT_BYTES)
    return [(Topic(each[:TOPIC_BYTES]), int.from_bytes(each[TOPIC_BYTES:])) for each in parts]


def _cut_up(told: str, size: int) -> list[bytes]:
    try:
        raw = bytes.fromhex(told)
    except ValueError:
        return []
    return [raw[first : first + size] for first in range(0, len(raw), size)]
