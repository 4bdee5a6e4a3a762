"""Numbers, counts and limits are read from what people write; an amount that cannot be read is told apart."""

import pytest

from threadkeep_assistants.vocabulary.words import Text


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("500", [500]),
        ("five hundred dollars", [500]),
        ("one hundred and fifty", [150]),
        ("two thousand five hundred", [2500]),
        ("twenty five or two three", [25, 2, 3]),
        ("$1.5k", [1500]),
        ("a 4K TV", [4]),
        ("which one", []),
        ("1,1,1", [111]),
        ("1.200 €, 1 200, 1'200, 1,200", [1200] * 4),
        ("1.234,50 or 4,5 or 4.5", [1234.5, 4.5, 4.5]),
        ("four and a half", [4.5]),
        ("half a grand", [500]),
        ("a third of a grand", [pytest.approx(333.3, abs=0.1)]),
        ("one and two", [2]),
        ("9" * 400, []),
    ],
)
def test_numbers_are_read_in_digits_and_in_words(text: str, numbers: list[float]) -> None:
    assert [number.value for number in Text(text).numbers] == numbers


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("under $500", [("<", 500)]),
        ("budget 500 max", [("<=", 500)]),
        ("<= $500", [("<=", 500)]),
        ("less than five hundred dollars", [("<", 500)]),
        ("my budget is about 500", [("<=", 500)]),
        ("500 dollars or less", [("<=", 500)]),
        ("no more than a hundred", [("<=", 100)]),
        ("at least 65 inch", [(">=", 65)]),
        ("500$ and up", [(">=", 500)]),
        ("more than 2% dividends", [(">", 2)]),
        ("between $300 and $500", [(">=", 300), ("<=", 500)]),
        ("from 300 to 500 dollars", [(">=", 300), ("<=", 500)]),
        ("1,000-1,500", [(">=", 1000), ("<=", 1500)]),
        ("the top 5", []),
    ],
)
def test_limits_are_read_before_and_behind_a_number(text: str, limits: list[tuple[str, float]]) -> None:
    assert [(limit.operator, limit.number.value) for limit in Text(text).limits] == limits


@pytest.mark.parametrize(
    ("text", "limits"),
    [
        ("phone around 400", [(">=", 320), ("<=", 480)]),
        ("~ 250", [(">=", 200), ("<=", 300)]),
        ("under about 500", [("<", 500)]),
        ("tell me about 3 phones", []),
        ("between five and seven hundred", [(">=", 500), ("<=", 700)]),
        ("from 800 to a thousand", [(">=", 800), ("<=", 1000)]),
        ("less than a grand", [("<", 1000)]),
        ("under two fifty", [("<", 250)]),
        ("I have 450 for it", [("<=", 450)]),
        ("make it 300", [("<=", 300)]),
        ("in the 200s", [(">=", 200), ("<=", 299)]),
        ("the mid 300s", [(">=", 330), ("<=", 370)]),
        ("between one and two thousand", [(">=", 1000), ("<=", 2000)]),
        ("between one hundred and two hundred", [(">=", 100), ("<=", 200)]),
        ("1-2k", [(">=", 1000), ("<=", 2000)]),
        ("a couple of hundred", [(">=", 160), ("<=", 240)]),
        ("500ish", [(">=", 400), ("<=", 600)]),
        ("less than half a grand", [("<", 500)]),
        ("at the very most 350", [("<=", 350)]),
        ("at or below 100", [("<=", 100)]),
        ("upwards of 300", [(">=", 300)]),
        ("max. 1 200", [("<=", 1200)]),
        ("it must not set me back more than 60", [("<=", 60)]),
        ("no phones over 500", [("<=", 500)]),
        ("without going over 500", [("<=", 500)]),
    ],
)
def test_limits_are_read_as_people_say_them(text: str, limits: list[tuple[str, float]]) -> None:
    assert [(limit.operator, limit.number.value) for limit in Text(text).limits] == limits


@pytest.mark.parametrize("text", ["500,-", "500 €", "€500", "500 bucks", "a grand", "500 quid"])
def test_money_is_told_by_its_sign_or_its_word(text: str) -> None:
    assert [number.is_money for number in Text(text).numbers] == [True]


def test_a_count_is_no_limit_and_no_price() -> None:
    counts = [
        Text(text).count
        for text in ("top 5 stocks", "give me ten", "show the first two", "show 500 dollars", "5", "the two cheapest")
    ]
    assert counts == [5, 10, 2, None, None, 2]


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        ("twice that price", "twice"),
        ("half the price", "half"),
        ("in the hundreds", "hundreds"),
        ("a four-figure price", "figure"),
        ("30% cheaper", "%"),
        ("no more than half a percent", "half"),
        ("half a grand, two thousand", ""),
        ("2% dividends", ""),
    ],
)
def test_an_amount_that_is_no_number_is_unread(text: str, unread: str) -> None:
    assert Text(text).unread == unread
