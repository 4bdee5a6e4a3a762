"""Who may begin a turn: so many of a user, so many of a tenant, nobody at the end."""

from contextlib import ExitStack

import pytest

from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.errors import Stopping, TooManyTurns
from threadkeep.tally import Tally
from threadkeep.turn.admission import Admission

OTHER = Scope(tenant="local", user="other")


def test_without_limits_there_is_always_room() -> None:
    admission = Admission()
    for number in range(1000):
        admission.enter(LOCAL, f"c{number}")
    with admission.admitted(LOCAL, "one more"):
        assert admission.running == 1001
    assert admission.running == 1000


def test_a_user_and_a_tenant_have_only_so_many() -> None:
    admission = Admission(user_turns=1, tenant_turns=2)
    leave = admission.enter(LOCAL, "a")
    with pytest.raises(TooManyTurns, match="one user"), admission.admitted(LOCAL, "b"):
        pass
    third = Scope(tenant="local", user="third")
    with (
        admission.admitted(OTHER, "b"),
        pytest.raises(TooManyTurns, match="one tenant"),
        admission.admitted(third, "c"),
    ):
        pass
    leave()
    with admission.admitted(LOCAL, "b"):
        pass


def test_in_a_conversation_that_has_a_turn_there_is_always_room() -> None:
    admission = Admission(user_turns=1)
    admission.enter(LOCAL, "a")
    with admission.admitted(LOCAL, "a"):
        pass


def test_once_closed_nobody_is_admitted() -> None:
    admission = Admission()
    admission.close()
    with pytest.raises(Stopping), admission.admitted(LOCAL, "a"):
        pass


def test_nothing_is_left_of_those_who_left() -> None:
    admission = Admission(user_turns=5)
    for leave in [admission.enter(LOCAL, f"c{number}") for number in range(5)]:
        leave()
    with ExitStack() as stack:
        for number in range(5):
            stack.enter_context(admission.admitted(LOCAL, f"d{number}"))


def test_those_who_count_in_one_tally_have_their_limits_together() -> None:
    tally = Tally()
    one, other = Admission(user_turns=1, tally=tally), Admission(user_turns=1, tally=tally)
    leave = one.enter(LOCAL, "a")
    with pytest.raises(TooManyTurns), other.admitted(LOCAL, "b"):
        pass
    assert (one.running, other.running) == (1, 0)
    leave()
    with other.admitted(LOCAL, "b"):
        pass
