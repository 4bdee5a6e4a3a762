"""`GET /metrics`: the numbers of this process for Prometheus, for administrators."""

from fastapi import APIRouter
from starlette.responses import Response

from threadkeep.server.identity import Admin
from threadkeep.server.measures import Measures
from threadkeep.server.metrics import CONTENT_TYPE


def metrics_routes(measures: Measures) -> APIRouter:
    """The route for one set of measures."""
    router = APIRouter(tags=["health"])

    @router.get(
        "/metrics",
        summary="Numbers for Prometheus",
        response_class=Response,
        responses={200: {"content": {"text/plain": {}}, "description": "The text format of Prometheus."}},
    )
    async def metrics(who: Admin) -> Response:
        return Response(measures.render(), media_type=CONTENT_TYPE, headers={"Cache-Control": "no-store"})

    return router
