"""Taking up turns whose owner died: at the start, and ever after while this process lives."""

import asyncio
import logging

from threadkeep.turn.host import Host

logger = logging.getLogger(__name__)

EVERY_SECONDS = 2.0


async def recover_turns(host: Host, every: float = EVERY_SECONDS) -> None:
    """Look for turns that nobody runs any more, for ever; run supervised."""
    taken = await host.recover_gone()
    while True:
        taken += await host.recover()
        if taken:
            logger.info("took up %s turn(s) that nobody ran any more", taken)
        taken = 0
        await asyncio.sleep(every)
