"""Answering aside: a desk with the keeper's assistants and models, on a store in memory that is thrown away.

The turns are the same as everywhere, so the three laws hold; there is only nobody who could come back to them.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from dataclasses import replace

from threadkeep.conversation.events import Event
from threadkeep.conversation.scope import Scope
from threadkeep.errors import TurnNotFound
from threadkeep.keeper import Keeper
from threadkeep.runtime import open_store
from threadkeep.server.dialects.exchange import Sent
from threadkeep.store.base import MAX_BYTES
from threadkeep.turn.active_turn import ActiveTurn
from threadkeep.turn.desk import Desk
from threadkeep.turn.local_bus import LocalBus
from threadkeep.turn.runner import TurnRunner

logger = logging.getLogger(__name__)


async def open_aside(keeper: Keeper, max_bytes: int = MAX_BYTES) -> Desk:
    """Open a desk beside the keeper's. Its turns count as any others do."""
    deps = replace(keeper.runner.deps, store=await open_store("memory:", max_bytes=max_bytes), bus=LocalBus())
    return Desk(TurnRunner(deps, _nothing))


async def _nothing(running: ActiveTurn) -> None:
    """A conversation that nobody keeps needs no title."""


class Asides:
    """Ends what was asked aside together with its stream."""

    def __init__(self) -> None:
        self._ending: set[asyncio.Task[None]] = set()

    async def follow(self, desk: Desk, scope: Scope, sent: Sent) -> AsyncGenerator[Event, None]:
        """Yield what happens in a turn; when the reader leaves, the turn is stopped and its store goes."""
        try:
            async with aclosing(desk.follow_turn(scope, sent.conversation, sent.begun)) as events:
                async for event in events:
                    yield event
        finally:
            # A task of its own: whoever closes a stream may itself be cancelled, and could not wait here.
            task = asyncio.create_task(_end(desk, scope, sent.conversation))
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)


async def _end(desk: Desk, scope: Scope, id: str) -> None:
    try:
        with suppress(TurnNotFound):
            await desk.cancel(scope, id)
        await desk.store.close()
    except Exception:
        logger.exception("a question that was asked aside did not end cleanly")
