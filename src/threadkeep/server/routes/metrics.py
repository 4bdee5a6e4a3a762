"""`GET /metrics`: the numbers of this process for Prometheus, for who operates it.

They count all tenants together, so an administrator of one tenant sees them only if that is the operator's own.
"""

from fastapi import APIRouter
from starlette.responses import Response

from threadkeep.errors import NotAllowed
from threadkeep.server.identity.guards import Admin
from threadkeep.server.measures import Measures
from threadkeep.server.metrics import CONTENT_TYPE


def metrics_routes(measures: Measures, operator: str | None) -> APIRouter:
    """The route for one set of measures, for administrators of the operator's tenant."""
    router = APIRouter(tags=["health"])

    @router.get(
        "/metrics",
        summary="Numbers for Prometheus",
        response_class=Response,
        responses={200: {"content": {"text/plain": {}}, "description": "The text format of Prometheus."}},
    )
    async def metrics(who: Admin) -> Response:
        if who.scope.tenant != operator:
            raise NotAllowed
        return Response(measures.render(), media_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"})

    return router
