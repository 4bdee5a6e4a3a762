"""Background work while this process lives: take up turns whose owner died, obey the rules of retention, purge deleted
conversations that can no longer be restored, remove files that no message uses, prune the audit log, release memory.
Every function here runs for ever, supervised."""

import asyncio
import logging
import time
from collections.abc import Callable
from datetime import timedelta

from threadkeep.conversation.clock import Clock, utc_now
from threadkeep.retention.erasure import Erasure
from threadkeep.retention.run import RetentionRunner
from threadkeep.store.attachments import Attachments
from threadkeep.store.base import Store
from threadkeep.store.unreached import Unreached
from threadkeep.turn.runner import TurnRunner

logger = logging.getLogger(__name__)

RECOVER_EVERY = 2.0
KEPT_SECONDS = 30.0
"""How long a deleted conversation can be restored."""
PURGE_EVERY = 5.0
AUDIT_DAYS = 365.0
AUDIT_EVERY = 600.0
PURGE_SHARE = 50
"""The pause after a purge, as a multiple of how long it took: it may have read through a large file."""
FILES_EVERY = 3600.0
SESSION_TIMEOUT = 1800.0
OBEY_EVERY = 600.0
"""Seconds between checks whether a day has passed for a tenant, or a time to live. The first comes at once: a server
that is restarted often would else never get there."""


async def recover_turns(runner: TurnRunner, every: float = RECOVER_EVERY) -> None:
    """Take up turns that nobody runs any more."""
    taken = await runner.recover_gone()
    while True:
        taken += await runner.recover()
        if taken:
            logger.info("took up %s turn(s) that nobody ran any more", taken)
        taken = 0
        await asyncio.sleep(every)


async def obey_daily(retention: RetentionRunner, every: float = OBEY_EVERY, *, for_all: bool = True) -> None:
    """Mark and delete what the rules of retention say, in each tenant once a day and when a time to live has ended; or
    put on record only what was read here, if another process does that `for_all`."""
    try:
        while True:
            if not for_all:
                await retention.record_reads()
            elif done := await retention.run_all():
                logger.info("retention: %s", ", ".join(f"{action} {count}" for action, count in done.items()))
            await asyncio.sleep(every)
    finally:
        await retention.record_reads()


async def release_idle(store: Store, every: float = SESSION_TIMEOUT) -> None:
    """Release the memory of conversations that nobody uses."""
    while True:
        await asyncio.sleep(every)
        await store.operations.release()


async def purge_deleted(
    store: Store,
    files: Attachments | None = None,
    *,
    kept: float = KEPT_SECONDS,
    every: float = PURGE_EVERY,
    clock: Clock = utc_now,
    steady: Callable[[], float] = time.monotonic,
) -> None:
    """Purge what was deleted long enough ago, and remove the files that nothing else uses.

    That time must have passed by both clocks: if the system's clock is set forward while this runs, the difference is
    added to it, and nothing is purged at first in case the clock was set forward before.
    """
    began, began_at = steady(), clock()
    while True:
        passed = steady() - began
        ahead = clock() - began_at - timedelta(seconds=passed)
        if passed >= kept:
            removed = await store.operations.purge(timedelta(seconds=kept) + max(ahead, timedelta(0)))
            if removed:
                logger.info("purged %s deleted conversation(s)", removed)
                if files is not None:
                    await _remove_unused(files, store.operations.unreached)
        await asyncio.sleep(max(every, PURGE_SHARE * (steady() - began - passed)))


async def finish_erasures(erasure: Erasure, kept: float = KEPT_SECONDS) -> None:
    """Finish erasures that an earlier process began."""
    while not await erasure.resume(timedelta(seconds=kept)):  # noqa: ASYNC110 - time has to pass
        await asyncio.sleep(kept)


async def remove_unused_files(files: Attachments, unreached: Unreached, every: float = FILES_EVERY) -> None:
    """Remove files that no message has used for a day."""
    while True:
        await _remove_unused(files, unreached)
        await asyncio.sleep(every)


async def _remove_unused(files: Attachments, unreached: Unreached) -> None:
    if removed := sum(await unreached.each("removing unused files", await files.tenants(), files.remove_unused)):
        logger.info("removed %s file(s) that no message used", removed)


async def keep_audit(store: Store, days: float, *, every: float = AUDIT_EVERY, clock: Clock = utc_now) -> None:
    """Chain new audit records, and prune those older than so many days (0: none)."""

    async def keep(tenant: str) -> None:
        await store.audit.head(tenant)
        if days and (pruned := await store.audit.prune(tenant, clock() - timedelta(days=days), clock())):
            logger.info("pruned %s record(s) of the audit log of %s", pruned, tenant)

    while True:
        await store.operations.unreached.each("keeping the audit log", await store.operations.tenants(), keep)
        await asyncio.sleep(every)
