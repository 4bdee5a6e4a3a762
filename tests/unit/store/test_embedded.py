"""Reading one conversation over what a backend finds: what is missing is an error, never a shorter branch."""

from typing import Literal

import pytest

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.message import Message, Role
from threadkeep.errors import EntryNotFound, StoreCorrupt
from threadkeep.store.ledger.ledger import Ledger
from threadkeep.store.record import Opening, Record
from threadkeep.testing.clock import FakeClock

ENTRIES = 5


class Forgetful(Ledger):
    """A log whose index does not find one entry any more."""

    lost = 0

    def on_branch(self, first: int, last: int, limit: int, order: Literal["ASC", "DESC"]) -> list[Entry]:
        return [entry for entry in super().on_branch(first, last, limit, order) if entry.seq != self.lost]

    def between(self, first: int, last: int) -> tuple[Entry, ...]:
        return tuple(entry for entry in super().between(first, last) if entry.seq != self.lost)


@pytest.fixture
def log() -> Forgetful:
    at = FakeClock()()
    opening = Opening(tenant="t", user="u", id="c", mark="m", new=NewConversation())
    made = Forgetful(Record(at=at, opening=opening))
    for number in range(ENTRIES):
        made.apply(Record(at=at, bodies=(Message(role=Role.USER, content=str(number)),)))
    return made


def test_pages_continue_each_other(log: Forgetful) -> None:
    assert [entry.seq for entry in log.newest(5, 2)] == [4, 5]
    assert [entry.seq for entry in log.before(4, 2)] == [2, 3]
    assert [entry.seq for entry in log.after(3, 5, 9)] == [4, 5]
    assert log.count(5) == 5
    with pytest.raises(EntryNotFound):
        log.after(9, 5, 1)


@pytest.mark.parametrize("lost", range(1, ENTRIES + 1))
def test_an_entry_that_is_not_found_is_damage_wherever_it_stood(log: Forgetful, lost: int) -> None:
    log.lost = lost
    with pytest.raises(StoreCorrupt):
        log.newest(5, 9)
    with pytest.raises(StoreCorrupt):
        log.after(0, 5, 9)
    with pytest.raises(StoreCorrupt):
        log.log(Cursor(seq=0), 9)
