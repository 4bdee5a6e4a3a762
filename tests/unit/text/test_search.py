"""Ranking and snippets: what a search finds, before any index."""

import re

from hypothesis import given
from hypothesis import strategies as st

from threadkeep.conversation.tree import Run
from threadkeep.errors import InvalidSearch
from threadkeep.text.query import Query
from threadkeep.text.search import RELATED, rank, relate
from threadkeep.text.words import MARK, words

scripts = st.text(st.characters(categories=["L", "N", "M", "P", "Z", "S", "Cc"]), max_size=60)
_OPERATORS = re.compile('[":-]')
TO_7 = [Run(parent=0, first=1, last=7)]
TO_999 = [Run(parent=0, first=1, last=999)]


def related(found: list[list[int]], path: list[Run], limit: int, **marked: list[int]) -> dict[int, float]:
    forms = [*([f"word{place}"] for place in range(len(found))), *([MARK + mark.strip("_")] for mark in marked)]
    return relate(forms, [*found, *marked.values()], path, limit)


@given(scripts)
def test_a_text_matches_a_search_for_itself(text: str) -> None:
    try:
        query = Query(_OPERATORS.sub(" ", text))
    except InvalidSearch:
        return
    found = words(text)
    assert set(query.required) <= found
    assert query.prefix is None or any(word.startswith(query.prefix) for word in found)
    (hit,) = rank(query, [text])
    assert hit is not None


@given(scripts)
def test_the_highlights_of_a_snippet_lie_in_it_and_do_not_overlap(text: str) -> None:
    try:
        query = Query(_OPERATORS.sub(" ", text))
    except InvalidSearch:
        return
    (hit,) = rank(query, [text])
    assert hit is not None
    end = 0
    for low, high in hit.highlights:
        assert end <= low < high <= len(hit.snippet)
        end = high
    assert hit.highlights


def test_a_phrase_must_stand_together_in_order() -> None:
    texts = ["quick brown fox", "brown quick fox", "quick, Brown!", "quick light brown"]
    assert [hit is not None for hit in rank(Query('"quick brown"'), texts)] == [True, False, True, False]


def test_a_phrase_of_a_dense_script_must_stand_together() -> None:
    texts = ["東京大学に行く", "京東大学", "東京と大学"]
    assert [hit is not None for hit in rank(Query('"東京大学"'), texts)] == [True, False, False]


def _score(query: str, text: str, *others: str) -> float:
    hit = rank(Query(query), [text, *others])[0]
    assert hit is not None
    return hit.score


def test_a_rare_word_counts_more_than_a_common_one() -> None:
    others = ["common"] * 10
    assert _score("rare common ", "rare", *others) > _score("rare common ", "common", *others, "rare")


def test_a_word_said_more_often_counts_more() -> None:
    assert _score("otter ", "otter otter otter stone") > _score("otter ", "otter stone stone stone")


def test_a_short_text_counts_more_than_a_long_one_with_the_same_words() -> None:
    assert _score("otter ", "otter") > _score("otter ", "otter " + "stone " * 200)


def test_of_equals_the_first_and_newer_wins() -> None:
    first, second = rank(Query("otter "), ["an otter", "an otter"])
    assert first is not None
    assert second is not None
    assert first.score > second.score


def test_a_snippet_shows_the_place_with_most_hits_on_one_line() -> None:
    text = "needle " + "hay " * 100 + "a needle\nand a\tneedle " + "hay " * 100
    (hit,) = rank(Query("needle "), [text])
    assert hit is not None
    assert hit.snippet.startswith("…")
    assert hit.snippet.endswith("…")
    assert "needle and a needle" in hit.snippet
    assert [hit.snippet[low:high] for low, high in hit.highlights] == ["needle", "needle"]


def test_what_is_beside_a_hit_is_related_and_what_is_not_on_the_branch_is_not() -> None:
    assert set(related([[6]], TO_7, 20)) == {2, 3, 4, 5, 6, 7}
    assert list(related([[6]], TO_7, 1)) == [6]
    assert related([[], []], TO_7, 20) == {}
    fork = [Run(parent=5, first=9, last=12), Run(parent=0, first=1, last=5)]
    assert set(related([[10, 7, 4]], fork, 20)) == {1, 2, 3, 4, 5, 9, 10, 11, 12}


def test_a_word_that_very_many_hold_says_nothing_unless_there_is_no_other() -> None:
    everywhere, path = list(range(99_999, 99_999 - RELATED, -1)), [Run(parent=0, first=1, last=99_999)]
    assert 99_999 not in related([everywhere, [50_000]], path, 500)
    assert next(iter(related([everywhere, [50_000]], path, 500))) == 50_000
    assert 99_999 in related([everywhere, []], path, 2 * RELATED)


def test_a_mark_adds_to_a_score_and_makes_candidates_by_itself() -> None:
    assert list(related([[900, 500, 100]], TO_999, 1, ada=[500])) == [500]
    assert next(iter(related([[900]], TO_999, 20, ada=[100]))) == 900
    assert 100 in related([[900]], TO_999, 20, ada=[100])


def test_when_something_was_said_counts_more_than_who_said_it() -> None:
    assert list(related([[900, 500, 100]], TO_999, 1, ada=[500], _202305=[100])) == [100]


def test_what_scores_far_less_than_the_best_comes_last_and_is_the_first_to_go() -> None:
    common = list(range(900, 0, -10))
    found = related([common, *[[905]] * 4], TO_999, 500)
    assert next(iter(found)) == 905
    assert found[100] < 0.2 * found[905]
    assert 100 not in related([common, *[[905]] * 4], TO_999, 9)


@given(scripts, st.text("ab1é—“ ", max_size=20))
def test_words_are_found_the_same_whether_a_text_is_taken_apart_or_not(text: str, other: str) -> None:
    # A dense script makes every text be taken apart; what stands before it is found all the same.
    try:
        query = Query(_OPERATORS.sub(" ", other))
    except InvalidSearch:
        return
    for said in (text, other + text, f"{text} {other}"):
        (fast,) = rank(query, [said])
        (slow,) = rank(query, [f"{said} 東"])
        assert (fast is None) == (slow is None)
        if fast and slow and len(said) < 60:
            assert fast.highlights == slow.highlights


def test_a_word_that_is_longer_than_the_index_keeps_is_found() -> None:
    (hit,) = rank(Query("x" * 70 + " "), ["an " + "x" * 70])
    assert hit is not None
    assert hit.highlights == ((3, 73),)
