"""Every assistant reads long input of many kinds in bounded time, through the engine: no message freezes a server."""

import time
from pathlib import Path

import pytest

from tests.pumping import KINDS, limited
from threadkeep.assistants import found_assistants
from threadkeep.runtime import open_conversations
from threadkeep.settings import Settings

SIZE = 20_000
MOST_SECONDS = 2.0
"""Processor time of one turn; the slowest takes a tenth of it."""


@pytest.mark.parametrize("name", ["chat", "market", "shop", "skill_creator", "skillian"])
async def test_no_long_input_takes_an_assistant_long(name: str, tmp_path: Path) -> None:
    assistant = found_assistants(Settings(skills_dir=str(tmp_path)))[name]
    opening = assistant.examples[0]
    slow = {}
    async with await open_conversations("memory:", [assistant], model="demo", pace=0, environment={}) as conversations:
        for kind, body in KINDS.items():
            chat = await conversations.create()
            await (await chat.send(opening)).answer()
            for text in (
                f"{body * (SIZE // len(body))}y",
                f"what is {opening.rstrip('.?')} {body * 60}y",
                f"what is {body * 60}y",
            ):
                started = time.process_time()
                with limited(5 * MOST_SECONDS):
                    await (await chat.send(text)).answer()
                if (seconds := time.process_time() - started) > MOST_SECONDS:
                    slow[kind, len(text)] = seconds
    assert not slow
