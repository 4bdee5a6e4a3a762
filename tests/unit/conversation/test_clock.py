"""Periods as text: what is written comes back, and what is no period is refused."""

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.conversation.clock import LONGEST, period, period_text
from threadkeep.errors import InvalidPeriod


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
