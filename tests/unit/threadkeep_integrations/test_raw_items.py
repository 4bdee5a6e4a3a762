"""What a framework keeps beside a message comes back as it was, and takes little room."""

from typing import Any

from hypothesis import given, strategies

from threadkeep.conversation.message import Message, Role
from threadkeep_integrations.raw_items import plain, raw_items, raw_part

TEXT = strategies.text(max_size=60).map(lambda text: plain(text))
JSON = strategies.recursive(
    strategies.none() | strategies.booleans() | strategies.integers(-9, 9) | TEXT | strategies.just("a" * 30),
    lambda inside: strategies.lists(inside, max_size=3) | strategies.dictionaries(TEXT, inside, max_size=3),
    max_leaves=8,
)


def through(items: list[Any], content: str) -> list[Any] | None:
    message = Message(role=Role.ASSISTANT, content=content, parts=(raw_part("x", items, content),))
    return raw_items(Message.model_validate_json(message.model_dump_json()), "x")


@given(strategies.lists(JSON, max_size=4), strategies.just("b" + "a" * 40) | TEXT)
def test_items_come_back_as_they_were(items: list[Any], content: str) -> None:
    assert through(items, content) == items


def test_a_text_that_is_the_content_is_kept_once() -> None:
    content = "It is rather cold in Oslo, and dark. Take a coat with you."
    items = [{"type": "message", "content": [{"text": content}, {"text": content[8:40]}, {"text": "It is"}]}]
    part = raw_part("x", items, content)
    assert "cold" not in part.model_dump_json()
    assert through(items, content) == items


def test_the_items_of_another_framework_and_spoilt_ones_are_none() -> None:
    part = raw_part("x", [{"a": 1}], "")
    spoilt = {"type": "raw", "of": "x", "items": [{}], "texts": [[0, 1, 7, "a"]]}
    assert raw_items(Message(role=Role.USER, parts=(part,)), "y") is None
    assert raw_items(Message.model_validate({"role": "user", "parts": [spoilt]}), "x") is None
    assert raw_items(Message(role=Role.USER), "x") is None


def test_a_lone_surrogate_is_replaced() -> None:
    assert plain({"a\ud800": ["b\ud800", 1, None]}) == {"a?": ["b?", 1, None]}
