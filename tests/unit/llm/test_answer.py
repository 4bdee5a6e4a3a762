"""An answer is put together from whatever a provider sends, and what comes out can always be stored."""

from itertools import count

import pytest
from hypothesis import given
from hypothesis import strategies as st

from threadkeep.conversation.ids import IdSource
from threadkeep.conversation.message import Usage
from threadkeep.conversation.parts import Reasoning
from threadkeep.llm.answer import Answer
from threadkeep.llm.base import CallPart, Delta, Reasoned, Stopped, Text, Used


def ids() -> IdSource:
    numbers = count(1)
    return lambda: str(next(numbers))


def answer(*deltas: Delta) -> Answer:
    made = Answer()
    for delta in deltas:
        made.add(delta)
    return made


def test_text_usage_and_reason_are_taken_up() -> None:
    made = answer(Text("Hel"), Text("lo"), Used(Usage(output_tokens=2)), Stopped("stop"))
    assert (made.text, made.usage, made.reason) == ("Hello", Usage(output_tokens=2), "stop")


def test_text_can_be_read_while_it_grows() -> None:
    made = answer(Text("a"))
    assert made.text == "a"
    made.add(Text("b"))
    assert made.text == "ab"


def test_pieces_of_reasoning_have_their_places_payloads_and_durations() -> None:
    seconds = iter((0.0, 1.0, 2.5, 3.0, 4.0, 5.0))
    made = Answer(seconds=lambda: next(seconds))
    for delta in (
        Reasoned(text="Let me "),
        Reasoned(text="see.", payload={"signature": "a"}),
        Text("So"),
        Reasoned(text="hm"),
        CallPart(index=0, id="c1", name="t"),
        Reasoned(payload={"id": "b"}),
        CallPart(index=1, id="c2", name="t"),
        Reasoned(payload={"signature": "c"}, call=0),
        Stopped("tool_calls"),
    ):
        made.add(delta)
    shown = [part.model_dump(exclude={"type"}) for part in made.reasoning("m", made.calls(ids()))]
    assert shown == [
        {"text": "Let me see.", "duration": 2.5, "model": "m", "payload": {"signature": "a"}},
        {"at": 2, "text": "hm", "duration": 0.0, "model": "m"},
        {"at": 2, "model": "m", "payload": {"id": "b"}, "call": "c2"},
        {"at": 2, "model": "m", "payload": {"signature": "c"}, "call": "c1"},
    ]


def test_what_was_written_of_an_answer_that_broke_off_tells_how_long_it_took() -> None:
    seconds = iter((0.0, 1.5, 2.0, 4.0))
    made = Answer(seconds=lambda: next(seconds))
    for delta in (Reasoned(text="One"), Text("so"), Reasoned(payload={"redacted": "x"}), Reasoned(text="two")):
        made.add(delta)
    written = (Reasoning(text="One"), Reasoning(text="tw", at=2), Reasoning(text="of another", at=2))
    assert [part.duration for part in made.timed(written)] == [1.5, 0.0, None]
    assert made.timed(()) == ()


def test_reasoning_that_cannot_be_kept_as_it_came_is_not_sent_back() -> None:
    made = answer(Reasoned(text="a\ufdd0b", payload={"signature": "x"}), Text("c"))
    (part,) = made.reasoning("m", ())
    assert (part.text, part.payload) == ("a\ufffdb", None)


def test_an_answer_that_was_cut_off_has_no_reason() -> None:
    assert answer(Text("Hel")).reason is None


def test_the_parts_of_a_call_are_joined_by_index() -> None:
    made = answer(
        CallPart(index=1, id="b", name="second"),
        CallPart(index=0, id="a", name="first", args='{"x":'),
        CallPart(index=0, args=" 1}"),
    )
    first, second = made.calls(ids())
    assert (first.id, first.name, first.args) == ("a", "first", {"x": 1})
    assert (second.id, second.name, second.args) == ("b", "second", {})
    assert made.flaws == {}


def test_two_calls_with_one_id_get_two_ids() -> None:
    made = answer(CallPart(index=0, id="same", name="t"), CallPart(index=1, id="same", name="t"))
    assert [call.id for call in made.calls(ids())] == ["same", "call_1"]


def test_two_ids_that_differ_only_behind_the_limit_stay_two_calls() -> None:
    made = answer(CallPart(index=0, id="x" * 300 + "a", name="t"), CallPart(index=1, id="x" * 300 + "b", name="t"))
    assert len(made.calls(ids())) == 2


def test_a_call_without_id_and_name_gets_both() -> None:
    (call,) = answer(CallPart(index=0, args="{}")).calls(ids())
    assert (call.id, call.name) == ("call_1", "unnamed")


@pytest.mark.parametrize(
    "args",
    ['{"cost_center": "CC-10', "{cost_center: 1}", "[1, 2]", '"text"', '{"x": NaN}', "[" * 10_000, '{"x": "\\ud800"}'],
)
def test_arguments_that_are_no_object_are_a_flaw_of_that_call(args: str) -> None:
    made = answer(CallPart(index=0, id="a", name="t", args=args))
    (call,) = made.calls(ids())
    assert call.args == {}
    assert "arguments" in made.flaws["a"]


parts = st.builds(
    CallPart,
    index=st.integers(0, 3),
    id=st.none() | st.text(st.characters(), max_size=300),
    name=st.none() | st.text(st.characters(), max_size=80),
    args=st.text(st.characters(), max_size=20) | st.sampled_from(["{}", '{"a": 1}', '{"a"']),
)


@given(st.lists(parts, max_size=8))
def test_whatever_is_sent_the_calls_can_be_stored(sent: list[CallPart]) -> None:
    made = answer(*sent)
    calls = made.calls(ids())
    assert len({call.id for call in calls}) == len(calls) == len({part.index for part in sent})
    assert set(made.flaws) <= {call.id for call in calls}
