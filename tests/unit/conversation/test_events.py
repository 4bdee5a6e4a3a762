"""Events: to which turn they belong, and which is the last of one."""

import pytest

from threadkeep.conversation.events import Event, Happening, TextDelta, TurnEnded, TurnStarted, TurnWaiting
from threadkeep.conversation.turn import TurnState

ENDED = TurnEnded(turn=3, seq=9, state=TurnState.FAILED, usage=None, failure=None, detail=None)
WAITING = TurnWaiting(turn=3, seq=9, calls=("c",), detail=None)


@pytest.mark.parametrize("what", [ENDED, WAITING])
def test_a_turn_is_over_for_its_readers_when_it_ends_or_waits_for_a_person(what: Happening) -> None:
    assert Event(what).ends(3)
    assert not Event(what).ends(4)


def test_an_event_that_only_belongs_to_a_turn_does_not_end_it() -> None:
    assert not Event(TurnStarted(turn=3, seq=2, detail=None)).ends(3)
    assert not Event(TextDelta(message="m", text="t")).ends(3)


def test_an_event_names_its_turn_where_it_knows_it() -> None:
    assert (Event(ENDED).turn, Event(TextDelta(message="m", text="t")).turn) == (3, None)
