"""Parts of texts."""

from hypothesis import given
from hypothesis import strategies as st

from threadkeep.context.excerpt import around, ends, head


@given(st.text(), st.integers(0, 50))
def test_an_excerpt_is_never_longer_than_its_text_and_leaves_a_short_one_alone(text: str, size: int) -> None:
    assert len(ends(text, size)) <= len(text)
    assert len(head(text, max(3, size))) <= max(3, size)
    if len(text) <= size:
        assert head(text, size) == ends(text, size) == around(text, [], size) == text


def test_the_surroundings_of_the_first_word_found_are_shown() -> None:
    text = "x" * 500 + " the budget is 50,000 " + "y" * 500
    part = around(text, ["missing", "budget"], 60)
    assert "budget is 50,000" in part
    assert part.startswith("...")
    assert part.endswith("...")


def test_without_a_word_the_beginning_is_shown() -> None:
    assert around("a" * 10 + "b" * 90, [], 20) == "a" * 10 + "b" * 10 + "..."
