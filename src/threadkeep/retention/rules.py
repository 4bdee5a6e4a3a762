"""The rules of retention: they give a verdict on a conversation. Pure: nothing is read or written here.

A conversation that nobody uses goes from active to abandoned (or completed, which people mark) to deleted. Only a time
to live, which nobody has who does not set one, deletes an active one. Caps ignore time: above a cap the oldest
conversations are deleted.
"""

import json
from collections.abc import Iterator
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Annotated, Any, NamedTuple

from pydantic import BeforeValidator, Field, PlainSerializer, model_validator

from threadkeep.conversation.clock import period, period_text
from threadkeep.conversation.facts import Status
from threadkeep.conversation.ids import Id
from threadkeep.conversation.value import Value

FOREVER = "forever"


def _period(value: object) -> object:
    """Return a rule's period; None for `forever`."""
    if value is None or value == FOREVER:
        return None
    return value if isinstance(value, timedelta) else period(value)


Period = Annotated[
    timedelta | None,
    BeforeValidator(_period, json_schema_input_type=str),
    PlainSerializer(lambda value: FOREVER if value is None else period_text(value), return_type=str),
]
"""How long: `90d`, `12h`, `30m`, or `forever`."""
Cap = Annotated[int, Field(ge=0, le=2**62)]


class Periods(Value):
    """What happens to a conversation that nobody uses, and when.

    An active one is marked abandoned `abandoned_after` its last activity, a completed one is deleted `completed_kept`
    after it, and any is deleted `time_to_live` after somebody last wrote to it or read it. A temporary one is deleted
    `temporary_kept` after its last activity.
    """

    abandoned_after: Period = timedelta(days=30)
    completed_kept: Period = timedelta(days=90)
    time_to_live: Period = None
    temporary_kept: Period = timedelta(hours=1)


class AssistantPeriods(Value):
    """The same for the conversations of one assistant; for what is not set, the general rule holds."""

    abandoned_after: Period = None
    completed_kept: Period = None
    time_to_live: Period = None
    temporary_kept: Period = None


class Retention(Periods):
    """The rules of a tenant: for all conversations, for those of single assistants, and caps on how much is kept (0: no
    cap)."""

    user_conversations: Cap = 0
    user_bytes: Cap = 0
    tenant_bytes: Cap = 0
    assistants: dict[Id, AssistantPeriods] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _from_text(cls, given: Any) -> Any:
        """Take JSON, as a variable of the environment holds it."""
        return json.loads(given) if isinstance(given, str) else given

    def periods(self, assistant: str | None) -> Periods:
        """Return the rules for the conversations of an assistant."""
        own = self.assistants.get(assistant or "")
        mine = {name: getattr(self, name) for name in Periods.model_fields}
        return Periods(**mine | ({name: getattr(own, name) for name in own.model_fields_set} if own else {}))

    def resolved(self) -> "Retention":
        """Return the same rules, with all periods of each assistant written out."""
        written_out = {name: self.periods(name).model_dump() for name in self.assistants}
        return Retention.model_validate({**_set_fields(self), "assistants": written_out})

    def merged(self, changes: "Retention | None") -> "Retention":
        """Return these rules, with those that are set in `changes` replaced."""
        if changes is None:
            return self
        return Retention.model_validate({**_set_fields(self), **_set_fields(changes)})

    def shortest(self) -> timedelta | None:
        """Return how soon after its last activity a conversation can be due; None if never."""
        every = [self.periods(name) for name in (None, *self.assistants)]
        waits = (wait for periods in every for status in Status for _, _, wait in _steps(periods, status, True))
        return min((wait for wait in waits if wait), default=None)

    def longest_life(self) -> timedelta | None:
        """Return the longest time to live of all; None if there is none."""
        return self._longest("time_to_live")

    def longest_temporary(self) -> timedelta | None:
        """Return how long a temporary conversation is kept at most; None if for ever."""
        return self._longest("temporary_kept")

    def _longest(self, rule: str) -> timedelta | None:
        periods = (getattr(self.periods(name), rule) for name in (None, *self.assistants))
        return max((period for period in periods if period), default=None)


def _set_fields(value: Value) -> dict[str, Any]:
    return {name: getattr(value, name) for name in value.model_fields_set}


class Action(StrEnum):
    """What is done to a conversation."""

    KEEP = "keep"
    ABANDON = "abandon"
    DELETE = "delete"


class Facts(NamedTuple):
    """What the rules look at: the assistant of a conversation, its status, when its newest entry was stored, whether a
    turn is open in it, whether it is held, when it was last read, if that is known, and whether it is temporary."""

    assistant: str | None
    status: Status
    last_activity: datetime
    is_running: bool = False
    is_held: bool = False
    read_at: datetime | None = None
    is_temporary: bool = False


class Verdict(NamedTuple):
    """What is done, by which rule, and when it is or was due (None: never)."""

    action: Action
    reason: str
    due: datetime | None = None


def judge(rules: Retention, facts: Facts, now: datetime) -> Verdict:
    """Return what the rules of time say about a conversation."""
    if facts.is_held:
        return Verdict(Action.KEEP, "held")
    if facts.is_running:
        return Verdict(Action.KEEP, "running")
    accessed = max(facts.last_activity, facts.read_at or facts.last_activity)
    steps = [
        Verdict(action, reason, (accessed if reason == "time_to_live" else facts.last_activity) + wait)
        for action, reason, wait in _steps(rules.periods(facts.assistant), facts.status, facts.is_temporary)
        if wait is not None
    ]
    due = [step for step in steps if step.due is not None and step.due <= now]
    if due:
        # What would have been marked before it was deleted is deleted.
        return min(due, key=lambda step: (step.action is not Action.DELETE, step.due))
    if not steps:
        return Verdict(Action.KEEP, "forever")
    return min(steps, key=lambda step: step.due or now)._replace(action=Action.KEEP)


def _steps(periods: Periods, status: Status, is_temporary: bool) -> Iterator[tuple[Action, str, timedelta | None]]:
    """Return what may come next, by which rule, and how long after the last activity."""
    if status is Status.ACTIVE:
        yield Action.ABANDON, "abandoned_after", periods.abandoned_after
    elif status is Status.COMPLETED:
        yield Action.DELETE, "completed_kept", periods.completed_kept
    yield Action.DELETE, "time_to_live", periods.time_to_live
    if is_temporary:
        yield Action.DELETE, "temporary_kept", periods.temporary_kept
