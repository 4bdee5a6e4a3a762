"""What words mean, given what was shown."""

import pytest

from threadkeep_assistants.market.companies import Company, market
from threadkeep_assistants.market.reference import companies_meant, list_in
from threadkeep_assistants.market.shown import Kind, Past, Shown


def companies(*tickers: str) -> tuple[Company, ...]:
    return tuple(market().companies[ticker] for ticker in tickers)


CUTS = Shown(Kind.LIST, companies("DHI", "LEN", "NEE", "PLD", "AMT"))
BANKS = Shown(Kind.LIST, companies("JPM", "C", "PNC"))
LENNAR = Shown(Kind.COMPANY, companies("LEN"))
PAIR = Shown(Kind.PAIR, companies("DHI", "AAPL"))


def meant(text: str, *shown: Shown) -> list[str]:
    return [each.company.ticker for each in companies_meant(text, Past(shown))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("tell me more about the top one", ["DHI"]),
        ("the second one", ["LEN"]),
        ("2nd", ["LEN"]),
        ("#3", ["NEE"]),
        ("number four", ["PLD"]),
        ("the last one", ["AMT"]),
        ("the bottom of the list", []),
        ("the last one in the list", ["AMT"]),
        ("the next one", ["LEN"]),
        ("it", ["DHI"]),
        ("compare the first two", ["DHI", "LEN"]),
        ("the last two", ["PLD", "AMT"]),
        ("the second and the fourth", ["LEN", "PLD"]),
        ("both", ["DHI", "LEN"]),
        ("the ninth one", []),
        ("the first quarter", []),
        ("what is a margin", []),
    ],
)
def test_places_of_the_newest_list(text: str, expected: list[str]) -> None:
    assert meant(text, BANKS, CUTS) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("its margins", ["LEN"]),
        ("the next one", ["NEE"]),
        ("the first one", ["DHI"]),
        ("it and the last one", ["LEN", "AMT"]),
    ],
)
def test_after_a_company_it_is_that_company(text: str, expected: list[str]) -> None:
    assert meant(text, CUTS, LENNAR) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("it", ["DHI"]),
        ("the latter", ["AAPL"]),
        ("the former", ["DHI"]),
        ("the other one", ["AAPL"]),
        ("both", ["DHI", "AAPL"]),
    ],
)
def test_after_a_comparison_it_is_the_left_one(text: str, expected: list[str]) -> None:
    assert meant(text, CUTS, PAIR) == expected


def test_places_are_those_of_a_pair_where_there_is_no_list() -> None:
    assert meant("the second one", PAIR) == ["AAPL"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("no, the first list", CUTS),
        ("the second list", BANKS),
        ("the previous list", CUTS),
        ("the original ranking", CUTS),
        ("the last list", BANKS),
        ("the list again", BANKS),
        ("the third list", None),
    ],
)
def test_lists_are_counted_in_the_order_in_which_they_were_shown(text: str, expected: Shown | None) -> None:
    assert list_in(text, Past((CUTS, LENNAR, BANKS))) == expected


def test_a_list_that_was_shown_again_counts_once() -> None:
    again = Past((CUTS, BANKS, CUTS))
    assert list_in("the second list", again) == BANKS
    assert list_in("the previous list", again) == BANKS


def test_a_place_can_be_in_another_list_than_the_newest() -> None:
    assert meant("the second one in the first list", CUTS, BANKS) == ["LEN"]


def test_without_a_past_nothing_is_meant() -> None:
    assert meant("compare it to the second one of the first list") == []
