"""Titles: short, one line."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.text.title import MAX_LENGTH, clean_title, title_from_words


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("What stocks benefit from rate cuts?", "What stocks benefit from rate cuts?"),
        ("Hi! please compare FI and BPC. Then explain.", "Please compare FI and BPC"),
        ("hello", "Hello"),
        ("   \n", ""),
        ("利率下降。哪些股票受益？", "利率下降。哪些股票受益？"),
    ],
)
def test_a_title_comes_from_the_first_sentence(question: str, title: str) -> None:
    assert title_from_words(question) == title


@pytest.mark.parametrize(
    "text", ['"Rate cuts and stocks."', "**Rate cuts and stocks**", "rate cuts and  stocks\n\nBecause"]
)
def test_what_a_model_answers_is_tidied(text: str) -> None:
    assert clean_title(text) == "Rate cuts and stocks"


@given(st.text())
def test_a_title_is_one_short_line(text: str) -> None:
    title = clean_title(text)
    assert len(title) <= MAX_LENGTH + 2
    assert "\n" not in title


def test_a_long_title_is_cut_at_a_word() -> None:
    assert clean_title("word " * 30) == "Word " + "word " * 10 + "word…"
