"""Conversations by the ids of clients, which may be any text, and messages by theirs."""

import pytest

from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.errors import ConversationNotFound
from threadkeep.runtime import open_conversations
from threadkeep.testing.scripted_model import ScriptedModel, says
from threadkeep_protocols.chats import chat_id, end_of_turn, find_chat, open_chat, said_in

ADA, BOB = Scope(tenant="acme", user="ada"), Scope(tenant="acme", user="bob")


@pytest.mark.parametrize("id", ["chat-1", "_Xy-9", "a/b c?", "ä" * 200, "01a1f22c-a3fb-732a-8452-d865e3189b9a"])
async def test_any_id_names_a_conversation_of_its_user_alone(id: str) -> None:
    async with await open_conversations("memory:", model=ScriptedModel()) as conversations:
        for scope in (ADA, BOB, LOCAL):
            with pytest.raises(ConversationNotFound):
                await find_chat(conversations, scope, id)
            made = await open_chat(conversations, scope, id)
            assert (await open_chat(conversations, scope, id)).id == made.id
            assert (await find_chat(conversations, scope, id)).id == made.id
        ours, theirs = await open_chat(conversations, ADA, id), await open_chat(conversations, BOB, id)
        assert ours.id != theirs.id
        assert chat_id(ours.value) == chat_id(theirs.value)
        assert (await find_chat(conversations, ADA, chat_id(ours.value))).id == ours.id
        assert len(id) > 100 or chat_id(ours.value) == id
        # Somebody else's own id, which they may have seen in a link, is theirs.
        with pytest.raises(ConversationNotFound):
            await find_chat(conversations, BOB, ours.id)


async def test_what_was_said_in_a_turn_is_found_on_any_branch() -> None:
    async with await open_conversations("memory:", model=ScriptedModel(says("one"), says("two"))) as conversations:
        chat = await open_chat(conversations, ADA, "chat")
        first = await chat.send("1", id="m-1")
        await first.outcome()
        second = await chat.send("2", id="m-2", parent=0)
        await second.outcome()
        said = await said_in(chat)
        assert len(said) == 2
        assert await end_of_turn(chat, second.number) == said[1].place  # type: ignore[union-attr]
        answer = await first.outcome()
        assert await end_of_turn(chat, first.number) == answer.seq
