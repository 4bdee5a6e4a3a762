"""Telling other processes, over the notify channel of the store, that a log has grown, and hearing the same from them.

Only digests of names are sent, and no text: readers elsewhere read the log, where tenants are separated. Messages may
get lost, as on the bus: readers also look by themselves.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from secrets import token_hex

from threadkeep.store.changes import MOST_BYTES, NotifyChannel
from threadkeep.turn.local_bus import TOLD_EVERY, TOPIC_BYTES, LocalBus, Topic

LEAST, GATHER = 0.005, 0.1
"""Seconds between two sendings at least and at most: what happens meanwhile is sent together."""
PAUSE = 2
"""The pause after a sending, as a multiple of how long it took: a busy database is bothered less often."""
QUIET = TOLD_EVERY
"""Seconds after which the numbers of readers are sent again, which also tests whether the channel works."""
READERS = "readers "
"""The beginning of a message with numbers of readers; it is no hexadecimal digest."""
COUNT_BYTES = 2
MOST_READERS = 2 ** (8 * COUNT_BYTES) - 1
MOST_DIGESTS = (MOST_BYTES - 100) // (2 * (TOPIC_BYTES + COUNT_BYTES))
"""How many topics, with or without a number of readers, are in one message."""


class NotifyBridge:
    """Connects a bus with those of other processes. `changed` is called with the topics that others have changed."""

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
            with self._bus.bridged(self._note, reaches_all=self._channel.reaches_all):
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
        """Pass a message on to readers here. Our own messages and those of other programs are ignored."""
        sender, _, names = word.partition(" ")
        if sender == self._sender:
            return
        if names.startswith(READERS):
            for topic, count in _counts(names.removeprefix(READERS)):
                self._bus.presence.hear(sender, topic, count)
            return
        for topic in map(Topic, _cut_up(names, TOPIC_BYTES)):
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
            await asyncio.sleep(min(GATHER, max(LEAST, PAUSE * (time.monotonic() - began))))

    def _reader_words(self, readers: dict[Topic, int]) -> list[str]:
        counts = [topic + min(count, MOST_READERS).to_bytes(COUNT_BYTES) for topic, count in readers.items()]
        return self._words(counts, READERS)

    def _words(self, digests: Sequence[bytes], kind: str = "") -> list[str]:
        shares = (digests[first : first + MOST_DIGESTS] for first in range(0, len(digests), MOST_DIGESTS))
        return [f"{self._sender} {kind}{b''.join(share).hex()}" for share in shares]


def _counts(told: str) -> list[tuple[Topic, int]]:
    parts = _cut_up(told, TOPIC_BYTES + COUNT_BYTES)
    return [(Topic(each[:TOPIC_BYTES]), int.from_bytes(each[TOPIC_BYTES:])) for each in parts]


def _cut_up(told: str, size: int) -> list[bytes]:
    """Return the pieces of a message; none of one that another program sent."""
    try:
        raw = bytes.fromhex(told)
    except ValueError:
        return []
    return [raw[first : first + size] for first in range(0, len(raw), size)]
