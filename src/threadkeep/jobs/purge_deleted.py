"""Removing for good what was deleted and can be restored no more: ever after, while this process lives."""

import asyncio
import logging
from datetime import timedelta

from threadkeep.store.base import Store

logger = logging.getLogger(__name__)

KEPT_SECONDS = 30.0
"""How long what was deleted can be restored."""
EVERY_SECONDS = 5.0


async def purge_deleted(store: Store, *, kept: float = KEPT_SECONDS, every: float = EVERY_SECONDS) -> None:
    """Purge what was deleted long enough ago, for ever; run supervised."""
    while True:
        removed = await store.purge(timedelta(seconds=kept))
        if removed:
            logger.info("purged %s deleted conversation(s)", removed)
        await asyncio.sleep(every)
