"""Copies: numbers of the spool and numbers outside, there and back."""

from typing import Any

import pytest

from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Update
from threadkeep.conversation.turn import Lease, Turn, TurnState
from threadkeep.errors import StoreUnavailable
from threadkeep.store.spool.copies import BLIND, Copy
from threadkeep.store.values import Append, Begin
from threadkeep.testing.samples import ADA, MINUTE, asked

COPY = Copy(scope=ADA, id="c", shift=100, base=104, last=106)
LEASE = Lease(scope=ADA, conversation="c", turn=105, owner="one", fence=1)


@pytest.mark.parametrize(
    ("outside", "inside"),
    [
        (0, 0),
        (101, 1),
        (None, None),
        (Cursor(seq=105, message="m", offset=3), Cursor(seq=5, message="m", offset=3)),
        (Cursor(seq=7), Cursor()),
        (LEASE, LEASE.model_copy(update={"turn": 5})),
        (Append(parent=104, lease=LEASE), Append(parent=4, lease=LEASE.model_copy(update={"turn": 5}))),
        (
            Begin(message=None, parent=103, expected_head=104, owner="one", lease_for=MINUTE),
            Begin(message=None, parent=3, expected_head=4, owner="one", lease_for=MINUTE),
        ),
    ],
)
def test_what_is_asked_is_asked_in_the_numbers_of_the_spool(outside: Any, inside: Any) -> None:
    assert COPY.into(outside) == inside


def test_what_is_not_known_here_cannot_be_asked_for() -> None:
    with pytest.raises(StoreUnavailable):
        COPY.into(100)


def test_turns_are_numbered_as_they_are_outside() -> None:
    turn = Turn(scope=ADA, conversation="c", number=5, state=TurnState.QUEUED)
    assert COPY.out(turn).number == 105
    assert COPY.into(COPY.out(turn)) == turn


def test_nobody_sees_the_mark_of_a_copy_and_it_outlives_new_metadata() -> None:
    changed = COPY.into(Update(metadata={"a": 1})).metadata
    kept = Conversation(
        scope=ADA, id="c", metadata=changed, head=6, entries=6, created_at=utc_now(), updated_at=utc_now()
    )
    shown = COPY.out(kept)
    assert (shown.metadata, shown.head, shown.entries, shown.incomplete) == ({"a": 1}, 106, 106, True)
    again = Copy.of(kept)
    assert (again.shift, again.base, again.last, again.is_spooled) == (100, 104, 106, True)


def test_a_conversation_that_is_not_known_expects_no_head_and_answers_nobody() -> None:
    blind = Copy(scope=ADA, id="c", shift=BLIND, base=BLIND, last=BLIND, answers=False)
    begin = blind.into(Begin(message=asked("a"), expected_head=7, owner="one", lease_for=MINUTE))
    assert (begin.expected_head, begin.waits) == (None, True)
