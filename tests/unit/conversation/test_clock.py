"""Periods as text: what is written comes back, and what is no period is refused."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.conversation.clock import LONGEST, moment_of, period, period_text
from threadkeep.errors import InvalidInput, InvalidPeriod


@pytest.mark.parametrize(
    ("text", "length"),
    [("90d", timedelta(days=90)), ("12h", timedelta(hours=12)), ("30m", timedelta(minutes=30)), ("36500d", LONGEST)],
)
def test_a_text_names_a_period(text: str, length: timedelta) -> None:
    assert period(text) == length


@pytest.mark.parametrize(
    "text",
    ["", "d", "0d", "-1d", "1.5d", "36501d", "99999999999d", "90", "90 days", "٣d", "1w", 90, None, True, ["1d"]],
)
def test_what_is_no_period_is_refused(text: object) -> None:
    with pytest.raises(InvalidPeriod):
        period(text)


@given(st.integers(1, LONGEST // timedelta(minutes=1)))
def test_a_period_comes_back_from_its_text(minutes: int) -> None:
    length = timedelta(minutes=minutes)
    assert period(period_text(length)) == length


NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("+120d", NOW + timedelta(days=120)),
        (" 12h", NOW + timedelta(hours=12)),
        ("2027-03-01", datetime(2027, 3, 1, tzinfo=UTC)),
        ("2027-03-01T12:00:00+02:00", datetime(2027, 3, 1, 10, tzinfo=UTC)),
    ],
)
def test_a_text_names_a_moment(text: str, moment: datetime) -> None:
    assert moment_of(text, NOW) == moment


@pytest.mark.parametrize("text", ["", "+", "-5d", "2027-13-01", "tomorrow", "0001-01-01T00:00:00+10:00"])
def test_what_is_no_moment_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        moment_of(text, NOW)
