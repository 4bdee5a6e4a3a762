"""The stream of a message being written: marks between what is thought and said, the same stream when it is done."""

from hypothesis import given
from hypothesis import strategies as st

from threadkeep.conversation.draft_text import (
    SAID,
    THOUGHT,
    marks_as_lines,
    pieces,
    split_stream,
    stream_of,
    without_marks,
)
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import Data, Reasoning

texts = st.text(st.characters(exclude_categories=["Cs"], exclude_characters=THOUGHT + SAID), min_size=1, max_size=6)
spoken = st.lists(st.tuples(st.booleans(), texts), max_size=6)


def written(steps: list[tuple[bool, str]]) -> str:
    """Return the stream as it is written: each thought is a piece of its own."""
    stream, is_thought = "", False
    for thought, text in steps:
        stream += (THOUGHT if thought else SAID if is_thought else "") + text
        is_thought = thought
    return stream


@given(spoken)
def test_a_finished_message_has_the_stream_that_it_was_written_as(steps: list[tuple[bool, str]]) -> None:
    stream = written(steps)
    content, thoughts = split_stream(stream)
    assert content == "".join(text for thought, text in steps if not thought)
    assert [part.text for part in thoughts] == [text for thought, text in steps if thought]
    message = Message(role=Role.ASSISTANT, content=content, parts=(*thoughts, Data(data={}), Reasoning(payload={})))
    assert stream_of(message) == stream


@given(spoken, st.data())
def test_any_rest_of_a_stream_can_be_read_by_whoever_knows_what_came_before(
    steps: list[tuple[bool, str]], data: st.DataObject
) -> None:
    stream = written(steps)
    cut = data.draw(st.integers(0, len(stream)))
    is_thought = stream.rfind(THOUGHT, 0, cut) > stream.rfind(SAID, 0, cut)
    both = [*pieces(stream[:cut]), *pieces(stream[cut:], is_thought)]
    for kind in (True, False):
        whole = "".join(text for thought, text in steps if thought is kind)
        assert "".join(text for thought, text, _ in both if thought is kind) == whole


@given(spoken)
def test_a_stream_as_plain_text_has_the_same_length(steps: list[tuple[bool, str]]) -> None:
    stream = written(steps)
    plain = marks_as_lines(stream)
    assert len(plain) == len(stream)
    assert without_marks(plain) == plain


def test_a_mark_that_somebody_writes_is_replaced() -> None:
    assert without_marks(f"a{THOUGHT}b{SAID}c") == "a\ufffdb\ufffdc"
    assert without_marks("plain") == "plain"
