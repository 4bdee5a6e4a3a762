"""Markdown in a terminal, as it comes in pieces of any size."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep_commands.terminal import BOLD, CYAN, DIM, ITALIC, UNDERLINED, paint
from threadkeep_terminal.markdown_stream import MarkdownStream

ESCAPES = re.compile(r"\x1b\[[\d;]*m")
PIECES = st.lists(st.sampled_from(["**", "*", "`", "```", "#", "- ", "> ", "\n", " ", "a", "b c", "1. ", "_", "é"]))


def shown(*pieces: str) -> str:
    stream = MarkdownStream()
    return "".join(map(stream.feed, pieces)) + stream.finish()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("plain words", "plain words"),
        ("# Title", paint("Title", BOLD, UNDERLINED)),
        ("### Part", paint("Part", BOLD)),
        ("#hashtag", "#hashtag"),
        ("so **very** good", f"so {paint('very', BOLD)} good"),
        ("so *very* good", f"so {paint('very', ITALIC)} good"),
        ("call `f(*a)` now", f"call {paint('f(*a)', CYAN)} now"),
        ("- one\n  * two", "• one\n  • two"),
        ("1. one", "1. one"),
        ("> said", f"{paint('│ ', DIM)}{paint('said', ITALIC)}"),
        ("---\nx", f"{paint('─' * 24, DIM)}\nx"),
        ("```py\na * b * c\n```\nx", f"{paint('```py', DIM)}\n{paint('a * b * c', CYAN)}\n{paint('```', DIM)}\nx"),
        ("# a `b`", f"{paint('a ', BOLD, UNDERLINED)}{paint('b', BOLD, UNDERLINED, CYAN)}"),
        ("2 * 3 * 4, 2**3**4 and snake_case_name", "2 * 3 * 4, 2**3**4 and snake_case_name"),
        ("**never closed\nnext", "**never closed\nnext"),
        ("a ` alone", "a ` alone"),
    ],
)
def test_what_is_marked_and_what_is_left_alone(text: str, expected: str) -> None:
    assert styles_of(shown(text)) == styles_of(expected)


def styles_of(text: str) -> list[tuple[str, str]]:
    """Each character with the style that it is shown in."""
    style, found = "", []
    for escape, character in re.findall(r"\x1b\[([\d;]*)m|([\s\S])", text):
        if character:
            found.append((character, style))
        else:
            style = "" if escape == "0" else escape
    return found


@given(PIECES)
def test_pieces_of_any_size_show_the_same_as_the_whole(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert styles_of(shown(*pieces)) == styles_of(shown(text)) == styles_of(shown(*text))


@given(st.text(alphabet=st.characters(exclude_characters="\x1b`*#->_+"), max_size=80))
def test_text_without_markers_is_shown_as_it_is(text: str) -> None:
    assert ESCAPES.sub("", shown(text)) == text


def test_plain_text_is_not_held_back() -> None:
    stream = MarkdownStream()
    assert [stream.feed("Once"), stream.feed(" upon"), stream.feed(" a **ti"), stream.feed("me** ")] == [
        "Once",
        " upon",
        " a ",
        f"{paint('time', BOLD)} ",
    ]


def test_a_span_that_stays_open_for_long_is_shown_as_it_is() -> None:
    stream = MarkdownStream()
    assert stream.feed("**" + "word " * 100).startswith("**word")
