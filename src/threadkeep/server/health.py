"""The two health routes: `/health/live` says that the process answers, `/health/ready` that it takes turns.

They hold no content and need no authentication. Degraded states of a turn are not reported here.
"""

import asyncio
from typing import Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from threadkeep.conversations import Conversations
from threadkeep.errors import Stopping, StoreUnavailable, ThreadkeepError
from threadkeep.server.problems import problem, problem_of
from threadkeep.server.responses import Shown

READY_SECONDS = 1.5
"""How long the store gets to answer; those who ask want to know within two seconds."""


class Health(Shown):
    """All is well; anything else is a problem."""

    status: Literal["ok"]


def health_routes(conversations: Conversations) -> APIRouter:
    router, asking = APIRouter(prefix="/health", tags=["health"]), _Asking(conversations)

    @router.get("/live", response_model=Health, summary="Whether the process answers")
    async def live() -> JSONResponse:
        return _healthy()

    @router.get("/ready", response_model=Health, summary="Whether turns can be begun")
    async def ready() -> JSONResponse:
        if conversations.is_stopping:
            return problem_of(Stopping())
        try:
            await asking.answer()
        except ThreadkeepError as error:
            return problem(503, error.code, str(error))
        return _healthy()

    return router


class _Asking:
    """Asks a store whether it works. One that hangs is asked once, however often somebody wants to know."""

    def __init__(self, conversations: Conversations) -> None:
        self._conversations = conversations
        self._asked: asyncio.Task[None] | None = None

    async def answer(self) -> None:
        """Return if it works; raise what is wrong with it, within the limit."""
        if self._asked is None or self._asked.done():
            self._asked = asyncio.create_task(self._conversations.ping())
            # Nobody may be left to hear how a late answer ends, which is no reason for a trace in the log.
            self._asked.add_done_callback(lambda asked: asked.cancelled() or asked.exception())
        done, _ = await asyncio.wait((self._asked,), timeout=READY_SECONDS)
        if not done:
            raise StoreUnavailable(f"The store has not answered within {READY_SECONDS:g} seconds.")
        await self._asked


def _healthy() -> JSONResponse:
    return JSONResponse({"status": "ok"}, headers={"Cache-Control": "no-store"})
