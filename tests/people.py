"""People who are asked while a turn runs: for tests of loops that wait for one."""

import asyncio
from typing import Any


async def asked(conversation: Any, calls: int) -> None:
    """Wait until so many calls wait for a person."""
    async with asyncio.timeout(20):
        while len(await conversation.waiting_calls()) < calls:  # noqa: ASYNC110 - anything of the conversation may be it
            await asyncio.sleep(0.01)
