"""Where new entries go in the log: their numbers, their parents, and whether the tree makes a jump. No I/O."""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import NamedTuple

from threadkeep.conversation.entry import Body, Entry, PathBody
from threadkeep.conversation.tree import Jump
from threadkeep.store.base import ROOT


class Tip(NamedTuple):
    """The end of a log: its last entry of all, the head, and the newest entry on any branch (0 where there is none)."""

    last: int = 0
    head: int = 0
    newest: int = 0


class Placed(NamedTuple):
    """Entries with their places, the jump that the first of them makes, if any, and the end of the log after them."""

    entries: tuple[Entry, ...]
    jump: Jump | None
    tip: Tip


def place(
    tip: Tip,
    bodies: Sequence[Body],
    parent: int,
    stamp: Callable[[int, int, Body], Entry],
    follower: Callable[[int], int],
) -> Placed:
    """Put bodies at the end of the log: those that continue a branch one after the other from `parent` on, remarks
    about the one before them. `stamp(seq, parent, body)` makes the entry; `follower(parent)` returns what continued
    `parent` in its own run so far, or 0; it is asked only when the tree jumps."""
    entries: list[Entry] = []
    jump = None
    last, head, newest = tip
    at = parent
    for body in bodies:
        last += 1
        entries.append(stamp(last, at, body))
        if isinstance(body, PathBody):
            if at != newest:
                jump = Jump(first=last, parent=at, left=newest, beside=follower(at))
            at = head = newest = last
    return Placed(tuple(entries), jump, Tip(last, head, newest))


def stamper(conversation: str, turn: int | None, now: datetime) -> Callable[[int, int, Body], Entry]:
    """Return a function that makes entries of one conversation, one turn and one moment."""

    def stamp(seq: int, parent: int, body: Body) -> Entry:
        return Entry.trusted(
            conversation=conversation,
            seq=seq,
            parent=None if parent == ROOT else parent,
            turn=turn,
            created_at=now,
            body=body,
        )

    return stamp
