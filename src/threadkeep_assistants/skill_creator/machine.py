"""The way of a skill from an idea to a folder: every state, every legal transition between two of them, and what one
exchange changes."""

from threadkeep.machine import Guard, Machine, Transition, Values
from threadkeep.turn.agent import Changed
from threadkeep_assistants.skill_creator.fields import FIELDS, NEEDED, is_known

GATHERING_PURPOSE, GATHERING_DETAILS = "gathering_purpose", "gathering_details"
GENERATING, VALIDATING = "generating", "validating"
SELECTING_STORAGE, SAVING = "selecting_storage", "saving"
COMPLETED, ERROR = "completed", "error"

MAX_ATTEMPTS = 3
"""How often a skill is written before a person is asked what to do."""
PROGRESS = {GENERATING: 60, VALIDATING: 80, SELECTING_STORAGE: 90, SAVING: 95, COMPLETED: 100, ERROR: 95}
"""Per cent of the way in a state; while parts are gathered, they are counted."""


def _needs(why: str, *keys: str, no_errors: bool = False) -> Guard:
    def guard(values: Values) -> str | None:
        is_met = all(map(values.get, keys)) and not (no_errors and values.get("validation_errors"))
        return None if is_met else why

    return guard


def _may_try(values: Values) -> str | None:
    return None if values.get("validation_attempts", 0) < MAX_ATTEMPTS else "it was tried often enough"


_PURPOSE = _needs("the purpose of the skill is not known", "purpose")
_ENOUGH = _needs("its purpose, name or description is not known", *NEEDED)
_WRITTEN = _needs("nothing is written", "generated_content")
_VALID = _needs("the skill has errors", "generated_content", no_errors=True)
_PLACE = _needs("where to save it is open", "generated_content", "storage_layer", no_errors=True)
_SAVED = _needs("nothing is saved", "saved_to")
_WAYS: dict[str, dict[str, Guard | None]] = {
    GATHERING_PURPOSE: {GATHERING_DETAILS: _PURPOSE},
    GATHERING_DETAILS: {GATHERING_PURPOSE: None, GENERATING: _ENOUGH},
    GENERATING: {VALIDATING: _WRITTEN, GATHERING_DETAILS: None},
    VALIDATING: {GENERATING: _may_try, SELECTING_STORAGE: _VALID, GATHERING_DETAILS: None},
    SELECTING_STORAGE: {GATHERING_PURPOSE: None, GATHERING_DETAILS: None, SAVING: _PLACE},
    SAVING: {SELECTING_STORAGE: None, COMPLETED: _SAVED, ERROR: None},
    ERROR: {GATHERING_PURPOSE: None, GATHERING_DETAILS: None, SELECTING_STORAGE: None, SAVING: _PLACE},
}
"""Every legal transition, with what it needs."""

MACHINE = Machine(
    states=(GATHERING_PURPOSE, GATHERING_DETAILS, *PROGRESS),
    transitions=tuple(Transition(here, *way) for here, ways in _WAYS.items() for way in ways.items()),
    final=frozenset({COMPLETED}),
)


def progress(values: Values) -> int:
    """Return how far a skill is, in per cent."""
    known = sum(is_known(values, field.key) for field in FIELDS)
    return PROGRESS.get(MACHINE.current(values), PROGRESS[GENERATING] * known // len(FIELDS))


class SkillState:
    """What is known of the skill (`values`), with what this exchange changes; only the changes are stored. The key
    `state` is where the machine is; whether it may go to another is decided when it is stored."""

    def __init__(self, values: Values) -> None:
        self._before = dict(values)
        self.values = dict(values)
        self.get = self.values.get
        self.set = self.values.update

    @property
    def name(self) -> str:
        """Where the machine is."""
        return MACHINE.current(self.values)

    def unset(self, *keys: str) -> None:
        """Forget these keys."""
        for key in keys:
            self.values.pop(key, None)

    def changed(self, *, now: bool = False) -> Changed:
        """Return what is different from before. With `now` it is taken for stored, and this begins anew."""
        self.set(progress=progress(self.values))
        before, after = self._before, self.values
        self._before = dict(after) if now else before
        new = {key: value for key, value in after.items() if key not in before or before[key] != value}
        return Changed(set=new, unset=tuple(before.keys() - after.keys()), now=now)
