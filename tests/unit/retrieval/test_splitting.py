"""Long texts as passages: nothing is lost, nothing is too long, and cuts are where a reader would pause."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from threadkeep.retrieval.splitting import LENGTH, Stretch, split

TEXTS = st.text(alphabet="ab .\n。é🙂", max_size=400)


def parts(text: str, length: int = 40, overlap: int = 10) -> list[str]:
    return [text[start:stop] for start, stop in split(text, length, overlap)]


def test_a_text_that_fits_is_one_passage() -> None:
    text = "x" * LENGTH
    assert split(text) == [Stretch(0, LENGTH)]
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
