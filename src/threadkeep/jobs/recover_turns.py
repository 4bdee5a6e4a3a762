"""Taking up turns whose owner died: at the start, and ever after while this process lives."""

import asyncio
import logging

from threadkeep.errors import StoreError
from threadkeep.turn.host import Host

logger = logging.getLogger(__name__)

EVERY_SECONDS = 2.0


async def recover_turns(host: Host, every: float = EVERY_SECONDS) -> None:
    """Look for turns that nobody runs any more, for ever."""
    while True:
        try:
            taken = await host.recover()
            if taken:
                logger.info("took up %s turn(s) that nobody ran any more", taken)
        except StoreError as error:
            logger.warning("turns cannot be recovered now: %s", error)
        except Exception:
            logger.exception("turns cannot be recovered now")
        await asyncio.sleep(every)
