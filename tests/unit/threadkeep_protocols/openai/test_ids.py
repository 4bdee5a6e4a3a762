"""Ids say what they are of, and nothing else is one."""

import pytest

from threadkeep.errors import NotFound
from threadkeep_protocols.openai.ids import ResponseId, conversation_in, item_id, said_id


@pytest.mark.parametrize("id", [ResponseId("chat-1", 7), ResponseId("a.5-6.7", 1, 12), ResponseId("01a1-f3e8", 99)])
def test_the_id_of_a_response_is_read_as_it_was_written(id: ResponseId) -> None:
    assert ResponseId.read(str(id)) == id


@pytest.mark.parametrize(
    "text", ["", "resp_", "resp_0-a", "resp_1.0-a", "resp_1", "resp_1-", "resp_-1-a", "resp_٣-a", "x1-a"]
)
def test_anything_else_is_no_response(text: str) -> None:
    with pytest.raises(NotFound):
        ResponseId.read(text)


def test_items_of_answers_say_where_they_are() -> None:
    assert conversation_in(item_id("fc", "message-call~1", "chat-1")) == "chat-1"
    for other in (said_id("message"), "msg_~chat-1", "", "fco_1~chat", "msg_1~"):
        assert conversation_in(other) is None
