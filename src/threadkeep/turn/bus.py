"""Telling readers in this process at once that a log has grown. It may lose anything: a reader catches up from the log.

Text travels along, so that readers who are up to date need not read it again from the store.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

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


def list_topic(user: str) -> str:
    """Return what the list of a user's conversations is subscribed to as; no conversation has such an id."""
    return f"list of {user}"


class Subscription:
    """The news of one conversation for one reader."""

    def __init__(self) -> None:
        self._news: list[News] = []
        self._arrived = asyncio.Event()

    def put(self, news: News) -> None:
        """Leave news for the reader."""
        if len(self._news) >= MOST_WAITING:
            self._news = [LOOK]
        else:
            self._news.append(news)
        self._arrived.set()

    async def get(self, timeout: float) -> list[News]:
        """Wait for news and return all of it; after a while without any, look into the log all the same."""
        try:
            async with asyncio.timeout(timeout):
                await self._arrived.wait()
        except TimeoutError:
            return [LOOK]
        self._arrived.clear()
        news, self._news = self._news, []
        return news


class Bus:
    """Passes news on to who has subscribed, by tenant and conversation."""

    def __init__(self) -> None:
        self._readers: dict[tuple[str, str], set[Subscription]] = defaultdict(set)

    def publish(self, tenant: str, conversation: str, news: News = LOOK) -> None:
        """Tell every reader of the conversation."""
        for reader in self._readers.get((tenant, conversation), ()):
            reader.put(news)

    def publish_list(self, tenant: str, user: str) -> None:
        """Tell who watches the list of a user's conversations that something in it has changed."""
        self.publish(tenant, list_topic(user))

    @contextmanager
    def subscribed(self, tenant: str, conversation: str) -> Iterator[Subscription]:
        """Be told about a conversation for a while."""
        key, subscription = (tenant, conversation), Subscription()
        self._readers[key].add(subscription)
        try:
            yield subscription
        finally:
            self._readers[key].discard(subscription)
            if not self._readers[key]:
                del self._readers[key]

    def readers(self, tenant: str, conversation: str) -> int:
        """Return how many readers a conversation has here."""
        return len(self._readers.get((tenant, conversation), ()))
