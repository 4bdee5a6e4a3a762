"""The machine of the skill creator: the whole way is there, every state can be left but the last, guards hold."""

from typing import Any

import pytest

from threadkeep.errors import IllegalTransition
from threadkeep_assistants.skill_creator.machine import (
    COMPLETED,
    ERROR,
    GATHERING_DETAILS,
    GATHERING_PURPOSE,
    GENERATING,
    MACHINE,
    SAVING,
    SELECTING_STORAGE,
    VALIDATING,
    SkillState,
    progress,
)

KNOWN = {"purpose": "sort mail", "skill_name": "sort-mail", "description": "Sorts mail."}
WRITTEN: dict[str, Any] = {**KNOWN, "generated_content": "---\n", "validation_errors": []}
WAY: tuple[tuple[str, dict[str, Any]], ...] = (
    (GATHERING_DETAILS, KNOWN),
    (GENERATING, {}),
    (VALIDATING, {"generated_content": "---\n"}),
    (SELECTING_STORAGE, {}),
    (SAVING, {"storage_layer": "personal"}),
    (COMPLETED, {"saved_to": "skills/sort-mail"}),
)


def test_a_skill_goes_from_its_purpose_to_its_end_and_progress_only_rises() -> None:
    values: dict[str, Any] = {}
    passed = []
    for state, new in WAY:
        values |= MACHINE.move(values, {**new, "state": state})
        passed.append(progress(values))
    assert MACHINE.is_over(values)
    assert passed == sorted(passed)
    assert passed[-1] == 100


def test_every_state_but_the_last_can_be_left() -> None:
    left = {way.source for way in MACHINE.transitions}
    assert left == set(MACHINE.states) - {COMPLETED}


def test_every_state_but_the_first_can_be_reached() -> None:
    assert {way.target for way in MACHINE.transitions} == set(MACHINE.states)


@pytest.mark.parametrize("state", [GENERATING, VALIDATING])
def test_a_failure_while_it_is_made_returns_to_gathering_details_with_everything_in_place(state: str) -> None:
    values = {**WRITTEN, "state": state, "validation_attempts": 3}
    assert MACHINE.move(values, {"state": GATHERING_DETAILS}) == {"state": GATHERING_DETAILS}


@pytest.mark.parametrize(
    ("values", "to"),
    [
        ({}, GATHERING_DETAILS),
        ({"state": GATHERING_DETAILS, "purpose": "sort mail"}, GENERATING),
        ({"state": GENERATING, **KNOWN}, VALIDATING),
        ({**WRITTEN, "state": VALIDATING, "validation_errors": ["no"]}, SELECTING_STORAGE),
        ({**WRITTEN, "state": VALIDATING, "validation_attempts": 3}, GENERATING),
        ({**WRITTEN, "state": SELECTING_STORAGE}, SAVING),
        ({**WRITTEN, "state": SAVING, "storage_layer": "shared"}, COMPLETED),
        ({**WRITTEN, "state": GATHERING_PURPOSE}, GENERATING),
        ({**WRITTEN, "state": SELECTING_STORAGE, "storage_layer": "shared"}, COMPLETED),
        ({**WRITTEN, "state": COMPLETED}, GATHERING_DETAILS),
    ],
)
def test_nothing_is_left_out_on_the_way(values: dict[str, Any], to: str) -> None:
    with pytest.raises(IllegalTransition):
        MACHINE.move(values, {"state": to})


def test_after_a_failure_to_save_one_can_try_again_choose_another_place_or_change_something() -> None:
    allowed = MACHINE.allowed({**WRITTEN, "state": ERROR, "storage_layer": "personal"})
    assert {SAVING, SELECTING_STORAGE, GATHERING_DETAILS} <= set(allowed)


def test_progress_counts_the_parts_that_are_known() -> None:
    lists = ("capabilities", "workflow_steps", "examples", "triggers", "reference_topics", "scripts_needed")
    values: dict[str, Any] = {**KNOWN, "state": GATHERING_DETAILS}
    assert progress({}) == 0
    assert progress(values) == 18
    assert progress({**values, **{key: [] for key in lists}}) == 54, "nine of ten parts are most of the gathering"


def test_only_what_has_changed_is_stored() -> None:
    state = SkillState({"purpose": "sort mail", "open_question": "examples"})
    state.set(examples=["Sort this"])
    state.unset("open_question")
    changed = state.changed(now=True)
    assert (changed.set, changed.unset) == ({"examples": ["Sort this"], "progress": 12}, ("open_question",))
    assert state.changed().set == {}
