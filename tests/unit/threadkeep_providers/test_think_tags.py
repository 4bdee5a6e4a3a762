"""Reasoning that is written as text between tags, however it is cut into pieces."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.llm.base import CallPart, Delta, Reasoned, Stopped, Text
from threadkeep_providers import think_tags
from threadkeep_providers.think_tags import ThinkTags


def split(*pieces: str, last: Delta | None = None) -> tuple[str, str]:
    """Return what was thought and said."""
    tags = ThinkTags()
    deltas = [delta for piece in pieces for delta in tags.feed(Text(piece))]
    deltas += tags.feed(last or Stopped("stop"))
    return (
        "".join(delta.text for delta in deltas if isinstance(delta, Reasoned)),
        "".join(delta.text for delta in deltas if isinstance(delta, Text)),
    )


@pytest.mark.parametrize(
    ("answer", "thought", "said"),
    [
        ("<think>\nHm.\n</think>\n\nYes.", "Hm.\n", "Yes."),
        ("\n<think>Hm.</think>Yes.", "Hm.", "Yes."),
        ("<think></think>Yes.", "", "Yes."),
        ("<think>Hm. </thin k> </think>Yes.", "Hm. </thin k> ", "Yes."),
        ("<think>Hm.", "Hm.", ""),
        ("<think>Hm.</thi", "Hm.</thi", ""),
        ("Yes.", "", "Yes."),
        ("  Yes.", "", "  Yes."),
        ("<thin", "", "<thin"),
        ("<thinking>Yes", "", "<thinking>Yes"),
        ("I say <think>Hm.</think>", "", "I say <think>Hm.</think>"),
        ("<think>a</think>b<think>c</think>", "a", "b<think>c</think>"),
        ("", "", ""),
    ],
)
def test_only_tags_at_the_beginning_are_taken_and_every_cut_gives_the_same(
    answer: str, thought: str, said: str
) -> None:
    assert split(answer) == (thought, said)
    assert split(*answer) == (thought, said)
    assert split(*(answer[place : place + 3] for place in range(0, len(answer), 3))) == (thought, said)


@given(st.lists(st.sampled_from(["<think>", "</think>", "<", "th", "\n", " ", "a", "</thi", "nk>"]), max_size=12))
def test_however_it_is_cut_the_same_is_thought_and_said(pieces: list[str]) -> None:
    whole = "".join(pieces)
    assert split(*pieces) == split(*whole) == split(whole)


def test_what_is_held_back_comes_before_what_follows() -> None:
    tags = ThinkTags()
    call = CallPart(index=0, id="c", name="t")
    assert [*tags.feed(Text("<think>Hm.</")), *tags.feed(call)] == [Reasoned(text="Hm."), Reasoned(text="</"), call]


def test_thoughts_come_as_they_are_written() -> None:
    tags = ThinkTags()
    assert list(tags.feed(Text("<think>Hm"))) == [Reasoned(text="Hm")]
    assert list(tags.feed(Text(", well"))) == [Reasoned(text=", well")]


def test_reasoning_without_an_end_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(think_tags, "MOST", 10)
    assert split("<think>", "0123456789", "abc", "def") == ("0123456789", "abcdef")
