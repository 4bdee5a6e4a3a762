"""The guard of a rewrite."""

import pytest

from threadkeep.retrieval.rewriting_guard import cleaned, flaw

SAID = ["Show me phones", "The Samsung Galaxy A54 costs $449 and is waterproof."]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('"Samsung Galaxy A54 price"', "Samsung Galaxy A54 price"),
        ("Query: Samsung price\nThat is the query.", "Samsung price"),
        ("**Standalone question:** Samsung  price", "Samsung price"),
        ("\n\n  \n", ""),
        ("a\x00b", "a b"),
    ],
)
def test_the_query_is_taken_out_of_the_answer(text: str, expected: str) -> None:
    assert cleaned(text) == expected


@pytest.mark.parametrize(
    "query", ["How much does the Samsung Galaxy A54 cost?", "Compare phones", "Is the Galaxy waterproofed?"]
)
def test_a_query_of_known_words_is_taken(query: str) -> None:
    assert flaw(query, "How much is it?", SAID) is None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("", "it was empty"),
        ("phones " * 200, "it was too long"),
        ("I'm sorry, I cannot help with that.", "it was no query"),
        ("how is it?", "it named nothing"),
        ("Nokia 3310 price", "it had words that nobody said: 3310, nokia, price"),
    ],
)
def test_anything_else_is_not_taken(query: str, expected: str) -> None:
    assert flaw(query, "How much is it?", SAID) == expected
