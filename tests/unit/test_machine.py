"""Machines: what is declared, what may follow what, and what entering a state brings along."""

from typing import Any

import pytest

from threadkeep.errors import IllegalTransition, InvalidValue
from threadkeep.machine import Machine, Transition, Values


def _is_named(values: Values) -> str | None:
    return None if values.get("name") else "it has no name"


def _opened(values: Values) -> dict[str, Any]:
    return {"label": f"open: {values['name']}"}


DOOR = Machine(
    states=("closed", "open", "gone"),
    transitions=(Transition("closed", "open", _is_named), Transition("open", "closed"), Transition("open", "gone")),
    final=frozenset({"gone"}),
    entering={"open": _opened},
    instructions={"open": "Mind the draught."},
)


def test_a_conversation_begins_in_the_first_state() -> None:
    assert DOOR.current({}) == "closed"
    assert not DOOR.is_over({})


def test_a_declared_transition_is_stored_with_what_entering_the_state_brings() -> None:
    assert DOOR.move({}, {"state": "open", "name": "front"}) == {
        "state": "open",
        "name": "front",
        "label": "open: front",
    }


def test_staying_needs_no_transition_and_enters_nothing() -> None:
    assert DOOR.move({"state": "open", "name": "front"}, {"colour": "red"}) == {"state": "open", "colour": "red"}


def test_there_is_no_way_that_is_not_declared_and_the_message_tells_those_there_are() -> None:
    with pytest.raises(IllegalTransition, match="no way from closed to gone; from here it goes to: open"):
        DOOR.move({}, {"state": "gone"})
    with pytest.raises(IllegalTransition, match="goes to: nowhere"):
        DOOR.move({"state": "gone"}, {"state": "open"})


def test_a_state_that_is_not_declared_cannot_be_reached() -> None:
    with pytest.raises(IllegalTransition):
        DOOR.move({}, {"state": "ajar"})


def test_a_guard_sees_the_values_as_they_will_be_and_its_reason_is_told() -> None:
    with pytest.raises(IllegalTransition, match="it has no name"):
        DOOR.move({}, {"state": "open"})
    with pytest.raises(IllegalTransition, match="it has no name"):
        DOOR.move({"name": "front"}, {"state": "open"}, unset=["name"])


def test_one_open_way_of_two_is_enough() -> None:
    machine = Machine(states=("a", "b"), transitions=(Transition("a", "b", _is_named), Transition("a", "b")))
    assert machine.move({}, {"state": "b"}) == {"state": "b"}


def test_the_state_itself_cannot_be_unset() -> None:
    assert DOOR.move({"state": "open"}, {}, unset=["state"]) == {"state": "open"}


def test_allowed_are_the_states_whose_guards_have_nothing_against_it_in_order() -> None:
    assert DOOR.allowed({}) == ()
    assert DOOR.allowed({"name": "front"}) == ("open",)
    assert DOOR.allowed({"state": "open"}) == ("closed", "gone")


def test_a_final_state_is_the_end() -> None:
    assert DOOR.is_over({"state": "gone"})


@pytest.mark.parametrize(
    "fields",
    [
        {"transitions": (Transition("a", "c"),)},
        {"transitions": (), "final": frozenset({"c"})},
        {"transitions": (), "entering": {"c": lambda values: {}}},
        {"transitions": (), "instructions": {"c": "?"}},
    ],
)
def test_a_machine_that_uses_a_state_it_does_not_declare_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(InvalidValue, match="does not declare: c"):
        Machine(states=("a", "b"), **fields)


def test_a_machine_needs_a_state() -> None:
    with pytest.raises(InvalidValue):
        Machine(states=(), transitions=())
