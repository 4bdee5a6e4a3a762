"""Words, numbers, limits and exclusions are read from what people write, and fast, whatever they write."""

import pytest

from tests.unit.threadkeep_assistants.long_texts import LONG, check_growth
from threadkeep_assistants.vocabulary.references import Shown, references
from threadkeep_assistants.vocabulary.words import Text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What's Apple’s margin?", "what is apple margin"),
        ("it isn't, can't, won't", "it is not can not will not"),
        ("AT&T in Q3 2024", "at&t in q3 2024"),
        ("order A1002 and #3", "order a1002 and 3"),
        ("300-500 or 1,500", "300 to 500 or 1500"),
        ("", ""),
    ],
)
def test_a_text_becomes_plain_words(text: str, words: str) -> None:
    assert Text(text).line.strip() == words


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
    ("text", "is_excluded"),
    [
        ("no sony or bose", [True, True]),
        ("sony but not bose", [False, True]),
        ("anything but sony", [True]),
        ("everything except the bose", [True]),
        ("not only sony", [False]),
        ("it isn't from sony", [True]),
    ],
)
def test_what_is_not_wanted_is_told_from_what_is(text: str, is_excluded: list[bool]) -> None:
    read = Text(text)
    names = [(place, place + 1) for place, word in enumerate(read.words) if word.text in ("sony", "bose")]
    assert read.excluded(names) == is_excluded


def test_a_count_is_no_limit_and_no_price() -> None:
    counts = [
        Text(text).count for text in ("top 5 stocks", "give me ten", "show the first two", "show 500 dollars", "5")
    ]
    assert counts == [5, 10, 2, None, None]


@pytest.mark.parametrize("kind", LONG)
def test_the_time_grows_no_faster_than_the_text(kind: str) -> None:
    def read(question: str) -> None:
        text = Text(question)
        _ = (text.limits, text.count, text.has("a b|c*"), text.places("a|first list"))
        _ = text.excluded([(place, place + 1) for place in range(len(text.words))]), references(text)
        Shown((("a", "b"), ("c",))).meant(text)

    check_growth(read, LONG[kind])


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
    ],
)
def test_limits_are_read_as_people_say_them(text: str, limits: list[tuple[str, float]]) -> None:
    assert [(limit.operator, limit.number.value) for limit in Text(text).limits] == limits
