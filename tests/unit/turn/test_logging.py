"""The debug log: what is sent to a model, and whether a conversation is new; never what was said."""

import logging

import pytest

from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.runtime import open_conversations
from threadkeep.testing.scripted_model import ScriptedModel, says, wants
from threadkeep.tools.decorator import tool
from threadkeep.tools.registry import Registry
from threadkeep.turn.assistant import Assistant


@tool
async def look() -> str:
    """Look."""
    return "a secret result"


ASSISTANT = Assistant(name="tester", instructions="A secret instruction.", tools=Registry([look]))


async def test_the_history_sent_to_the_model_is_logged_without_its_content(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "threadkeep")
    model = ScriptedModel(wants(("call_1", "look", {})), says("A secret answer."))
    async with await open_conversations("memory:", [ASSISTANT], model=model, environment={}) as conversations:
        chat = await conversations.create(title="Kept")
        await (await chat.send("A secret question")).answer()
    lines = [record.getMessage() for record in caplog.records if record.name == "threadkeep.turn.steps.generate"]
    second = lines.index(f"turn 1 of {chat.id} asks with 4 messages")
    assert [line.split(", ")[0] for line in lines[second + 1 :]] == ["0: system", "1: user", "2: assistant", "3: tool"]
    assert lines[second + 2] == "1: user, 17 characters, without tool calls"
    assert lines[second + 3].endswith("with tool calls")
    assert "secret" not in caplog.text


async def test_nothing_of_it_is_logged_unless_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "threadkeep")
    async with await open_conversations(
        "memory:", [ASSISTANT], model=ScriptedModel(says("Yes.")), environment={}
    ) as conversations:
        await (await (await conversations.create(title="Kept")).send("Hello")).answer()
    assert "characters" not in caplog.text


async def test_it_is_logged_whether_a_conversation_was_created_or_reused(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "threadkeep.conversation_handle")
    key = IdempotencyKey.of("create", "k", None)
    async with await open_conversations("memory:", [ASSISTANT], model=ScriptedModel(), environment={}) as conversations:
        chat = await conversations.create(key=key)
        await conversations.create(key=key)
        await conversations.get(chat.id)
    lines = [record.getMessage() for record in caplog.records if record.name == "threadkeep.conversation_handle"]
    assert lines == [f"conversation {chat.id} {how}" for how in ("created", "reused", "reused")]
