"""The guard of a rewrite."""

import json

import pytest

from bench.followup_cases import OWN
from threadkeep.retrieval.model_rewriter import cleaned, flaw

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
    "query",
    [
        "Which phones are waterproof besides the Samsung Galaxy A54?",
        "What is the price of the Samsung Galaxy A54?",
        "Is the Samsung Galaxy A54 good for swimming?",
    ],
)
def test_a_synonym_is_not_nonsense(query: str) -> None:
    assert flaw(query, "How much is it?", SAID) is None


def test_a_word_counts_as_said_however_long_ago_it_was() -> None:
    said = ["Does Zanzibar export vanilla?", *["Anything else?", "Yes."] * 50]
    assert flaw("Vanilla of Zanzibar", "And there?", said) is None
    assert flaw("Vanilla of Madagascar", "And there?", said[1:]) is not None


def test_what_belongs_to_another_conversation_is_refused_nearly_always() -> None:
    cases = [json.loads(line) for line in (OWN / "conversations.jsonl").read_text(encoding="utf-8").splitlines()]
    foreign = [
        flaw(other["history"][0]["content"], case["question"], [message["content"] for message in case["history"]])
        for case in cases
        for other in cases
        if case["domain"] != other["domain"] and case["history"] and other["history"]
    ]
    assert len(foreign) > 1000
    assert sum(wrong is not None for wrong in foreign) / len(foreign) >= 0.95


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
