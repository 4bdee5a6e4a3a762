"""How many readers follow a conversation, in this process and in others that tell it.

What others tell is kept only for conversations that are followed here, and is forgotten unless it is told again: a
process that died counts for a moment longer. Conversations are known by their topics alone.
"""

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from typing import Generic, TypeVar

TopicT = TypeVar("TopicT", bound=Hashable)

TOLD_EVERY = 10.0
"""Seconds after which a process tells its readers again."""
FORGOTTEN_AFTER = 3 * TOLD_EVERY


class Presence(Generic[TopicT]):
    """Counts readers by topic. `changed` hears of topics whose number may be another than before."""

    def __init__(self, changed: Callable[[TopicT], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._changed = changed
        self._clock = clock
        self._readers_here: Counter[TopicT] = Counter()
        self._elsewhere: dict[TopicT, dict[str, tuple[int, float]]] = defaultdict(dict)
        self._tell: Callable[[TopicT], None] | None = None

    def enter(self, topic: TopicT) -> None:
        """Note a reader here."""
        self._readers_here[topic] += 1
        self._note(topic)

    def leave(self, topic: TopicT) -> None:
        """Note that a reader here has gone."""
        self._readers_here[topic] -= 1
        if not self._readers_here[topic]:
            del self._readers_here[topic]
            self._elsewhere.pop(topic, None)
        self._note(topic)

    def here(self, topics: Iterable[TopicT] | None = None) -> dict[TopicT, int]:
        """Return how many readers these topics have here, or all that have any."""
        return dict(self._readers_here) if topics is None else {topic: self._readers_here[topic] for topic in topics}

    def count(self, topic: TopicT) -> int:
        """Return how many readers there are everywhere, as far as it is known here."""
        now = self._clock()
        return self._readers_here[topic] + sum(
            count for count, until in self._elsewhere.get(topic, {}).values() if now < until
        )

    def hear(self, sender: str, topic: TopicT, count: int) -> None:
        """Take what another process tells. One that was not known here is told in turn."""
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

    def relay(self, tell: Callable[[TopicT], None] | None) -> None:
        """Have somebody tell other processes of topics whose readers here have changed; none: nobody any more."""
        self._tell = tell

    def _note(self, topic: TopicT) -> None:
        self._changed(topic)
        if self._tell is not None:
            self._tell(topic)
