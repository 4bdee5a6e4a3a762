"""Counts that the workers of one server share, in memory that they inherit: requests, and places that are taken.

Its size is fixed, whoever asks: a holder has one of sixteen slots, by a digest of its name. Where all are taken, the
one that asked least recently is forgotten, or a place is not counted. A worker counts its places in a column of its
own, so that those of a dead one can be given back.
"""

import fcntl
import mmap
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from hashlib import blake2b
from typing import IO

SLOTS, WAYS = 65_536, 16

Name = tuple[str, ...]


class Tally:
    """Counts for one worker of `workers`; with a file to lock, in processes that were forked after it was made."""

    def __init__(self, workers: int = 1, lock: IO[bytes] | None = None) -> None:
        # The last column is for places that are taken at other servers.
        self._memory = mmap.mmap(-1, SLOTS * (5 * 8 + 4 * (workers + 1)))
        whole = memoryview(self._memory)
        rows = [whole[SLOTS * 8 * row : SLOTS * 8 * (row + 1)] for row in range(5)]
        self._rated, self._placed, self._asked = (row.cast("Q") for row in (rows[0], rows[1], rows[4]))
        self._left, self._at = rows[2].cast("d"), rows[3].cast("d")
        counts = whole[SLOTS * 40 :].cast("I")
        self._counts = [counts[SLOTS * worker : SLOTS * (worker + 1)] for worker in range(workers + 1)]
        self._own = self._counts[0]
        self._lock = lock

    def join(self, worker: int) -> None:
        """Count for this worker from now on."""
        self._own = self._counts[worker]

    def clear(self, worker: int) -> None:
        """Give back all places of a worker that has ended."""
        self._counts[worker][:] = memoryview(bytes(SLOTS * 4)).cast("I")

    def request(self, holder: Name, rate: float, most: float, now: float) -> float:
        """Count a request of a holder who may make `rate` in a second and `most` at once; return how long to wait if it
        is one too many, which is not counted."""
        digest = _digest(holder)
        with self._alone():
            if (slot := _find(self._rated, digest)) is None:
                slot = min(_ways(digest), key=self._at.__getitem__)
                self._rated[slot], self._left[slot], self._at[slot], self._asked[slot] = digest, most, now, 0
            left = min(most, self._left[slot] + (now - self._at[slot]) * rate)
            self._left[slot], self._at[slot] = (left - 1 if left >= 1 else left), now
            self._asked[slot] += left >= 1
        return 0.0 if left >= 1 else (1 - left) / rate

    def enter(self, places: Mapping[Name, int], *, behind: Name | None = None) -> Name | None:
        """Take a place with each name, or with none, and return the name whose limit is reached (0 is none). Behind a
        place that is taken there is always room."""
        with self._alone():
            if behind is None or not self._count(behind):
                for name, most in places.items():
                    if 0 < most <= self._count(name):
                        return name
            for name in places:
                if (slot := self._slot(_digest(name))) is not None:
                    self._own[slot] += 1
        return None

    def here(self) -> tuple[dict[int, int], dict[int, int]]:
        """Return how many requests were taken here so far, and how many places are, by the digests of names."""
        with self._alone():
            asked = {digest: self._asked[slot] for slot, digest in enumerate(self._rated) if digest}
            slots = [slot for slot, digest in enumerate(self._placed) if digest]
            return asked, {self._placed[slot]: sum(each[slot] for each in self._counts[:-1]) for slot in slots}

    def elsewhere(self, asked: Mapping[int, int], taken: Mapping[int, int]) -> None:
        """Count what other servers took since the last call, and the places that are taken there now."""
        with self._alone():
            for digest, count in asked.items():
                if (slot := _find(self._rated, digest)) is not None:
                    self._left[slot] -= count
            self._counts[-1][:] = memoryview(bytes(SLOTS * 4)).cast("I")
            for digest, count in taken.items():
                if (slot := self._slot(digest)) is not None:
                    self._counts[-1][slot] = count

    def leave(self, places: Collection[Name]) -> None:
        """Give back places that this worker took."""
        with self._alone():
            for name in places:
                slot = _find(self._placed, _digest(name))
                if slot is not None and self._own[slot]:
                    self._own[slot] -= 1

    def count(self, name: Name) -> int:
        """Return how many places with this name all workers have taken."""
        with self._alone():
            return self._count(name)

    def _count(self, name: Name) -> int:
        slot = _find(self._placed, _digest(name))
        return 0 if slot is None else self._taken(slot)

    def _taken(self, slot: int) -> int:
        return sum(column[slot] for column in self._counts)

    def _slot(self, digest: int) -> int | None:
        """Return the slot of a name, which may be a new one."""
        slot = _find(self._placed, digest)
        if slot is None and (slot := next((way for way in _ways(digest) if not self._taken(way)), None)) is not None:
            self._placed[slot] = digest
        return slot

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep the other workers out for some microseconds."""
        if self._lock is None:
            yield
            return
        # The system takes a lock back from a process that dies, whatever it was doing.
        fcntl.lockf(self._lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            fcntl.lockf(self._lock, fcntl.LOCK_UN)


def _digest(name: Name) -> int:
    return int.from_bytes(blake2b(repr(name).encode(errors="surrogatepass"), digest_size=8).digest()) or 1


def _ways(digest: int) -> range:
    first = digest % (SLOTS // WAYS) * WAYS
    return range(first, first + WAYS)


def _find(digests: "memoryview[int]", digest: int) -> int | None:
    ways = _ways(digest)
    return next((way for way in ways if digests[way] == digest), None)
