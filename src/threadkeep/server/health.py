"""The health routes: `/health/live` says that the process answers, `/health/ready` or `/health` that it takes turns.

They show no content and need no authentication. Readiness reports an outage of the database, during which messages are
kept in the spool; a setting makes it fail then.
"""

import asyncio
import logging
from datetime import datetime
from typing import Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from threadkeep.conversation.clock import moment_text
from threadkeep.conversations import Conversations
from threadkeep.errors import Stopping, StoreUnavailable, ThreadkeepError
from threadkeep.server.problems import problem, problem_of
from threadkeep.server.responses import Shown
from threadkeep.store.unreached import UnreachedTenants
from threadkeep.store.values import Outage

logger = logging.getLogger(__name__)

READY_SECONDS = 1.5
"""How long the store gets to answer; probes usually wait for two seconds."""


class Spooled(Shown):
    """How much is kept on this instance's disk, and not yet in the database."""

    conversations: int
    entries: int
    bytes: int


class UnreachedPart(Shown):
    """For how many tenants background work fails while it goes on for the others, since when, and the code of the last
    error: the log has what the database said, which names its machines."""

    tenants: int
    since: datetime
    error: str


class Health(Shown):
    """All is well, or the database is away (or not given everything again) since a moment: then what is sent is kept in
    the spool. Or a part of it is, with some of the tenants. `damage` is what was found to be wrong with the spool.
    Anything else is a problem."""

    status: Literal["ok", "degraded"]
    since: datetime | None = None
    spooled: Spooled | None = None
    unreached: UnreachedPart | None = None
    damage: str | None = None


def health_routes(conversations: Conversations, *, ready_in_outage: bool = True) -> APIRouter:
    router, asking = APIRouter(prefix="/health", tags=["health"]), _Asking(conversations)

    @router.get("/live", response_model=Health, summary="Whether the process answers")
    async def live() -> JSONResponse:
        return _healthy()

    @router.get("", response_model=Health, summary="The same as `/health/ready`")
    @router.get("/ready", response_model=Health, summary="Whether turns can be begun")
    async def ready() -> JSONResponse:
        if conversations.admission.is_closed:
            return problem_of(Stopping())
        try:
            await asking.answer()
        except ThreadkeepError as error:
            logger.warning("not ready: %s", error)
            # Strangers may ask: they are told the kind of error only, not what it says of files and machines.
            return problem(503, error.code, str(type(error)()))
        outage = conversations.operations.outage()
        if outage is not None and outage.is_down and not ready_in_outage:
            return problem_of(StoreUnavailable(f"The database has been away since {moment_text(outage.since)}."))
        return _healthy(outage, conversations.operations.unreached.state, conversations.operations.damage())

    return router


class _Asking:
    """Asks a store whether it works. While it hangs, all requests wait for the same question."""

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations
        self._asked: asyncio.Task[None] | None = None

    async def answer(self) -> None:
        """Return if it works; raise what is wrong with it, within `READY_SECONDS`."""
        if self._asked is None or self._asked.done():
            self._asked = asyncio.create_task(self._conversations.ping())
            # If nobody waits for a late error any more, asyncio must not log it as never retrieved.
            self._asked.add_done_callback(lambda asked: asked.cancelled() or asked.exception())
        done, _ = await asyncio.wait((self._asked,), timeout=READY_SECONDS)
        if not done:
            raise StoreUnavailable(f"The store has not answered within {READY_SECONDS:g} seconds.")
        await self._asked


def _healthy(
    outage: Outage | None = None, unreached: UnreachedTenants | None = None, damage: str | None = None
) -> JSONResponse:
    health = Health(
        status="degraded" if outage or unreached or damage else "ok",
        damage=damage,
        since=min((each.since for each in (outage, unreached) if each), default=None),
        spooled=Spooled.model_validate(outage) if outage else None,
        unreached=UnreachedPart.model_validate(unreached) if unreached else None,
    )
    return JSONResponse(health.model_dump(mode="json", exclude_none=True), headers={"Cache-Control": "no-store"})
