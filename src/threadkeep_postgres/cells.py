"""The cells of a tenant: the parts of it that may lie on different machines.

Every key of a table begins with the number of a cell, by which an engine may distribute tables. A tenant begins with
one cell, its home, where its audit log is kept, and is widened with `threadkeep cells`, also while servers run: new
cells open a minute later, when every server knows of them. Each person lives in one cell and stays there: in the one
that their name chose among those that were open when they first stored something. What belongs to a person asks one
cell; what belongs to the whole tenant asks all of them.
"""

from datetime import datetime, timedelta
from hashlib import sha256
from typing import NamedTuple

from threadkeep.store.paging import Listing, activity

KNOWN_FOR = 15.0
"""For how many seconds a server takes the cells of a tenant for the ones that it has read."""
OPENS_AFTER = timedelta(minutes=1)
GRACE = timedelta(seconds=10)
"""So long before others may look for somebody elsewhere, nobody is entered any more by what was known before."""
MOST_CELLS = 256


class Cells(NamedTuple):
    """The keys of a tenant's cells, its home first, when each of them opens, and when this was read."""

    keys: tuple[int, ...]
    opens: tuple[datetime | None, ...]
    read_at: datetime

    def home_of(self, user: str) -> int:
        """Return the cell in which somebody new lives, if that is stored before `until`."""
        return self._chosen(user, sum(opens is None or opens <= self.read_at for opens in self.opens))

    def may_have(self, user: str) -> tuple[int, ...]:
        """Return the cells in which somebody may live, the likeliest first: one for each width that the tenant had."""
        widths = [at for at in range(1, len(self.keys)) if self.opens[at] != self.opens[at - 1]]
        return tuple(dict.fromkeys(self._chosen(user, width) for width in (len(self.keys), *reversed(widths))))

    @property
    def until(self) -> datetime:
        """When somebody new may have to live elsewhere: in a cell that is to open, or that was made since then."""
        to_open = [opens for opens in self.opens if opens is not None and opens > self.read_at]
        return min([self.read_at + OPENS_AFTER, *to_open]) - GRACE

    def _chosen(self, user: str, width: int) -> int:
        return self.keys[int.from_bytes(sha256(user.encode()).digest()[:8]) % width]


def pseudonym(secret: bytes, cell: int, user: str) -> str:
    """Return what stands for the name of somebody of whom nothing is stored: see `functions/tenants.sql`."""
    return "~" + sha256(secret + f"{cell} {user}".encode()).hexdigest()


def merged(parts: list[Listing]) -> Listing:
    """Return a list of what several cells have of it: down to where the first of them has not looked any further."""
    reached = max((part.reached for part in parts if part.reached is not None), default=None)
    found = sorted((listed for part in parts for listed in part.found), key=activity, reverse=True)
    return Listing([listed for listed in found if reached is None or activity(listed) >= reached], reached)
