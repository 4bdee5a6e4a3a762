"""What people wish for becomes filters and an order: a kind, brands, limits."""

from dataclasses import replace

import pytest

from threadkeep_assistants.shop.wishes import Order, wishes_in
from threadkeep_assistants.vocabulary.words import Text
from threadkeep_retrieval.base import Filter

PHONE = Filter("kind", "=", "phone")


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("phones under $500", (PHONE, Filter("price", "<", 500))),
        ("a smartphone for less than 300 dollars", (PHONE, Filter("price", "<", 300))),
        ("mobiles up to €250", (PHONE, Filter("price", "<=", 250))),
        ("Welche Handys kosten unter 500 Euro?", (PHONE, Filter("price", "<", 500))),
        ("¿qué teléfonos cuestan menos de 500 dólares?", (PHONE, Filter("price", "<", 500))),
        ("Samsung phones", (PHONE, Filter("brand", "=", "Samsung"))),
        ("a phone but not Apple", (PHONE, Filter("brand", "!=", "Apple"))),
        ("laptops between 1,000 and 1,500", (
            Filter("kind", "=", "laptop"), Filter("price", ">=", 1000), Filter("price", "<=", 1500)
        )),
        ("TVs over 1000", (Filter("kind", "=", "television"), Filter("price", ">", 1000))),
        ("phones under 6 inch", (PHONE,)),
        ("phones with rating above 4.5", (PHONE, Filter("rating", ">", 4.5))),
        ("a phone with 5G and 256gb storage", (PHONE,)),
        ("a laptop with a big screen", (Filter("kind", "=", "laptop"),)),
        ("something nice", ()),
        ("phones or tablets", ()),
    ],
)  # fmt: skip
def test_words_become_filters(question: str, wanted: tuple[Filter, ...]) -> None:
    assert wishes_in(Text(question)).where == wanted


def test_one_of_two_brands_is_none_of_the_others() -> None:
    where = wishes_in(Text("Sony or Bose headphones")).where
    refused = {limit.value for limit in where if (limit.field, limit.operator) == ("brand", "!=")}
    assert "Apple" in refused
    assert refused.isdisjoint({"Sony", "Bose"})


@pytest.mark.parametrize(
    ("question", "kind", "order"),
    [
        ("cheapest laptop", None, Order("price", False, "most")),
        ("most expensive laptop", None, Order("price", True, "most")),
        ("something cheaper", "phone", Order("price", False, "more")),
        ("which have a good camera?", "phone", None),
        ("which is the best rated?", "television", Order("rating", True, "most")),
        ("highest rated first", "phone", Order("rating", True, "plain")),
        ("phones sorted by price", None, Order("price", False, "plain")),
        ("how long does the battery last?", "phone", None),
        ("and the price?", "phone", None),
        ("is it good?", "phone", None),
    ],
)
def test_words_become_an_order(question: str, kind: str | None, order: Order | None) -> None:
    found = wishes_in(Text(question), kind).order
    assert (replace(found, at=0) if found else None) == order


def test_a_follow_up_adds_to_the_wishes_before_and_replaces_what_both_speak_of() -> None:
    before = wishes_in(Text("Sony phones under $500"))
    assert before.refined(wishes_in(Text("and under 300?"), "phone")).text == "phone, Sony, price < 300"
    assert before.refined(wishes_in(Text("from Nokia?"), "phone")).text == "phone, Nokia, price < 500"
