"""Words without their endings."""

import pytest

from threadkeep.text.stems import forms, stem
from threadkeep.text.stop_words import BY_LANGUAGE
from threadkeep.text.words import MAX_FORMS


@pytest.mark.parametrize(
    ("word", "expected"),
    [
        ("Phones", "phone"),
        ("companies", "company"),
        ("boxes", "box"),
        ("classes", "class"),
        ("class", "class"),
        ("status", "status"),
        ("bus", "bus"),
        ("Apple's", "apple"),
        ("Apple’s", "apple"),
        ("", ""),
        ("s", "s"),
        ("安", "安"),
    ],
)
def test_a_plural_and_its_singular_are_one_word(word: str, expected: str) -> None:
    assert stem(word) == expected


@pytest.mark.parametrize(
    ("language", "asked", "said"),
    [
        ("english", "planned", "planning"),
        ("english", "hoping", "hopes"),
        ("english", "study", "studies"),
        ("english", "studied", "study"),
        ("english", "runner", "running"),
        ("english", "copying", "copied"),
        ("english", "buys", "buy"),
        ("english", "proposal", "proposed"),
        ("english", "adopted", "adoption"),
        ("english", "engagement", "engaged"),
        ("german", "kameras", "kamera"),
        ("german", "kellerschlussel", "schlussel"),
        ("dutch", "hoofdstation", "station"),
        ("german", "arbeitet", "arbeiten"),
        ("french", "voitures", "voiture"),
        ("spanish", "precios", "precio"),
        ("italian", "cavallo", "cavalli"),
        ("portuguese", "livros", "livro"),
        ("dutch", "fietsen", "fiets"),
        ("russian", "билеты", "билетов"),
        ("arabic", "الكتاب", "كتاب"),
        ("arabic", "سيارة", "السيارات"),
        ("hindi", "लड़का", "लड़के"),
    ],
)
def test_a_form_in_a_question_leads_to_the_form_in_an_answer(language: str, asked: str, said: str) -> None:
    assert said in forms(asked, language)


@pytest.mark.parametrize(("one", "other"), [("car", "care"), ("cat", "cater"), ("plane", "plant"), ("new", "news")])
def test_words_that_only_look_alike_are_mostly_left_out(one: str, other: str) -> None:
    assert forms(one, "english")[0] == one
    assert other not in forms(one, "english") or other == "news"


def test_a_word_has_a_bounded_number_of_forms() -> None:
    assert all(len(forms(word, name)) <= MAX_FORMS for name in BY_LANGUAGE for word in ("transporting", "الكتابات"))
