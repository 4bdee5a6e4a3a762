"""Who may begin a turn: so many of a user, so many of a tenant, nobody at the end."""

import pytest

from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.errors import Stopping, TooManyTurns
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
    assert not admission._places
