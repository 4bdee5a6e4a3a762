"""The rules of retention: nothing too early, nothing forgotten, nothing active deleted without a time to live."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from threadkeep.conversation.clock import LONGEST, period_text
from threadkeep.conversation.facts import Status
from threadkeep.errors import InvalidPeriod
from threadkeep.retention.rules import Action, Facts, Retention, judge

NOW = datetime(2026, 1, 1, tzinfo=UTC)
DEFAULT = Retention()

periods = st.one_of(st.none(), st.integers(1, LONGEST // timedelta(minutes=1)).map(lambda n: timedelta(minutes=n)))
ages = st.timedeltas(timedelta(0), timedelta(days=1500))


@st.composite
def all_rules(draw: st.DrawFn) -> Retention:
    """Any rules that are not refused, with some of their own for one assistant."""
    names = ("abandoned_after", "completed_kept", "time_to_live", "temporary_kept")
    fields: dict[str, Any] = {name: draw(periods) for name in names if draw(st.booleans())}
    own = {name: draw(periods) for name in names if draw(st.booleans())}
    return Retention.model_validate({**fields, **({"assistants": {"shop": own}} if own else {})})


facts = st.builds(
    Facts,
    st.sampled_from([None, "chat", "shop"]),
    st.sampled_from(Status),
    ages.map(lambda age: NOW - age),
    read_at=st.none(),
    is_temporary=st.booleans(),
)


def idle(days: float, status: Status = Status.ACTIVE, assistant: str | None = None) -> Facts:
    """Return what is known of a conversation that nobody used for so long."""
    return Facts(assistant, status, NOW - timedelta(days=days))


@pytest.mark.parametrize(
    ("known", "action", "reason"),
    [
        (idle(29.9), Action.KEEP, "abandoned_after"),
        (idle(30), Action.ABANDON, "abandoned_after"),
        (idle(89.9, Status.COMPLETED), Action.KEEP, "completed_kept"),
        (idle(90, Status.COMPLETED), Action.DELETE, "completed_kept"),
        (idle(3650, Status.ABANDONED), Action.KEEP, "forever"),
        (idle(0.04)._replace(is_temporary=True), Action.KEEP, "temporary_kept"),
        (idle(0.05)._replace(is_temporary=True), Action.DELETE, "temporary_kept"),
        (idle(3650)._replace(is_running=True), Action.KEEP, "running"),
        (idle(3650, Status.COMPLETED)._replace(is_held=True), Action.KEEP, "held"),
    ],
)
def test_by_default_active_ones_are_kept_completed_ones_90_days_and_idle_ones_are_marked(
    known: Facts, action: Action, reason: str
) -> None:
    assert judge(DEFAULT, known, NOW)[:2] == (action, reason)


def test_a_time_to_live_counts_from_the_last_activity_over_both_steps() -> None:
    rules = Retention.model_validate({"abandoned_after": "12h", "time_to_live": "24h"})
    assert judge(rules, idle(0.5), NOW) == (Action.ABANDON, "abandoned_after", NOW)
    assert judge(rules, idle(0.9, Status.ABANDONED), NOW).action is Action.KEEP
    assert judge(rules, idle(1, Status.ABANDONED), NOW) == (Action.DELETE, "time_to_live", NOW)
    assert judge(rules, idle(1, Status.COMPLETED), NOW).action is Action.DELETE


@pytest.mark.parametrize("rule", [{"time_to_live": "24h"}, {"abandoned_after": "12h", "time_to_live": "24h"}])
@pytest.mark.parametrize("status", Status)
def test_a_time_to_live_deletes_in_one_step_whatever_the_status_is(rule: dict[str, str], status: Status) -> None:
    rules = Retention.model_validate(rule)
    assert judge(rules, idle(1, status), NOW)[:2] == (Action.DELETE, "time_to_live")
    assert judge(rules, idle(100, status), NOW).action is Action.DELETE


def test_reading_is_access_for_a_time_to_live_and_no_activity() -> None:
    rules = Retention.model_validate({"abandoned_after": "12h", "time_to_live": "24h"})
    read = idle(3)._replace(read_at=NOW - timedelta(hours=23))
    assert judge(rules, read, NOW).action is Action.ABANDON
    assert judge(rules, read._replace(status=Status.ABANDONED), NOW).due == NOW + timedelta(hours=1)


def test_an_assistant_may_have_rules_of_its_own_and_the_rest_is_as_for_all() -> None:
    rules = Retention.model_validate({"completed_kept": "10d", "assistants": {"shop": {"abandoned_after": "5d"}}})
    assert judge(rules, idle(5, assistant="shop"), NOW).action is Action.ABANDON
    assert judge(rules, idle(5, assistant="chat"), NOW).action is Action.KEEP
    assert judge(rules, idle(10, Status.COMPLETED, "shop"), NOW).action is Action.DELETE


@given(all_rules(), facts)
def test_only_a_time_to_live_deletes_an_active_conversation_or_that_it_was_temporary(
    rules: Retention, known: Facts
) -> None:
    action, reason, _ = judge(rules, known, NOW)
    may = {"time_to_live", "temporary_kept"} if known.is_temporary else {"time_to_live"}
    assert known.status is not Status.ACTIVE or action is not Action.DELETE or reason in may


@given(all_rules(), facts)
def test_nothing_is_done_before_it_is_due_and_everything_from_then_on(rules: Retention, known: Facts) -> None:
    verdict = judge(rules, known, NOW)
    if verdict.due is None:
        assert verdict.action is Action.KEEP
        assert judge(rules, known, NOW + LONGEST).action is Action.KEEP
    else:
        assert (verdict.action is not Action.KEEP) == (verdict.due <= NOW)
        assert judge(rules, known, verdict.due).action is not Action.KEEP
        before = judge(rules, known, verdict.due - timedelta(microseconds=1)).action
        assert before is Action.KEEP or (before, verdict.action) == (Action.ABANDON, Action.DELETE)


@given(all_rules(), facts)
def test_what_is_held_or_runs_is_kept_whatever_the_rules_are(rules: Retention, known: Facts) -> None:
    for kept in (known._replace(is_held=True), known._replace(is_running=True)):
        assert judge(rules, kept, NOW + LONGEST).action is Action.KEEP


@given(all_rules(), facts)
def test_nothing_is_due_earlier_than_the_shortest_period(rules: Retention, known: Facts) -> None:
    shortest, due = rules.shortest(), judge(rules, known, NOW).due
    if due is not None:
        assert shortest is not None
        assert due - known.last_activity >= shortest


@given(all_rules())
def test_rules_come_back_from_their_json(rules: Retention) -> None:
    assert Retention.model_validate_json(rules.model_dump_json(exclude_unset=True)) == rules


@pytest.mark.parametrize("length", ["-1d", "0d", "99999d", "soon", 90, 1.5, True, []])
@pytest.mark.parametrize("name", ["abandoned_after", "completed_kept", "time_to_live"])
def test_negative_and_absurd_periods_are_refused(name: str, length: object) -> None:
    for rule in ({name: length}, {"assistants": {"shop": {name: length}}}):
        with pytest.raises(InvalidPeriod):
            Retention.model_validate(rule)


@pytest.mark.parametrize("rule", [{"active_kept": "30d"}, {"user_bytes": -1}, {"user_bytes": 2**63}, "[", "7", [1]])
def test_what_is_no_rule_is_refused(rule: object) -> None:
    with pytest.raises(ValidationError):
        Retention.model_validate(rule)


def test_rules_can_be_written_as_json_in_a_variable() -> None:
    assert Retention.model_validate('{"completed_kept": "forever"}').completed_kept is None


def test_only_what_is_set_takes_the_place_of_other_rules() -> None:
    base = Retention.model_validate({"completed_kept": "10d", "user_bytes": 5})
    merged = base.merged(Retention.model_validate({"completed_kept": "forever"}))
    assert (merged.completed_kept, merged.user_bytes, merged.abandoned_after) == (None, 5, timedelta(days=30))
    assert base.merged(None) is base
    assert json.loads(merged.model_dump_json())["completed_kept"] == "forever"
    assert period_text(merged.abandoned_after or timedelta(0)) == "30d"
