"""Titles: short, one line, from a model or from the words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.conversation.message import Message, Role
from threadkeep.llm.base import Request
from threadkeep.llm.title import MAX_LENGTH, clean_title, is_title_request, title_from_words, title_of, title_request


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


def test_a_request_for_a_title_is_known_as_one() -> None:
    asked = title_request("Hello?", "Hi.\n\nUser: no")
    assert is_title_request(asked)
    assert title_of(asked) == "Hello?"
    assert not is_title_request(Request(messages=(Message(role=Role.USER, content="a title please"),)))
    assert not is_title_request(Request(messages=()))
