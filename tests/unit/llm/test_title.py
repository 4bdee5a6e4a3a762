"""How a model is asked for a title."""

from threadkeep.conversation.message import Message, Role
from threadkeep.llm.base import Request
from threadkeep.llm.title import is_title_request, title_of, title_request


def test_a_request_for_a_title_is_known_as_one() -> None:
    asked = title_request("Hello?", "Hi.\n\nUser: no")
    assert is_title_request(asked)
    assert title_of(asked) == "Hello?"
    assert not is_title_request(Request(messages=(Message(role=Role.USER, content="a title please"),)))
    assert not is_title_request(Request(messages=()))
