"""Telling readers in other processes that a log has grown, over the wire of the store, and being told by them.

Only digests of names travel, and no text: readers elsewhere read what is new from the log, where their tenant's walls
are. The relay may lose anything, as the bus may: readers also look by themselves.
"""

import asyncio
from collections.abc import Awaitable, Callable
from secrets import token_hex

from threadkeep.store.wire import MOST_BYTES, Wire
from threadkeep.turn.bus import TOPIC_BYTES, Bus, Topic

GATHER = 0.1
"""Seconds between two sendings: what happens meanwhile is told together, so readers elsewhere read as often at most."""
QUIET = 30.0
"""Seconds without news after which it is tried whether the wire still carries."""
MOST_TOPICS = (MOST_BYTES - 100) // (2 * TOPIC_BYTES)


class Relay:
    """Carries the news of one bus to those of other processes. `changed` is told what others have changed."""

    def __init__(self, bus: Bus, wire: Wire, changed: Callable[[frozenset[Topic]], Awaitable[None]]) -> None:
        self._bus = bus
        self._wire = wire
        self._changed = changed
        self._sender = token_hex(8)
        self._outgoing: set[Topic] = set()
        self._incoming: set[Topic] = set()
        self._woken = asyncio.Event()

    async def run(self) -> None:
        """Carry news until the wire breaks; run supervised, which opens it again."""
        try:
            await self._wire.open(self._hear)
            with self._bus.relayed(self._note):
                await self._carry()
        finally:
            await self._wire.close()

    def _note(self, topic: Topic) -> None:
        self._outgoing.add(topic)
        self._woken.set()

    def _hear(self, word: str) -> None:
        """Pass a word on to readers here. What we sent ourselves, and what is none of ours, means nothing."""
        sender, _, names = word.partition(" ")
        if sender == self._sender:
            return
        for topic in _topics(names):
            self._bus.tell(topic)
            self._incoming.add(topic)
        self._woken.set()

    async def _carry(self) -> None:
        while True:
            try:
                async with asyncio.timeout(QUIET):
                    await self._woken.wait()
            except TimeoutError:
                await self._wire.send(())
                continue
            self._woken.clear()
            outgoing, self._outgoing = self._outgoing, set()
            incoming, self._incoming = frozenset(self._incoming), set()
            if outgoing:
                await self._wire.send(self._words(list(outgoing)))
            if incoming:
                await self._changed(incoming)
            await asyncio.sleep(GATHER)

    def _words(self, topics: list[Topic]) -> list[str]:
        shares = (topics[first : first + MOST_TOPICS] for first in range(0, len(topics), MOST_TOPICS))
        return [f"{self._sender} {b''.join(share).hex()}" for share in shares]


def _topics(names: str) -> list[Topic]:
    """Return the topics of a word; of one that another program sent, none."""
    try:
        digests = bytes.fromhex(names)
    except ValueError:
        return []
    return [Topic(digests[first : first + TOPIC_BYTES]) for first in range(0, len(digests), TOPIC_BYTES)]
