"""The two health routes: `/health/live` says that the process answers, `/health/ready` that it takes turns.

They hold no content and need no authentication. Degraded states of a turn are not reported here.
"""

from typing import Literal

from fastapi import APIRouter
from fastapi.responses import JSONResponse

from threadkeep.errors import Stopping, ThreadkeepError
from threadkeep.server.problems import problem, problem_of
from threadkeep.server.shown import Shown
from threadkeep.store.base import Store
from threadkeep.turn.admission import Admission


class Health(Shown):
    """All is well; anything else is a problem."""

    status: Literal["ok"]


def health_routes(store: Store, admission: Admission) -> APIRouter:
    """The routes for one open store, and for who may begin turns on it."""
    router = APIRouter(prefix="/health", tags=["health"])

    @router.get("/live", response_model=Health, summary="Whether the process answers")
    async def live() -> JSONResponse:
        return _healthy()

    @router.get("/ready", response_model=Health, summary="Whether turns can be begun")
    async def ready() -> JSONResponse:
        if admission.is_closed:
            return problem_of(Stopping())
        try:
            await store.ping()
        except ThreadkeepError as error:
            return problem(503, error.code, str(error))
        return _healthy()

    return router


def _healthy() -> JSONResponse:
    return JSONResponse({"status": "ok"}, headers={"Cache-Control": "no-store"})
