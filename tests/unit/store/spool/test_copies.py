"""Copies: how a conversation looks in the spool and outside."""

import pytest

from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Update
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, Turn, TurnState
from threadkeep.store.spool.copies import Copy
from threadkeep.store.spool.spool_file import inside
from threadkeep.store.values import Append, Begun
from threadkeep.testing.samples import ADA, BOB

COPY = Copy(scope=ADA, id="c", first=101, base=104, last=106, carried=(103, "one", 2))
LEASE = Lease(scope=ADA, conversation="c", turn=105, owner="one", fence=1)
INSIDE = LEASE.model_copy(update={"scope": inside(ADA)})


def test_everybody_has_a_place_of_their_own_in_the_spool() -> None:
    assert len({inside(ADA), inside(BOB), inside(Scope(tenant="other", user=ADA.user))}) == 3


def test_leases_and_turns_belong_to_the_place_inside_and_to_the_user_outside() -> None:
    turn = Turn(scope=ADA, conversation="c", number=5, state=TurnState.QUEUED)
    assert COPY.into(turn).scope == inside(ADA)
    assert COPY.out((COPY.into(turn),)) == (turn,)
    assert COPY.into(Append(lease=LEASE)).lease == INSIDE
    assert COPY.out(Begun(turn=105, entries=(), lease=INSIDE)).lease == LEASE


@pytest.mark.parametrize(("asked", "read"), [(0, 100), (7, 100), (100, 100), (105, 105)])
def test_a_log_is_read_from_the_first_entry_that_is_known_on(asked: int, read: int) -> None:
    assert COPY.into(Cursor(seq=asked)).seq == read


@pytest.mark.parametrize(("turn", "runs"), [(102, False), (103, True), (104, False), (105, True)])
def test_turns_run_here_that_began_here_or_were_carried_along(turn: int, runs: bool) -> None:
    assert COPY.runs(turn) is runs


def test_nobody_sees_the_mark_of_a_copy_and_it_outlives_new_metadata() -> None:
    changed = COPY.into(Update(metadata={"a": 1})).metadata
    kept = Conversation(
        scope=inside(ADA), id="c", metadata=changed, head=106, entries=106, created_at=utc_now(), updated_at=utc_now()
    )
    shown = COPY.out(kept)
    assert (shown.scope, shown.metadata, shown.entries, shown.incomplete) == (ADA, {"a": 1}, 106, True)
    again = Copy.of(kept)
    assert (again.scope, again.first, again.base, again.last, again.carried) == (ADA, 101, 104, 106, COPY.carried)
    assert again.is_spooled
