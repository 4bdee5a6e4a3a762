"""How queries fall into words: without those that every text has, unless there is nothing else."""

import pytest

from threadkeep.retrieval.terms import MAX_TERMS, indexed, query_terms


@pytest.mark.parametrize(
    ("text", "terms"),
    [
        ("What is the budget of CC-1001?", ["budget", "cc", "1001"]),
        ("Was kostet die Kamera?", ["kostet", "kamera"]),
        ("How did the soldiers of the war die?", ["soldiers", "war", "die"]),
        ("Café crème", ["cafe", "creme"]),
        ("", []),
        ("?!… \x00 ---", []),
    ],
)
def test_stop_words_of_the_language_of_the_query_are_left_out(text: str, terms: list[str]) -> None:
    assert query_terms([text]) == terms


def test_a_query_of_stop_words_alone_keeps_them() -> None:
    assert query_terms(["to be or not to be"]) == ["to", "be", "or", "not"]


def test_a_word_is_looked_for_once() -> None:
    assert query_terms(["red shoes", "Shoes RED blue"]) == ["red", "shoes", "blue"]


def test_a_page_that_was_pasted_is_cut_short() -> None:
    assert len(query_terms([" ".join(f"word{number}" for number in range(100_000))])) == MAX_TERMS


def test_scripts_without_spaces_are_indexed_by_pairs() -> None:
    assert indexed("東京都 is big") == "東京 京都 都 is big"


def test_what_is_indexed_holds_nothing_that_could_be_an_operator() -> None:
    assert indexed('a" OR b* NEAR(c) ^d -e:f \x00') == "a or b near c d e f"
