"""How much a user and a tenant may keep, and how many turns may wait in a conversation.

A store counts what is kept in the commit that adds to it, so that a cap holds for what is just coming and for many who
come at once. What people bring is counted before it is taken: conversations, messages, titles, metadata, imports. What
was accepted is answered: an answer is never cut off, and counts for what comes next.

Counting takes time, so a count is used again as long as nobody could have filled what was free then.
"""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from threadkeep.conversation.scope import Scope
from threadkeep.errors import StorageFull, TooManyConversations
from threadkeep.store.values import Statistics

MOST_HOLDERS = 10_000
"""For how many users and tenants a count is remembered."""
QUEUED_TURNS = 20
_AT_LEAST = 0.25
"""Seconds by which a count is taken to be older than it is: so long others may need to commit what they began."""


class Load(NamedTuple):
    """Conversations, and bytes of text: what somebody keeps, brings, or may keep (where 0 is no cap)."""

    conversations: int = 0
    bytes: int = 0


_NO_CAP = Load()
FASTEST = Load(10_000, 256 * 1024**2)
"""What all instances together can store for one user or one tenant in a second, and more than that."""


class Holder(NamedTuple):
    """A user of a tenant, or (none) the tenant as a whole, and the caps for it."""

    tenant: str
    user: str | None
    cap: Load


@dataclass(slots=True)
class _Room:
    """What was free when it was counted, less what was let in since."""

    conversations: float
    bytes: float
    at: float

    def take(self, brought: Load, now: float) -> bool:
        """Take some of it, if that is surely still free."""
        age = now - self.at + _AT_LEAST
        conversations, size = self.conversations - brought.conversations, self.bytes - brought.bytes
        if size < age * FASTEST.bytes or (brought.conversations and conversations < age * FASTEST.conversations):
            return False
        self.conversations, self.bytes = conversations, size
        return True


class Caps:
    """The caps of a store, and what is known of how far away they are."""

    def __init__(
        self,
        user: Load = _NO_CAP,
        tenant: Load = _NO_CAP,
        queued_turns: int = QUEUED_TURNS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.queued_turns = queued_turns
        self._user = user
        self._tenant = tenant
        self._clock = clock
        self._rooms: dict[tuple[str, str | None], _Room] = {}

    def to_count(self, scope: Scope, brought: Load) -> Iterator[Holder]:
        """Yield those whose load must be counted, with `check`, before this may be brought."""
        for user, cap in ((scope.user, self._user), (None, self._tenant)):
            room = self._rooms.get((scope.tenant, user))
            if any(cap) and (room is None or not room.take(brought, self._clock())):
                yield Holder(scope.tenant, user, cap)

    def check(self, holder: Holder, kept: Statistics, brought: Load) -> bool:
        """Refuse what is brought to what is kept if that is too much; return whether it fits whoever comes meanwhile.
        Otherwise it must be counted while nobody else can bring anything."""
        cap = holder.cap
        if cap.bytes and kept.bytes + brought.bytes > cap.bytes:
            raise StorageFull(f"At most {cap.bytes} bytes may be stored; delete some conversations.")
        if (
            cap.conversations
            and brought.conversations
            and kept.conversations + brought.conversations > cap.conversations
        ):
            raise TooManyConversations(f"At most {cap.conversations} conversations may be kept; delete some.")
        if len(self._rooms) >= MOST_HOLDERS:
            self._rooms.clear()
        room = _Room(
            cap.conversations - kept.conversations if cap.conversations else float("inf"),
            cap.bytes - kept.bytes if cap.bytes else float("inf"),
            self._clock(),
        )
        self._rooms[holder.tenant, holder.user] = room
        return room.take(brought, self._clock())
