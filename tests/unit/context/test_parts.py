"""Parts for models: reasoning goes back to the model that made it, and nobody is shown what it cannot look at."""

from typing import Any

import pytest

from tests.unit.context.logs import assistant, built, cut_off, material, read_by, tool, user
from threadkeep.context.base import Material
from threadkeep.context.tokens import count_tokens
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import Attachment, Data, Part, Reasoning

SIGNED = Reasoning(text="hm", payload={"signature": "s"}, model="anthropic:m")
OF_CALL = Reasoning(payload={"signature": "s"}, model="gemini:m", call="c")
IMAGE = Attachment(type="image", file="f-1", name="cat.png", media_type="image/png", size=3)
LONG = "word " * 2000


def sent(given: Material, **fields: Any) -> tuple[Message, ...]:
    return built(read_by(given, **fields)).messages


def thoughts(messages: tuple[Message, ...]) -> list[Part]:
    return [part for message in messages for part in message.parts if isinstance(part, Reasoning)]


@pytest.mark.parametrize(
    ("thought", "model", "is_sent"),
    [
        (SIGNED, "anthropic:m", True),
        (SIGNED, "anthropic:other", False),
        (SIGNED, "", False),
        (SIGNED.model_copy(update={"payload": None}), "anthropic:m", False),
        (SIGNED.model_copy(update={"model": None}), "anthropic:m", False),
    ],
)
def test_reasoning_goes_back_to_the_model_that_made_it_and_to_no_other(
    thought: Reasoning, model: str, is_sent: bool
) -> None:
    said = sent(material(user(), assistant("a", parts=(thought,)), user()), model=model)
    assert thoughts(said) == ([thought] if is_sent else [])


def test_what_was_thought_for_an_answer_that_was_cut_off_is_never_sent_back() -> None:
    half = cut_off("half").model_copy(update={"parts": (SIGNED,)})
    said = sent(material(user(), half, assistant("whole", parts=(SIGNED,)), user()), model="anthropic:m")
    assert thoughts(said) == [SIGNED]
    assert "half" in said[1].content


def test_thoughts_of_one_answer_go_together_or_not_at_all() -> None:
    unsigned = Reasoning(text="hm", model="anthropic:m")
    answer = assistant("a", "c", parts=(unsigned, SIGNED, OF_CALL.model_copy(update={"model": "anthropic:m"})))
    said = sent(material(user(), answer, tool("c")), model="anthropic:m")
    assert [part.model_dump().get("call") for part in thoughts(said)] == ["c"]


def test_the_newest_step_keeps_its_reasoning_however_small_the_budget_and_older_ones_lose_it() -> None:
    steps = [
        body for place in range(4) for body in (assistant(LONG, f"c{place}", parts=(SIGNED,)), tool(f"c{place}", LONG))
    ]
    given = material(user(), *steps, budget=600, model="anthropic:m", count=count_tokens)
    said = sent(given)
    with_thoughts = [message.tool_calls[0].id for message in said if thoughts((message,))]
    assert with_thoughts == ["c3"]


def test_a_signature_of_a_call_stays_with_its_call_when_it_gets_another_id() -> None:
    answer = assistant("", "ä:1", parts=(OF_CALL.model_copy(update={"call": "ä:1"}),))
    said = sent(material(user(), answer, tool("ä:1")), model="gemini:m")
    (part,) = thoughts(said)
    assert part.model_dump()["call"] == said[1].tool_calls[0].id != "ä:1"


def test_calls_that_are_told_as_text_lose_their_reasoning() -> None:
    given = material(user(), assistant("", "c", parts=(OF_CALL,)), tool("c"), user(), has_tools=False, model="gemini:m")
    assert thoughts(sent(given)) == []


def test_who_can_look_gets_the_image_and_who_cannot_a_line_that_says_what_was_attached() -> None:
    given = material(user("What is it?", parts=(IMAGE,)))
    (seen,) = sent(given, accepts=frozenset({"image"}))
    assert (seen.content, seen.parts) == ("What is it?", (IMAGE,))
    (told,) = sent(given)
    assert told.parts == ()
    assert told.content == (
        "What is it?\n\n[Threadkeep: attached image cat.png (image/png, 3 bytes), which you cannot look at]"
    )


def test_an_image_that_says_that_it_is_a_document_is_shown_to_nobody() -> None:
    odd = IMAGE.model_copy(update={"media_type": "application/pdf"})
    said = sent(material(user("Look", parts=(odd,))), accepts=frozenset(("image", "pdf")))
    assert said[0].parts == ()


def test_data_is_told_and_an_unknown_part_is_left_out() -> None:
    unknown = Part.model_validate({"type": "hologram"})
    (told,) = sent(material(user("So?", parts=(Data(data={"a": 1}), unknown))))
    assert told.content == 'So?\n\n[Threadkeep: attached data: {"a": 1}]'


def test_two_questions_in_a_row_keep_their_images_where_they_stand() -> None:
    later = IMAGE.model_copy(update={"file": "f-2", "at": 2})
    given = material(user("one", parts=(IMAGE,)), user("two", parts=(later,)))
    (said,) = sent(given, accepts=frozenset({"image"}))
    assert (said.content, [(part.at, part.model_dump()["file"]) for part in said.parts]) == (
        "one\n\ntwo",
        [(0, "f-1"), (7, "f-2")],
    )


def test_the_estimate_counts_reasoning_and_attachments() -> None:
    plain = Message(role=Role.ASSISTANT, content="a")
    for part, least in ((SIGNED.model_copy(update={"text": LONG}), 2000), (IMAGE, 1000)):
        message = plain.model_copy(update={"parts": (part,)})
        assert count_tokens(message) >= count_tokens(plain) + least
