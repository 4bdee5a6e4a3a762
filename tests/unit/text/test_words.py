"""How text falls into words, and what of an entry can be found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.conversation.blocks import Block, Narrative, Table
from threadkeep.conversation.entry import HeadChoice, Summary
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.state import StateChange
from threadkeep.text.words import (
    INDEXED_CHARACTERS,
    MAX_WORD,
    content_forms,
    content_words,
    find_words,
    searchable,
    words,
    words_in_order,
)

scripts = st.text(st.characters(categories=["L", "N", "M", "P", "Z", "S", "Cc"]), max_size=60)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hello, World!", {"hello", "world"}),
        ("snake_case and kebab-case", {"snake", "case", "and", "kebab"}),
        ("Zürich ZURICH", {"zurich"}),
        ("cafe\u0301 café", {"cafe"}),
        ("STRASSE straße", {"strasse"}),
        ("ﬁne ①", {"fine", "1"}),
        ("Привет", {"привет"}),
        ("東京", {"東京", "京"}),
        ("東京都", {"東京", "京都", "都"}),
        ("iPhone15を買う", {"iphone15", "を買", "買う", "う"}),
        ("", set()),
        (" \x00 !?", set()),
        ("a\x00b\u2028c", {"a", "b", "c"}),
        ("x" * 100, {"x" * MAX_WORD}),
        ("12.50", {"12", "50"}),
    ],
)
def test_a_text_falls_into_these_words(text: str, expected: set[str]) -> None:
    assert words(text) == expected


@given(scripts)
def test_words_are_safe_for_every_index(text: str) -> None:
    for word in words(text):
        assert 0 < len(word) <= MAX_WORD
        assert not set(word) & set(" \x00\t\n\r'\"_\\:*&|!()<>-")


def test_content_and_the_strings_in_blocks_can_be_found() -> None:
    message = Message(
        role=Role.ASSISTANT,
        content="content",
        blocks=(
            Narrative(text="prose"),
            Table(columns=["column"], rows=[["cell", 1]]),
            Block.model_validate({"type": "kind", "deep": {"er": ["still"]}}),
        ),
    )
    assert words(searchable(message)) == {"content", "prose", "column", "cell", "still"}


@pytest.mark.parametrize("body", [StateChange(set={"a": "b"}), Summary(content="s"), HeadChoice()])
def test_nothing_of_other_entries_can_be_found(body: StateChange | Summary | HeadChoice) -> None:
    assert searchable(body) == ""


def test_a_bounded_part_of_an_entry_is_indexed() -> None:
    long = Message(role=Role.USER, content="x " * INDEXED_CHARACTERS)
    assert len(searchable(long)) == INDEXED_CHARACTERS
    blocks = Message(role=Role.ASSISTANT, content="y", blocks=(Narrative(text="x " * INDEXED_CHARACTERS),))
    assert len(searchable(blocks)) == INDEXED_CHARACTERS


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
    assert content_words(text) == terms


def test_a_word_is_looked_for_once_and_a_page_that_was_pasted_is_cut_short() -> None:
    assert content_words("red shoes Shoes RED blue") == ["red", "shoes", "blue"]
    assert len(content_words(" ".join(f"word{number}" for number in range(100_000)), 64)) == 64


def test_scripts_without_spaces_are_indexed_by_pairs() -> None:
    assert " ".join(words_in_order("東京都 is big")) == "東京 京都 都 is big"


def test_what_is_indexed_holds_nothing_that_could_be_an_operator() -> None:
    assert " ".join(words_in_order('a" OR b* NEAR(c) ^d -e:f \x00')) == "a or b near c d e f"


def test_content_words_leave_out_what_every_text_of_the_language_has() -> None:
    assert content_words("What is the budget of CC-1001, and the BUDGET of CC-1002?") == [
        "budget",
        "cc",
        "1001",
        "1002",
    ]
    assert content_words("Wie hoch ist das Budget für Köln?") == ["hoch", "budget", "koln"]
    assert content_words("Сколько стоит билет в Москву?") == ["стоит", "билет", "москву"]
    assert content_words("東京の天気は？") == ["東京", "京の", "の天", "天気", "気は"]
    assert content_words("what about it?") == []
    assert len(content_words(" ".join(map(str, range(100))))) == 32


def test_content_words_come_with_their_forms_in_the_language_of_the_text() -> None:
    assert "bikes" in content_forms("Where did I park the bike?")[-1]
    assert "билетов" in content_forms("Сколько стоит билет?")[-1]


def test_names_citations_and_data_of_parts_are_found_and_what_was_thought_is_not() -> None:
    parts = [
        {"type": "image", "file": "hidden", "name": "kitten.png", "media_type": "image/png"},
        {"type": "reasoning", "text": "secretly", "payload": {"signature": "hidden"}},
        {"type": "citation", "source": "encyclopedia"},
        {"type": "data", "data": {"rows": ["seven"]}},
    ]
    message = Message.model_validate({"role": "assistant", "content": "content", "parts": parts})
    found = words(searchable(message))
    assert {"content", "kitten", "encyclopedia", "seven"} <= found
    assert not {"secretly", "hidden"} & found


def test_words_with_accents_stand_beside_words_without_and_underscores_part_them() -> None:
    text = "A snake_case_café and ÉCLAIRS, the Straße — ﬁne \u0301 e\u0301te"
    assert words(text) == {"a", "snake", "case", "cafe", "and", "eclairs", "the", "strasse", "fine", "ete"}
    assert [text[word.start : word.end] for word in find_words(text)][1:4] == ["snake", "case", "café"]
