"""Words and exclusions are read from what people write, and fast, whatever they write."""

import pytest

from tests.unit.threadkeep_assistants.long_texts import LONG, check_growth
from threadkeep_assistants.vocabulary.references import Shown, references
from threadkeep_assistants.vocabulary.words import Text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("What's Apple’s margin?", "what is apple margin"),
        ("it isn't, can't, won't", "it is not can not will not"),
        ("AT&T in Q3 2024", "at&t in q3 2024"),
        ("order A1002 and #3", "order a1002 and 3"),
        ("300-500 or 1,500", "300 to 500 or 1500"),
        ("", ""),
    ],
)
def test_a_text_becomes_plain_words(text: str, words: str) -> None:
    assert Text(text).line.strip() == words


@pytest.mark.parametrize(
    ("text", "is_excluded"),
    [
        ("no sony or bose", [True, True]),
        ("sony but not bose", [False, True]),
        ("anything but sony", [True]),
        ("everything except the bose", [True]),
        ("not only sony", [False]),
        ("it isn't from sony", [True]),
        ("neither sony nor bose", [True, True]),
        ("I don't want a sony", [True]),
        ("anything else but bose", [True]),
        ("apart from sony and bose", [True, True]),
        ("no, the sony one", [False]),
        ("why not the bose?", [False]),
    ],
)
def test_what_is_not_wanted_is_told_from_what_is(text: str, is_excluded: list[bool]) -> None:
    read = Text(text)
    names = [(place, place + 1) for place, word in enumerate(read.words) if word.text in ("sony", "bose")]
    assert read.excluded(names) == is_excluded


@pytest.mark.parametrize("kind", LONG)
def test_the_time_grows_no_faster_than_the_text(kind: str) -> None:
    def read(question: str) -> None:
        text = Text(question)
        _ = (text.limits, text.count, text.unread, text.has("a b|c*"), text.places("a|first list"))
        _ = text.excluded([(place, place + 1) for place in range(len(text.words))]), references(text)
        Shown((("a", "b"), ("c",))).meant(text)

    check_growth(read, LONG[kind])
