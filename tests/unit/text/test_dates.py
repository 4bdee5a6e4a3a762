"""Dates that a text names, in many languages."""

import pytest

from threadkeep.text.dates import named_dates


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What did I say in May?", ["*-05-*"]),
        ("on 7 May 2023", ["2023-05-07"]),
        ("on May 7th, 2023", ["2023-05-07"]),
        ("el 7 de mayo de 2023", ["2023-05-07"]),
        ("am 3. März", ["*-03-03"]),
        ("1er août", ["*-08-01"]),
        ("в январе", ["*-01-*"]),
        ("2023年5月7日", ["2023-05-07"]),
        ("5월", ["*-05-*"]),
        ("2023-05-07 or 2024-06", ["2023-05-07*", "2024-06*"]),
        ("from June to August", ["*-06-*", "*-08-*"]),
    ],
)
def test_a_date_is_found_however_it_is_written(text: str, found: list[str]) -> None:
    assert named_dates(text) == found


@pytest.mark.parametrize("text", ["", "May I ask?", "you may go", "they march on", "the mayor", "chapter 2023"])
def test_a_word_that_looks_like_a_month_is_none(text: str) -> None:
    assert named_dates(text) == []
