"""Telling readers in this process at once that a log has grown. Nudges may get lost: readers catch up from the log.

A nudge carries new text, so that readers who are up to date need not read it from the store. A `NotifyBridge` tells
readers in other processes, where the store has a notify channel.
"""

import asyncio
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple, NewType

from threadkeep.conversation.events import TurnRetrying
from threadkeep.store.changes import Change

TOLD_EVERY = 10.0
"""Seconds after which a process tells the others again how many readers it has."""
FORGOTTEN_AFTER = 3 * TOLD_EVERY
MOST_WAITING = 256
"""How many nudges a slow reader may leave unread before it is only told to look into the log."""


class Nudge(NamedTuple):
    """Text that was added to the message being written at `offset`; without a message: look into the log."""

    message: str | None = None
    offset: int = 0
    text: str = ""

    @property
    def end(self) -> int:
        """The place behind the text."""
        return self.offset + len(self.text)


LOOK = Nudge()
UNLOGGED = Nudge(message="")
"""The number of readers may have changed, or a model is to be asked again; the log has not grown."""

Topic = NewType("Topic", bytes)
"""A digest of what a nudge is about: a conversation, or the list of a user's conversations."""
TOPIC_BYTES = 16


@lru_cache(maxsize=4096)
def topic_of(tenant: str, conversation: str) -> Topic:
    """Return the topic of a conversation."""
    name = f"{len(tenant)} {tenant} {conversation}".encode(errors="surrogatepass")
    return Topic(blake2b(name, digest_size=TOPIC_BYTES).digest())


def list_topic(user: str) -> str:
    """Return the name under which a user's list of conversations is subscribed to; no conversation has such an id."""
    return f"list of {user}"


class Subscription:
    """The nudges of one conversation for one reader."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._nudges: list[Nudge] = []
        self._arrived: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._rings_at = self._until = 0.0

    def put(self, nudge: Nudge) -> None:
        """Leave a nudge for the reader."""
        if len(self._nudges) >= MOST_WAITING:
            self._nudges = [LOOK]
        else:
            self._nudges.append(nudge)
        self._wake()

    async def get(self, timeout: float) -> list[Nudge]:
        """Wait for nudges and return all of them; an empty list after so many seconds without any."""
        if not self._nudges:
            self._until = self._loop.time() + timeout
            self._set_timer()
            self._arrived = self._loop.create_future()
            await self._arrived
        nudges, self._nudges = self._nudges, []
        return nudges

    def close(self) -> None:
        """Cancel the timer."""
        if self._timer is not None:
            self._timer.cancel()

    def _set_timer(self) -> None:
        """Wake the reader in time. One timer serves many waits: a timer for each word would cost too much."""
        if self._timer is not None and self._rings_at > self._until:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
            # Noted here because uvloop's handles do not tell it.
            self._rings_at = self._until
            self._timer = self._loop.call_at(self._until, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._loop.time() < self._until:
            self._set_timer()
        else:
            self._wake()

    def _wake(self) -> None:
        if self._arrived is not None and not self._arrived.done():
            self._arrived.set_result(None)


class Presence:
    """Counts the readers of topics, here and in other processes. `changed` is called with topics whose number may have
    changed.

    What other processes tell is kept only for topics that are followed here, and expires unless it is told again, so
    that a process that died is soon not counted any more.
    """

    def __init__(self, changed: Callable[[Topic], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._changed = changed
        self._clock = clock
        self._readers_here: Counter[Topic] = Counter()
        self._elsewhere: dict[Topic, dict[str, tuple[int, float]]] = defaultdict(dict)
        self._tell: Callable[[Topic], None] | None = None

    def enter(self, topic: Topic) -> None:
        """Note a reader here."""
        self._readers_here[topic] += 1
        self._note(topic)

    def leave(self, topic: Topic) -> None:
        """Note that a reader here has gone."""
        self._readers_here[topic] -= 1
        if not self._readers_here[topic]:
            del self._readers_here[topic]
            self._elsewhere.pop(topic, None)
        self._note(topic)

    def counts_here(self, topics: Iterable[Topic] | None = None) -> dict[Topic, int]:
        """Return how many readers these topics have here, or all that have any."""
        return dict(self._readers_here) if topics is None else {topic: self._readers_here[topic] for topic in topics}

    def count(self, topic: Topic) -> int:
        """Return how many readers there are everywhere, as far as it is known here."""
        now = self._clock()
        return self._readers_here[topic] + sum(
            count for count, until in self._elsewhere.get(topic, {}).values() if now < until
        )

    def hear(self, sender: str, topic: Topic, count: int) -> None:
        """Take the number of readers that another process has. A process that is new here is told ours in turn."""
        if topic not in self._readers_here:
            return
        known, now = self._elsewhere[topic], self._clock()
        for gone in [each for each, (_, until) in known.items() if until <= now]:
            del known[gone]
        is_new = sender not in known
        if count:
            known[sender] = (count, now + FORGOTTEN_AFTER)
        else:
            known.pop(sender, None)
        self._changed(topic)
        if is_new and count and self._tell is not None:
            self._tell(topic)

    def relay(self, tell: Callable[[Topic], None] | None) -> None:
        """Set the function that tells other processes of topics whose readers here have changed, or remove it."""
        self._tell = tell

    def _note(self, topic: Topic) -> None:
        self._changed(topic)
        if self._tell is not None:
            self._tell(topic)


class LocalBus:
    """Passes nudges on to subscribers, by tenant and conversation."""

    def __init__(self) -> None:
        self._readers: dict[Topic, set[Subscription]] = defaultdict(set)
        self._bridges: list[tuple[Callable[[Topic], None], bool]] = []
        self.presence: Presence = Presence(lambda topic: self.notify(topic, UNLOGGED))
        self._retries: dict[Topic, tuple[TurnRetrying, float]] = {}

    def publish(self, tenant: str, conversation: str, nudge: Nudge = LOOK) -> None:
        """Tell every reader of the conversation."""
        topic = topic_of(tenant, conversation)
        self.notify(topic, nudge)
        for bridge, _ in self._bridges:
            bridge(topic)

    def publish_list(self, tenant: str, user: str) -> None:
        """Tell the watchers of a user's list of conversations that something in it has changed."""
        self.publish(tenant, list_topic(user))

    def hear(self, change: Change) -> None:
        """Tell whoever could see what was written to a store."""
        self.publish(change.scope.tenant, change.conversation, Nudge(*change.text) if change.text else LOOK)
        if change.in_list:
            self.publish_list(change.scope.tenant, change.scope.user)

    def notify(self, topic: Topic, nudge: Nudge = LOOK) -> None:
        """Tell readers here only."""
        for reader in self._readers.get(topic, ()):
            reader.put(nudge)

    @contextmanager
    def bridged(self, bridge: Callable[[Topic], None], *, reaches_all: bool = True) -> Iterator[None]:
        """Inside the block, pass the topics of all nudges to a bridge, which in turn reports what happens elsewhere."""
        self._bridges.append((bridge, reaches_all))
        try:
            yield
        finally:
            self._bridges.remove((bridge, reaches_all))
            # Readers have relied on the bridge, and its last nudge may be lost.
            for topic in tuple(self._readers):
                self.notify(topic)

    @property
    def is_bridged(self) -> bool:
        """Whether readers here hear of whatever happens elsewhere."""
        return any(reaches_all for _, reaches_all in self._bridges)

    @contextmanager
    def subscribed(self, tenant: str, conversation: str, *, presence: bool = False) -> Iterator[Subscription]:
        """Subscribe to a conversation inside the block; with presence, count as one of its readers."""
        topic, subscription = topic_of(tenant, conversation), Subscription()
        self._readers[topic].add(subscription)
        if presence:
            self.presence.enter(topic)
        try:
            yield subscription
        finally:
            subscription.close()
            self._readers[topic].discard(subscription)
            if not self._readers[topic]:
                del self._readers[topic]
            if presence:
                self.presence.leave(topic)

    @contextmanager
    def retrying(self, tenant: str, conversation: str, retry: TurnRetrying) -> Iterator[None]:
        """Tell readers here, also new ones, that a model is asked again, inside the block."""
        topic = topic_of(tenant, conversation)
        self._retries[topic] = (retry, time.monotonic() + retry.seconds)
        self.notify(topic, UNLOGGED)
        try:
            yield
        finally:
            del self._retries[topic]

    def retry(self, topic: Topic) -> TurnRetrying | None:
        """Return the retry that a conversation waits for, with the seconds that are left until then."""
        retry, due = self._retries.get(topic, (None, 0.0))
        return retry and replace(retry, seconds=round(max(due - time.monotonic(), 0.0), 1))

    def readers(self, tenant: str, conversation: str) -> int:
        """Return how many readers a conversation has here."""
        return len(self._readers.get(topic_of(tenant, conversation), ()))
