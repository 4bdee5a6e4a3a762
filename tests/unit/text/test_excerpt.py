"""Parts of texts."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from threadkeep.text.excerpt import PASSAGE, Stretch, around, ends, head, split


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


TEXTS = st.text(alphabet="ab .\n。é🙂", max_size=400)


def parts(text: str, length: int = 40, overlap: int = 10) -> list[str]:
    return [text[start:stop] for start, stop in split(text, length, overlap)]


def test_a_text_that_fits_is_one_passage() -> None:
    text = "x" * PASSAGE
    assert split(text) == [Stretch(0, PASSAGE)]
    assert split("") == [Stretch(0, 0)]


def test_it_cuts_between_paragraphs_rather_than_inside_them() -> None:
    assert parts("One two. Three four.\n\nFive six. Seven eight.")[0] == "One two. Three four.\n\n"


def test_it_cuts_between_sentences_rather_than_inside_them() -> None:
    first, second = parts("The sky is blue tonight. The grass is green all day.")
    assert first == "The sky is blue tonight. "
    assert second.endswith("The grass is green all day.")


def test_it_cuts_sentences_that_are_written_without_spaces() -> None:
    assert parts("空" * 25 + "。" + "海" * 30)[0] == "空" * 25 + "。"


def test_text_without_any_pause_is_cut_all_the_same() -> None:
    assert len(parts("x" * 100)[0]) == 40


def test_neighbours_overlap_so_that_a_sentence_is_whole_in_one_of_them() -> None:
    sentences = [f"Sentence {number} is here." for number in range(20)]
    found = parts(" ".join(sentences), 100, 40)
    assert len(found) > 3
    assert all(any(sentence in part for part in found) for sentence in sentences)


@given(TEXTS)
def test_every_character_is_in_a_passage_and_no_passage_is_too_long(text: str) -> None:
    stretches = split(text, 40, 10)
    assert stretches[0].start == 0
    assert stretches[-1].stop == len(text)
    for before, after in pairwise(stretches):
        assert before.start < after.start <= before.stop < after.stop
    assert all(stop - start <= 40 for start, stop in stretches)
