"""Gathering the context of long messages: each is counted once, and nobody else waits for all of them."""

import asyncio

from threadkeep.context.tokens import count_tokens
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import LOCAL
from threadkeep.hosting import Hosting
from threadkeep.runtime import open_conversations
from threadkeep.store.values import Append
from threadkeep.testing.scripted_model import ScriptedModel, says
from threadkeep.turn.steps.gather_context import COUNTED_AT_ONCE


async def test_long_messages_that_were_never_counted_are_counted_once_a_turn_while_others_run() -> None:
    counted: list[tuple[str, int]] = []
    rounds = 0

    def count(message: Message) -> int:
        if message.tokens is None:
            counted.append((message.content, rounds))
        return count_tokens(message)

    async def watch() -> None:
        nonlocal rounds
        while True:
            rounds += 1
            await asyncio.sleep(0)

    hosting = Hosting(count=count)
    async with await open_conversations("memory:", model=ScriptedModel(says("Yes.")), hosting=hosting) as conversations:
        chat = await conversations.create()
        texts = [f"{number} " * (COUNTED_AT_ONCE // 8) for number in range(10)]
        for number, text in enumerate(texts):
            role = Role.ASSISTANT if number % 2 else Role.USER
            await conversations._store.append(LOCAL, chat.id, Append(bodies=(Message(role=role, content=text),)))
        watching = asyncio.create_task(watch())
        turn = await chat.send("Well?")
        assert await turn.answer() is not None
        watching.cancel()
    long = [(text, at) for text, at in counted if text in texts]
    assert sorted(text for text, _ in long) == texts
    at_once = max(sum(at == each for _, at in long) for _, each in long)
    assert at_once <= 5
