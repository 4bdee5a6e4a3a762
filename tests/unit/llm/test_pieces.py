"""The pieces of a message in the order in which providers want them."""

from threadkeep.conversation.message import Message, Role, ToolCall
from threadkeep.conversation.parts import Data, Part, Reasoning
from threadkeep.llm.pieces import pieces_of

ONE, TWO = ToolCall(id="c1", name="t"), ToolCall(id="c2", name="t")
SIGNED = Reasoning(text="a", payload={"signature": "s"})
ITEM = Reasoning(payload={"encrypted_content": "e"})


def answer(text: str, *parts: Part, calls: tuple[ToolCall, ...] = ()) -> Message:
    return Message(role=Role.ASSISTANT, content=text, parts=parts, tool_calls=calls)


def test_a_message_of_plain_text_is_its_text_and_its_calls() -> None:
    assert pieces_of(answer("Hi")) == ["Hi"]
    assert pieces_of(answer("", calls=(ONE,))) == [ONE]
    assert pieces_of(answer("Hi", calls=(ONE, TWO))) == ["Hi", ONE, TWO]
    assert pieces_of(answer("")) == [""]


def test_parts_stand_where_they_were_and_white_space_alone_is_left_out() -> None:
    data = Data(data={}, at=1)
    assert pieces_of(answer("a b", data)) == ["a", data, " b"]
    assert pieces_of(answer(" b", data)) == [data, "b"]


def test_a_thought_stands_before_its_call() -> None:
    of_call = ITEM.model_copy(update={"call": "c2"})
    assert pieces_of(answer("Hi", ITEM, of_call, calls=(ONE, TWO))) == [ITEM, "Hi", ONE, of_call, TWO]


def test_a_thought_of_a_call_that_is_not_there_is_left_out() -> None:
    assert pieces_of(answer("Hi", ITEM.model_copy(update={"call": "gone"}))) == ["Hi"]


def test_an_answer_does_not_end_with_a_thought() -> None:
    late = ITEM.model_copy(update={"at": 2})
    assert pieces_of(answer("Hi", late)) == [late, "Hi"]
    assert pieces_of(answer("Hi", late, calls=(ONE,))) == ["Hi", late, ONE]


def test_what_is_signed_comes_first() -> None:
    late = SIGNED.model_copy(update={"at": 2})
    assert pieces_of(answer("Hi", late, calls=(ONE,))) == [late, "Hi", ONE]
    assert pieces_of(answer("Hi", SIGNED, late, calls=(ONE,))) == [SIGNED, "Hi", late, ONE]
