"""Killing this server from its page, to see that nothing is lost: `threadkeep serve --killable` starts it again."""

import os
import signal

from fastapi import APIRouter

from threadkeep.server.identity.guards import Who


def trial_routes() -> APIRouter:
    router = APIRouter(include_in_schema=False)

    @router.post("/v1/kill")
    async def kill(who: Who) -> None:
        """End as a power cut would: without an answer, and without tidying up."""
        os.kill(os.getpid(), signal.SIGKILL)

    return router
