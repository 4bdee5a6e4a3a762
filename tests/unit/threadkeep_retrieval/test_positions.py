"""What "the second one" stands for."""

import pytest

from threadkeep_retrieval.positions import referred
from threadkeep_retrieval.shown_lists import Item, ShownList


def items(*names: str) -> ShownList:
    return tuple(Item(names=(name,), numbers={}) for name in names)


STOCKS = items("JPM", "BAC", "AAPL")
PHONES = (
    Item(names=("Samsung Galaxy A54",), numbers={"price": 449.0}),
    Item(names=("Google Pixel 8a",), numbers={"price": 499.0}),
    Item(names=("Motorola Edge 40",), numbers={"price": 399.0}),
)
SHOWN = [[STOCKS], [PHONES, items("Nokia X30", "Fairphone 5")]]


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("the second one", ["Google Pixel 8a"]),
        ("And the last one?", ["Motorola Edge 40"]),
        ("tell me about the top one", ["Samsung Galaxy A54"]),
        ("What does number 3 cost?", ["Motorola Edge 40"]),
        ("#2", ["Google Pixel 8a"]),
        ("1", ["Samsung Galaxy A54"]),
        ("compare the first two", ["Samsung Galaxy A54", "Google Pixel 8a"]),
        ("both", ["Samsung Galaxy A54", "Google Pixel 8a"]),
        ("the cheaper one", ["Motorola Edge 40"]),
        ("Which is the most expensive?", ["Google Pixel 8a"]),
        ("tell me more about the Samsung one", ["Samsung Galaxy A54"]),
        ("Is the Fairphone repairable?", ["Fairphone 5"]),
        ("no, the first list", ["JPM", "BAC", "AAPL"]),
        ("the second one in the first list", ["BAC"]),
        ("Wie teuer ist der zweite?", ["Google Pixel 8a"]),
        ("le premier", ["Samsung Galaxy A54"]),
        ("first one, is it there?", ["Samsung Galaxy A54"]),
        ("the second cheapest", ["Samsung Galaxy A54"]),
        ("the cheapest but one", ["Samsung Galaxy A54"]),
        ("Which is the second most expensive?", ["Samsung Galaxy A54"]),
        ("all but the first", ["Google Pixel 8a", "Motorola Edge 40"]),
        ("everything except the last two", ["Samsung Galaxy A54"]),
        ("anything cheaper than the second one?", ["Google Pixel 8a"]),
    ],
)
def test_a_reference_is_resolved_in_the_newest_list_that_fits(question: str, expected: list[str]) -> None:
    found = referred(question, SHOWN)
    assert found is not None
    assert [item.names[0] for item in found.items] == expected


@pytest.mark.parametrize(
    "question",
    [
        "What was the first artificial satellite?",
        "Which are rated above 40?",
        "the ninth one",
        "the fifth list",
        "Why?",
        "",
        "\x00",
        "#999",
        "x" * 100_000,
    ],
)
def test_a_question_that_names_no_place_refers_to_nothing(question: str) -> None:
    assert referred(question, SHOWN) is None


def test_without_lists_nothing_is_referred_to() -> None:
    assert referred("the second one", []) is None


def test_the_names_stand_in_the_question_where_the_places_stood() -> None:
    asked = (
        "Is the first better than the second?",
        "What does the latter cost?",
        "the cheaper one?",
        "no, the first list",
    )
    texts = [found.text for question in asked if (found := referred(question, [[items("Duke", "NextEra")]]))]
    assert texts == ["Is Duke better than NextEra?", "What does NextEra cost?", "no, Duke, NextEra"]
    found = referred("the cheaper one?", [[PHONES]])
    assert found is not None
    assert found.text == "the cheaper one: Motorola Edge 40"


def test_what_was_not_chosen_is_told_as_well() -> None:
    found = referred("the second one", [[STOCKS]])
    assert found is not None
    assert [item.names[0] for item in found.others] == ["JPM", "AAPL"]


def test_a_sentence_in_a_list_is_no_name() -> None:
    steps = items(
        "Open the settings and look for the entry that says network", "Restart the whole device and then wait a bit"
    )
    assert referred("Is my network slow?", [[steps]]) is None


def test_a_word_that_every_item_has_chooses_none() -> None:
    assert referred("Is Samsung good?", [[items("Samsung A", "Samsung B")]]) is None


def test_what_is_left_out_is_not_looked_for() -> None:
    found = referred("besides the second one, which is good?", SHOWN)
    assert found is not None
    assert found.text == "which is good: Samsung Galaxy A54, Motorola Edge 40"
    assert [item.names[0] for item in found.others] == ["Google Pixel 8a"]
