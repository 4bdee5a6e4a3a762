"""Branches as the last contexts were made from them, so that the next turn of a conversation need not read, prepare and
measure its whole history again.

An entry never changes, and a seq has one way to the root; so what was read of a branch holds for every branch that goes
through one of its entries. It is compared with the newest entries that the store has, because a conversation may have
been deleted and made anew under its id. All this is a memory of one process: nothing is lost with it.
"""

from bisect import bisect_left, bisect_right
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeVar

from threadkeep.context.base import Audience
from threadkeep.context.lines import Line, lines_of
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message

MOST_ENTRIES = 10_000
MOST_TOKENS = 2_000_000
"""How many entries, and how many tokens of their messages, are kept of all branches together."""

Key = tuple[str, str, Audience]
"""A tenant, a conversation and who reads it."""
T = TypeVar("T")
_seq = attrgetter("seq")


@dataclass(frozen=True, slots=True)
class KeptBranch:
    """Entries of a branch, oldest first and without gaps; those that are messages as lines for an audience, and the
    tokens that they have."""

    audience: Audience
    entries: tuple[Entry, ...] = ()
    lines: tuple[Line, ...] = ()
    tokens: int = 0

    def followed_by(self, entries: Sequence[Entry]) -> "KeptBranch":
        """Return a longer branch."""
        if not entries:
            return self
        lines = lines_of(entries, self.audience, before=self.lines)
        tokens = self.tokens + sum([line.size for line in lines])
        return KeptBranch(self.audience, (*self.entries, *entries), (*self.lines, *lines), tokens)

    def part(self, first: int, last: int) -> "KeptBranch":
        """Return the entries from one seq to another, both included."""
        if self.entries and first <= self.entries[0].seq and last >= self.entries[-1].seq:
            return self
        lines = _between(self.lines, first, last)
        tokens = sum([line.size for line in lines])
        return KeptBranch(self.audience, _between(self.entries, first, last), lines, tokens)

    def newest_shared(self, page: Sequence[Entry]) -> int:
        """Return the seq of the newest entry that a page of the store and the branch share; 0 if there is none, or if
        they differ in what stands under one seq."""
        if not self.entries:
            return 0
        known = [(entry, *_between(self.entries, entry.seq, entry.seq)) for entry in page]
        shared = [pair for pair in known if len(pair) == 2]
        if not shared or any(_told(entry) != _told(other) for entry, other in shared):
            return 0
        return shared[-1][0].seq


def _between(among: tuple[T, ...], first: int, last: int) -> tuple[T, ...]:
    return among[bisect_left(among, first, key=_seq) : bisect_right(among, last, key=_seq)]


def _told(entry: Entry) -> tuple[int | None, str, str, str]:
    body = entry.body
    id, text = (body.id, body.content) if isinstance(body, Message) else ("", "")
    return entry.parent, body.kind, id, text


class Branches:
    """The branches that were used last, within bounds."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Key, KeptBranch] = OrderedDict()
        self._entries = self._tokens = 0

    def get(self, key: Key) -> KeptBranch:
        """Return what is kept of a conversation, perhaps nothing."""
        return self._kept.get(key) or KeptBranch(key[2])

    def keep(self, key: Key, branch: KeptBranch) -> None:
        """Keep a branch in place of the former one of its conversation, and let go of what was not used for longest."""
        self._drop(key)
        self._kept[key] = branch
        self._entries += len(branch.entries)
        self._tokens += branch.tokens
        while self._entries > MOST_ENTRIES or self._tokens > MOST_TOKENS:
            self._drop(next(iter(self._kept)))

    def forget(self, tenant: str, conversation: str) -> None:
        """Let go of all that is kept of a conversation."""
        for key in [key for key in self._kept if key[:2] == (tenant, conversation)]:
            self._drop(key)

    def _drop(self, key: Key) -> None:
        branch = self._kept.pop(key, KeptBranch(key[2]))
        self._entries -= len(branch.entries)
        self._tokens -= branch.tokens
