"""Names of companies and sectors are found in what people write, and plain words are not taken for them."""

import pytest

from threadkeep_assistants.market.companies import (
    close_to,
    companies_in,
    company_of,
    sectors_in,
)
from threadkeep_assistants.vocabulary.words import Text


def tickers(text: str) -> list[str]:
    return [company.ticker for _, company in companies_in(Text(text))]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Compare AAPL to msft", ["AAPL", "MSFT"]),
        ("apple, Microsoft and NVIDIA", ["AAPL", "MSFT", "NVDA"]),
        ("Apple's margins against Nvidia’s", ["AAPL", "NVDA"]),
        ("AT&T, P&G and J&J", ["T", "PG", "JNJ"]),
        ("J.P. Morgan or Wells Fargo?", ["JPM", "WFC"]),
        ("The Home Depot vs. Lowe's.", ["HD", "LOW"]),
        ("$COST and $v", ["COST", "V"]),
        ("AAPL and Apple", ["AAPL"]),
        ("General Motors or Ford", ["GM", "F"]),
    ],
)
def test_companies_are_found_in_order(text: str, expected: list[str]) -> None:
    assert tickers(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "what does it cost now, and how low can it go?",
        "so, which version applies to being lower?",
        "the fed lowers rates for all of us",
        "HOW LOW CAN IT GO NOW",
        "a cat and a deer",
        "those cases cause the lowest lines",
        "",
    ],
)
def test_plain_words_are_no_companies(text: str) -> None:
    assert tickers(text) == []


def test_a_ticker_that_is_a_word_counts_in_capitals() -> None:
    assert tickers("what about COST?") == ["COST"]
    assert tickers("is NOW a good one?") == ["NOW"]


def test_exact_names_are_known_in_any_case() -> None:
    assert [getattr(company_of(text), "ticker", None) for text in ("aapl", " Apple ", "$aapl", "Aple")] == [
        *["AAPL"] * 3,
        None,
    ]


def test_close_names_are_offered() -> None:
    assert close_to("Microsft")[0].ticker == "MSFT"
    assert close_to("zzzzzz") == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("same for banks", "banks"),
        ("any REITs?", "reits"),
        ("real estate please", "reits"),
        ("chip stocks", "semiconductors"),
        ("home builders", "homebuilders"),
        ("oil and gas", "energy"),
        ("nothing here", None),
    ],
)
def test_sectors_are_found_by_their_other_names(text: str, expected: str | None) -> None:
    assert [sector.key for _, sector in sectors_in(Text(text))] == ([expected] if expected else [])
