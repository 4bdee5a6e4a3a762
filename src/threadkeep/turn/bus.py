"""Telling readers in this process at once that a log has grown. It may lose anything: a reader catches up from the log.

Text travels along, so that readers who are up to date need not read it again from the store. Readers in other processes
are told by a `Relay`, where the store has a wire.
"""

import asyncio
from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from hashlib import blake2b
from typing import NewType

from threadkeep.turn.presence import Presence

MOST_WAITING = 256
"""How much news a slow reader may leave lying before it is only told to look into the log."""


@dataclass(frozen=True, slots=True)
class News:
    """Text that was added to the message being written at `offset`; without a message: look into the log."""

    message: str | None = None
    offset: int = 0
    text: str = ""

    @property
    def end(self) -> int:
        """The place behind the text."""
        return self.offset + len(self.text)


LOOK = News()
READERS = News(message="")
"""There may be more or fewer readers; the log has not grown."""

Topic = NewType("Topic", bytes)
"""What news is about: a conversation, or the list of a user's conversations, as a digest that tells neither."""
TOPIC_BYTES = 16


@lru_cache(maxsize=4096)
def topic_of(tenant: str, conversation: str) -> Topic:
    """Return the topic of a conversation."""
    name = f"{len(tenant)} {tenant} {conversation}".encode(errors="surrogatepass")
    return Topic(blake2b(name, digest_size=TOPIC_BYTES).digest())


def list_topic(user: str) -> str:
    """Return what the list of a user's conversations is subscribed to as; no conversation has such an id."""
    return f"list of {user}"


class Subscription:
    """The news of one conversation for one reader."""

    def __init__(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._news: list[News] = []
        self._arrived: asyncio.Future[None] | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._until = 0.0

    def put(self, news: News) -> None:
        """Leave news for the reader."""
        if len(self._news) >= MOST_WAITING:
            self._news = [LOOK]
        else:
            self._news.append(news)
        self._wake()

    async def get(self, timeout: float) -> list[News]:
        """Wait for news and return all of it; none after a while without any."""
        if not self._news:
            self._until = self._loop.time() + timeout
            self._set_timer()
            self._arrived = self._loop.create_future()
            await self._arrived
        news, self._news = self._news, []
        return news

    def close(self) -> None:
        """Wait for nothing any more."""
        if self._timer is not None:
            self._timer.cancel()

    def _set_timer(self) -> None:
        """Have the reader woken in time. One timer serves many waits: a timer for each word would cost too much."""
        if self._timer is not None and self._timer.when() > self._until:
            self._timer.cancel()
            self._timer = None
        if self._timer is None:
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


class Bus:
    """Passes news on to who has subscribed, by tenant and conversation."""

    def __init__(self) -> None:
        self._readers: dict[Topic, set[Subscription]] = defaultdict(set)
        self._relays: list[Callable[[Topic], None]] = []
        self.presence: Presence[Topic] = Presence(lambda topic: self.tell(topic, READERS))

    def publish(self, tenant: str, conversation: str, news: News = LOOK) -> None:
        """Tell every reader of the conversation."""
        topic = topic_of(tenant, conversation)
        self.tell(topic, news)
        for relay in self._relays:
            relay(topic)

    def publish_list(self, tenant: str, user: str) -> None:
        """Tell who watches the list of a user's conversations that something in it has changed."""
        self.publish(tenant, list_topic(user))

    def tell(self, topic: Topic, news: News = LOOK) -> None:
        """Tell readers here only."""
        for reader in self._readers.get(topic, ()):
            reader.put(news)

    @contextmanager
    def relayed(self, relay: Callable[[Topic], None]) -> Iterator[None]:
        """Tell somebody for a while what there is news about, who in turn tells what happens elsewhere."""
        self._relays.append(relay)
        try:
            yield
        finally:
            self._relays.remove(relay)
            # Readers have relied on it, and the last news may be lost.
            for topic in tuple(self._readers):
                self.tell(topic)

    @property
    def is_relayed(self) -> bool:
        """Whether readers here hear of what happens elsewhere."""
        return bool(self._relays)

    @contextmanager
    def subscribed(self, tenant: str, conversation: str, *, presence: bool = False) -> Iterator[Subscription]:
        """Be told about a conversation for a while; with presence, count as one of its readers."""
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

    def readers(self, tenant: str, conversation: str) -> int:
        """Return how many readers a conversation has here."""
        return len(self._readers.get(topic_of(tenant, conversation), ()))
