"""How text falls into words, and what of an entry can be found."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.conversation.blocks import Block, Narrative, Table
from threadkeep.conversation.entry import HeadChoice, Summary
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.state import StateChange
from threadkeep.text.words import INDEXED_CHARACTERS, MAX_WORD, searchable, words

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
