"""Words that every text has tell its language; accents do not matter."""

import pytest

from threadkeep.text.stop_words import BY_LANGUAGE, STOP_WORDS, fold_accents, language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("where is the camera that we bought", "english"),
        ("wo ist die kamera und was kostet sie", "german"),
        ("où est la voiture que nous avons", "french"),
        ("dónde está el coche de mi hermano", "spanish"),
        ("qual è la città più bella che hai", "italian"),
        ("você não tem uma foto", "portuguese"),
        ("waar is het boek van mijn broer", "dutch"),
        ("где мой билет и когда он", "russian"),
    ],
)
def test_the_language_of_a_text_is_told_by_its_common_words(text: str, language: str) -> None:
    assert language_of(text.split()) == language


@pytest.mark.parametrize(
    ("word", "language"),
    [("билет", "russian"), ("كتاب", "arabic"), ("किताब", "hindi"), ("otter", "english"), ("", "english")],
)
def test_where_no_word_tells_the_script_does(word: str, language: str) -> None:
    assert language_of([word]) == language


def test_what_was_said_before_decides_where_a_question_says_too_little() -> None:
    assert language_of(["kamera"]) == "english"
    assert language_of(["kamera"], ["ich", "habe", "eine"]) == "german"


def test_a_word_is_common_with_and_without_its_accents() -> None:
    assert fold_accents("où Müller ﬁn") == "ou Muller fin"
    assert {"für", "fur"} <= BY_LANGUAGE["german"]
    assert {"the", "und", "est", "pero"} <= STOP_WORDS
    assert "otter" not in STOP_WORDS
