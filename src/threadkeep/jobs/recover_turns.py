"""Taking up turns whose owner died: at the start, and ever after while this process lives."""

import asyncio
import logging

from threadkeep.turn.runner import TurnRunner

logger = logging.getLogger(__name__)

EVERY_SECONDS = 2.0


async def recover_turns(runner: TurnRunner, every: float = EVERY_SECONDS) -> None:
    """Look for turns that nobody runs any more, for ever; run supervised."""
    taken = await runner.recover_gone()
    while True:
        taken += await runner.recover()
        if taken:
            logger.info("took up %s turn(s) that nobody ran any more", taken)
        taken = 0
        await asyncio.sleep(every)
