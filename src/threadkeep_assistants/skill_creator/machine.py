"""The way of a skill from an idea to a folder: every state, and every legal transition between two of them."""

from collections.abc import Mapping
from typing import Any

from threadkeep.machine.machine import Action, Machine, Transition, Values
from threadkeep_assistants.skill_creator.fields import NEEDED, has

GATHERING_PURPOSE = "gathering_purpose"
GATHERING_DETAILS = "gathering_details"
GENERATING = "generating"
VALIDATING = "validating"
SELECTING_STORAGE = "selecting_storage"
SAVING = "saving"
COMPLETED = "completed"
ERROR = "error"

MOST_ATTEMPTS = 3
"""How often a skill is written before a person is asked what to do."""
PROGRESS = {
    GATHERING_PURPOSE: 0,
    GATHERING_DETAILS: 20,
    GENERATING: 60,
    VALIDATING: 80,
    SELECTING_STORAGE: 90,
    SAVING: 95,
    COMPLETED: 100,
}
"""Per cent of the way at which a state is entered; an error leaves it where it was."""


def _knows_purpose(values: Values) -> str | None:
    return None if has(values, "purpose") else "the purpose of the skill is not known"


def _knows_enough(values: Values) -> str | None:
    missing = [key for key in NEEDED if not has(values, key)]
    return f"not known yet: {', '.join(missing)}" if missing else None


def _is_written(values: Values) -> str | None:
    return None if values.get("generated_content") else "nothing is written"


def _may_try_again(values: Values) -> str | None:
    return None if values.get("validation_attempts", 0) < MOST_ATTEMPTS else "it was tried often enough"


def _is_valid(values: Values) -> str | None:
    return "the skill has errors" if values.get("validation_errors") else _is_written(values)


def _has_place(values: Values) -> str | None:
    return _is_valid(values) or (None if values.get("storage_layer") else "where to save it is not chosen")


def _is_saved(values: Values) -> str | None:
    return None if values.get("saved_to") else "nothing is saved"


def _entering(state: str) -> Action:
    def action(values: Values) -> Mapping[str, Any]:
        return {"progress": PROGRESS[state]}

    return action


MACHINE = Machine(
    states=(
        GATHERING_PURPOSE,
        GATHERING_DETAILS,
        GENERATING,
        VALIDATING,
        SELECTING_STORAGE,
        SAVING,
        COMPLETED,
        ERROR,
    ),
    transitions=(
        Transition(GATHERING_PURPOSE, GATHERING_DETAILS, _knows_purpose),
        Transition(GATHERING_DETAILS, GATHERING_PURPOSE),
        Transition(GATHERING_DETAILS, GENERATING, _knows_enough),
        Transition(GENERATING, VALIDATING, _is_written),
        Transition(GENERATING, GATHERING_DETAILS),
        Transition(VALIDATING, GENERATING, _may_try_again),
        Transition(VALIDATING, SELECTING_STORAGE, _is_valid),
        Transition(VALIDATING, GATHERING_DETAILS),
        Transition(SELECTING_STORAGE, GATHERING_PURPOSE),
        Transition(SELECTING_STORAGE, GATHERING_DETAILS),
        Transition(SELECTING_STORAGE, SAVING, _has_place),
        Transition(SAVING, SELECTING_STORAGE),
        Transition(SAVING, COMPLETED, _is_saved),
        Transition(SAVING, ERROR),
        Transition(ERROR, GATHERING_PURPOSE),
        Transition(ERROR, GATHERING_DETAILS),
        Transition(ERROR, SELECTING_STORAGE),
        Transition(ERROR, SAVING, _has_place),
    ),
    final=frozenset({COMPLETED}),
    entering={state: _entering(state) for state in PROGRESS},
)
