"""What people wish for becomes filters: a kind, a brand, a price."""

import pytest

from threadkeep.assistants.shop.wishes import filters, kind_in
from threadkeep.conversation.message import Message, Role
from threadkeep.retrieval.base import Filter

PHONE = Filter("kind", "=", "phone")


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("phones under $500", (PHONE, Filter("price", "<", 500))),
        ("a smartphone for less than 300 dollars", (PHONE, Filter("price", "<", 300))),
        ("mobiles up to €250", (PHONE, Filter("price", "<", 250))),
        ("Samsung phones", (PHONE, Filter("brand", "=", "Samsung"))),
        ("a phone but not Apple", (PHONE, Filter("brand", "!=", "Apple"))),
        ("laptops between 1,000 and 1,500", (
            Filter("kind", "=", "laptop"), Filter("price", ">=", 1000), Filter("price", "<=", 1500)
        )),
        ("TVs over 1000", (Filter("kind", "=", "television"), Filter("price", ">", 1000))),
        ("phones under 6 inch", (PHONE,)),
        ("something nice", ()),
        ("phones or tablets", ()),
        ("Sony or Bose headphones", (Filter("kind", "=", "headphones"),)),
    ],
)  # fmt: skip
def test_words_become_filters(question: str, wanted: tuple[Filter, ...]) -> None:
    assert filters(question, ()) == wanted


def test_a_follow_up_keeps_what_was_wished_for_before() -> None:
    history = [Message(role=Role.USER, content="phones under $500"), Message(role=Role.ASSISTANT, content="Five.")]
    assert filters("any from Sony?", history, ["phones"]) == (
        PHONE,
        Filter("brand", "=", "Sony"),
        Filter("price", "<", 500),
    )
    assert filters("and under 300?", history, ["phones"]) == (PHONE, Filter("price", "<", 300))


def test_a_question_that_stands_alone_keeps_nothing() -> None:
    history = [Message(role=Role.USER, content="phones under $500")]
    assert filters("coffee machines", history) == (Filter("kind", "=", "coffee machine"),)


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("watches", "watch"),
        ("a vacuum", "vacuum cleaner"),
        ("watchful", None),
        ("my earbuds", "headphones"),
        ("", None),
    ],
)
def test_a_kind_is_told_by_its_names(text: str, kind: str | None) -> None:
    assert kind_in(text) == kind
