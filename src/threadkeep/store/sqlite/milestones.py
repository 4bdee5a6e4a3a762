"""Counting messages in SQLite: a milestone says how many messages a log holds up to every 256th entry.

So any part of a log is counted from the entries near its two ends. A milestone that is missing, because a process of an
older release has written, makes counting slower there, not wrong.
"""

from threadkeep.store.codec import STATE
from threadkeep.store.placement import MILESTONE, milestones
from threadkeep.store.sqlite.connection import Database
from threadkeep.store.sqlite.place import Place
from threadkeep.store.sqlite.reading import Reader

_HERE = "WHERE tenant = ? AND conversation = ?"


def count_messages(reader: Reader, place: Place, seq: int, head: int) -> int:
    """Return how many messages follow `seq` on the branch that ends in `head`."""
    return sum(_between(reader.db, place, *stretch) for stretch in reader.stretches(place, seq, head))


def set_milestones(db: Database, place: Place, before: int, last: int) -> None:
    """Note how many messages there are at the milestones that were passed from entry `before` to entry `last`."""
    for seq in milestones(before, last):
        # One that is there already was left behind by a release that did not know them, and may be another log's.
        messages = _up_to(db, place, seq - 1) + _read(db, place, seq, seq)
        db.execute("INSERT OR REPLACE INTO milestone VALUES (?, ?, ?, ?)", (*place[:2], seq, messages))


def _between(db: Database, place: Place, first: int, last: int) -> int:
    if last - first < MILESTONE:
        return _read(db, place, first, last)
    return _up_to(db, place, last) - _up_to(db, place, first - 1)


def _up_to(db: Database, place: Place, seq: int) -> int:
    found = db.row(
        f"SELECT seq, messages FROM milestone {_HERE} AND seq <= ? ORDER BY seq DESC LIMIT 1", (*place[:2], seq)
    )
    passed, messages = found or (0, 0)
    return int(messages) + _read(db, place, passed + 1, seq)


def _read(db: Database, place: Place, first: int, last: int) -> int:
    """Count entries one by one."""
    return int(
        db.value(
            f"SELECT count(*) FROM entry {_HERE} AND seq BETWEEN ? AND ? AND kind < {STATE}", (*place[:2], first, last)
        )
    )
