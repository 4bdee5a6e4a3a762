"""Dates that a text names, in many languages."""

import pytest

from threadkeep.text.dates import YEARS, named_dates


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("What did I say in May?", ["202605"]),
        ("And on the 7th of May?", ["20260507"]),
        ("on 7 May 2023", ["20230507"]),
        ("on May 7th, 2023", ["20230507"]),
        ("el 7 de mayo de 2023", ["20230507"]),
        ("am 3. März", ["20260303"]),
        ("1er août", ["20260801"]),
        ("в январе", ["202601"]),
        ("2023年5月7日", ["20230507"]),
        ("5월 7일에", ["20260507"]),
        ("في مايو 2023", ["202305"]),
        ("मई में", ["202605"]),
        ("2023-05-07 or 2024-06", ["20230507", "202406"]),
        ("from June to August", ["202606", "202608"]),
    ],
)
def test_a_date_is_found_however_it_is_written(text: str, found: list[str]) -> None:
    assert [each[0] for each in named_dates(text, 2026)] == found


def test_a_date_without_a_year_may_be_of_each_year_until_now() -> None:
    (found,) = named_dates("in May", 2026)
    assert found[1] == "202505"
    assert len(found) == YEARS
    assert named_dates("in May 2023", 2026) == [["202305"]]


@pytest.mark.parametrize("text", ["", "May I ask?", "you may go", "they march on", "the mayor", "chapter 2023"])
def test_a_word_that_looks_like_a_month_is_none(text: str) -> None:
    assert named_dates(text, 2026) == []
