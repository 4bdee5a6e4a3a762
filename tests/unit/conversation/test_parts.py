"""Parts: what a message may have beside its text, what is refused, and that nothing unknown is lost."""

from typing import Any

import pytest

from threadkeep.conversation.event_json import message_json
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import (
    MAX_PARTS,
    Attachment,
    CitationPart,
    Data,
    Part,
    Reasoning,
    in_order,
    split_text,
)
from threadkeep.errors import InvalidId, InvalidPart, InvalidText, InvalidValue, TooDeep, TooManyParts
from threadkeep.store.codec import Row, encode, encode_id

IMAGE: dict[str, Any] = {"type": "image", "file": "f-1", "name": "cat.png", "media_type": "image/png", "size": 123}
UNKNOWN: dict[str, Any] = {"type": "hologram", "depth": [1, {"of": None}], "file": 7, "name": "../x"}


def test_a_message_of_plain_text_is_stored_and_written_as_if_there_were_no_parts() -> None:
    message = Message(id="m-1", role=Role.USER, content="hello")
    assert encode(message) == Row(2, encode_id("m-1"), None, "hello", None)
    assert message.model_dump_json() == (
        '{"kind":"message","id":"m-1","role":"user","content":"hello","blocks":[],"tool_calls":[],"tool_result":null,'
        '"tool_trace":[],"usage":null,"tokens":null,"status":"complete","model":null,"started_at":null}'
    )
    assert "parts" not in message_json(message)


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        (IMAGE, Attachment),
        ({"type": "audio", "file": "f-2", "media_type": "audio/wav"}, Attachment),
        ({"type": "file", "file": "f-3", "media_type": "application/pdf", "pages": 3}, Attachment),
        ({"type": "reasoning", "text": "hm", "payload": {"signature": "x"}, "model": "m"}, Reasoning),
        ({"type": "citation", "source": "https://example.org", "lines": [1, 2]}, CitationPart),
        ({"type": "data", "data": {"a": [1]}}, Data),
        (UNKNOWN, Part),
    ],
)
def test_a_part_has_a_type_of_its_own_and_comes_back_as_it_was(fields: dict[str, Any], kind: type[Part]) -> None:
    message = Message.model_validate({"role": "assistant", "content": "x", "parts": [fields]})
    assert type(message.parts[0]) is kind
    assert message.model_dump(mode="json")["parts"] == [fields]
    assert Message.model_validate_json(message.model_dump_json()) == message


@pytest.mark.parametrize(
    ("part", "error"),
    [
        ("text", InvalidPart),
        (None, InvalidPart),
        ({}, InvalidPart),
        ({"type": ""}, InvalidPart),
        ({"type": "x" * 65}, InvalidPart),
        ({"type": 7}, InvalidValue),
        ({"type": "image", "media_type": "image/png"}, InvalidPart),
        (IMAGE | {"file": "../etc/passwd"}, InvalidId),
        (IMAGE | {"media_type": "image"}, InvalidPart),
        (IMAGE | {"media_type": "text/html; charset=utf-8"}, InvalidPart),
        (IMAGE | {"name": "../cat.png"}, InvalidPart),
        (IMAGE | {"name": "a\\b"}, InvalidPart),
        (IMAGE | {"name": "cat\x00.png"}, InvalidPart),
        (IMAGE | {"name": "\u202egnp.tac"}, InvalidPart),
        (IMAGE | {"name": "x" * 10_000}, InvalidPart),
        (IMAGE | {"name": ".."}, InvalidPart),
        (IMAGE | {"size": -1}, InvalidPart),
        (IMAGE | {"at": 9}, InvalidPart),
        ({"type": "data"}, InvalidPart),
        ({"type": "data", "data": {"x": "\ud800"}}, InvalidText),
        ({"type": "data", "data": float("nan")}, InvalidValue),
        ({"type": "reasoning", "text": "forged"}, InvalidPart),
    ],
)
def test_a_part_that_is_none_is_refused_with_a_stable_code(part: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        Message.model_validate({"role": "user", "content": "hello", "parts": [part]})


def test_there_are_bounds_on_the_number_and_the_depth_of_parts() -> None:
    with pytest.raises(TooManyParts):
        Message.model_validate({"role": "user", "parts": [IMAGE] * (MAX_PARTS + 1)})
    with pytest.raises(TooManyParts):
        split_text([{"type": "text", "text": "x"}] * (MAX_PARTS + 1))
    deep: Any = {}
    for _ in range(70):
        deep = {"x": deep}
    with pytest.raises(TooDeep):
        Message.model_validate({"role": "user", "parts": [{"type": "data", "data": deep}]})


def test_texts_become_the_content_and_other_parts_keep_their_places() -> None:
    sent = [{"type": "text", "text": "Look:"}, IMAGE, {"type": "text", "text": "and"}, UNKNOWN]
    content, parts = split_text(sent)
    assert content == "Look:\n\nand"
    assert [part.at for part in parts] == [5, 10]
    shown = [each if isinstance(each, str) else each.type for each in in_order(content, parts)]
    assert shown == ["Look:", "image", "\n\nand", "hologram"]


@pytest.mark.parametrize(
    "sent",
    [[], ["x"], [{"type": "text"}], [{"type": "text", "text": 7}], [{"type": "text", "text": "x", "bold": True}]],
)
def test_a_list_that_says_nothing_or_is_none_of_parts_is_refused(sent: list[Any]) -> None:
    with pytest.raises((InvalidPart, InvalidValue)):
        split_text(sent)


def test_clients_do_not_get_what_only_a_provider_can_read() -> None:
    part = {"type": "reasoning", "text": "hm", "payload": {"signature": "x" * 1000}, "duration": 1.5}
    message = Message.model_validate({"role": "assistant", "content": "x", "parts": [part]})
    assert message_json(message)["parts"] == [{"type": "reasoning", "text": "hm", "duration": 1.5}]


def test_an_attachment_can_be_told_in_words() -> None:
    assert Attachment.model_validate(IMAGE).label == "image cat.png (image/png, 123 bytes)"
    assert Attachment(type="file", file="f-1", media_type="text/csv").label == "file f-1 (text/csv)"
