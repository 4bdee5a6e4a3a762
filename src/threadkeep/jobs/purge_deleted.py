"""Removing for good what was deleted and can be restored no more: ever after, while this process lives."""

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import timedelta

from threadkeep.conversation.clock import Clock, utc_now
from threadkeep.store.base import Store

logger = logging.getLogger(__name__)

KEPT_SECONDS = 30.0
"""How long what was deleted can be restored."""
EVERY_SECONDS = 5.0


async def purge_deleted(
    store: Store,
    *,
    kept: float = KEPT_SECONDS,
    every: float = EVERY_SECONDS,
    clock: Clock = utc_now,
    steady: Callable[[], float] = time.monotonic,
) -> None:
    """Purge what was deleted long enough ago, for ever; run supervised.

    Time must have passed by both clocks. One that is set forward while we run adds to what is kept; one that was set
    forward before we started is why nothing is purged at first.
    """
    began, began_at = steady(), clock()
    while True:
        passed = steady() - began
        ahead = clock() - began_at - timedelta(seconds=passed)
        if passed >= kept:
            removed = await store.purge(timedelta(seconds=kept) + max(ahead, timedelta(0)))
            if removed:
                logger.info("purged %s deleted conversation(s)", removed)
        await asyncio.sleep(every)
