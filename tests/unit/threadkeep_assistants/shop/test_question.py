"""What questions mean before a list that was shown: choices, comparisons, exclusions, and what is not understood."""

import pytest

from threadkeep.conversation.blocks import Citation
from threadkeep.conversation.message import Message, Role
from threadkeep_assistants.shop.catalogue import products
from threadkeep_assistants.shop.question import Meaning, Question, meaning

SHOWN = ("P024", "P028", "P027", "P025", "P021")
"""Phones at 419, 499, 479, 439 and 349 dollars, rated 4.5, 4.3, 4.8, 4.0 and 4.8."""


def meant(question: str, shown: tuple[str, ...] = SHOWN) -> Meaning:
    cited = [Citation(source=id, title=products()[id].name) for id in shown]  # type: ignore[call-arg]
    history = [
        Message(role=Role.USER, content="Which phones are under $500?"),
        Message(role=Role.ASSISTANT, content="These.", blocks=tuple(cited)),
        Message(role=Role.USER, content=question),
    ]
    return meaning(Question.of(history if shown else history[2:]))


@pytest.mark.parametrize(
    ("question", "chosen"),
    [
        ("the cheapest but one", ["P024"]),
        ("which of these are cheaper than the second one?", ["P024", "P027", "P025", "P021"]),
        ("which of those phones is the cheapest?", ["P021"]),
        ("which of them aren't from Samsung?", ["P024", "P027", "P025", "P021"]),
        ("all except the first", ["P028", "P027", "P025", "P021"]),
        ("is the third one cheaper than the first?", ["P027", "P024"]),
        ("the one for $439", ["P025"]),
        ("the one for $199", []),
        ("which is the third cheapest of them?", ["P025"]),
    ],
)
def test_those_of_the_list_are_chosen(question: str, chosen: list[str]) -> None:
    found = meant(question)
    assert [each.id for each in found.products] == chosen
    assert found.how != "unclear"


@pytest.mark.parametrize(
    ("question", "wished"),
    [
        ("anything cheaper than the second one?", "phone, price < 499"),
        ("any that are better rated than the first one?", "phone, price < 500, rating > 4.5"),
        ("something cheaper than the Sony one", "phone, price < 439"),
        ("anything cheaper than the Samsung Pixelia Plus 6?", "phone, price < 499"),
        ("are there dearer ones than the most expensive of these?", "phone, price > 499"),
        ("what about in the 300s?", "phone, price >= 300, price <= 399"),
        ("anything else but Nokia", "phone, not Nokia, price < 500"),
        ("show me the two cheapest", "phone, price < 500, the lowest price first"),
    ],
)
def test_a_search_is_measured_by_what_was_shown(question: str, wished: str) -> None:
    found = meant(question)
    assert (found.how, found.wishes.text, found.products) == ("search", wished, ())


@pytest.mark.parametrize(
    "question",
    [
        "neither of these",
        "none of them",
        "twice that price",
        "half the price",
        "30% cheaper please",
        "ok, say 550",
        "something cheaper than the ninth one",
        "the one in the middle",
        "three more",
    ],
)
def test_what_is_not_understood_is_unclear_and_never_a_list(question: str) -> None:
    found = meant(question)
    assert (found.how, found.products) == ("unclear", ())


@pytest.mark.parametrize(
    "question", ["my wallet allows 900 for a laptop", "tvs at least 65 inch", "phones south of 100"]
)
def test_an_amount_that_is_not_understood_is_no_search_without_it(question: str) -> None:
    found = meant(question, ())
    assert found.how == "unclear"
    assert found.wishes.kind
