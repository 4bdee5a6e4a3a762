"""The application that `threadkeep serve` serves, and that tests call without a socket: routes, guards, page.

The keeper is handed in, running, and stays its owner's to close. Listening, signals and settings are not looked after
here.
"""

from pathlib import Path

from fastapi import APIRouter, FastAPI
from fastapi.responses import FileResponse
from starlette.staticfiles import StaticFiles

from threadkeep import __version__
from threadkeep.keeper import Keeper
from threadkeep.server.headers import SecurityHeaders
from threadkeep.server.health import health_routes
from threadkeep.server.identity import OpenGuard
from threadkeep.server.loopback import LoopbackGuard
from threadkeep.server.problems import answer_with_problems
from threadkeep.server.routes.about import about_routes
from threadkeep.server.routes.conversations import conversation_routes
from threadkeep.server.routes.messages import message_routes
from threadkeep.server.routes.reading import reading_routes
from threadkeep.settings import Settings

WEB = Path(__file__).parent.parent / "web"


def create_app(keeper: Keeper, settings: Settings) -> FastAPI:
    """Wire the application around a running keeper."""
    app = FastAPI(
        title="Threadkeep",
        version=__version__,
        # The interactive pages load their scripts from another host.
        docs_url=None,
        redoc_url=None,
    )
    app.state.settings = settings
    app.state.guard = OpenGuard()
    answer_with_problems(app)
    app.include_router(health_routes(keeper.store))
    for routes in (conversation_routes, message_routes, reading_routes, about_routes):
        app.include_router(routes(keeper))
    app.include_router(_page())
    app.mount("/static", StaticFiles(directory=WEB), name="static")
    # The one added last sees a request first.
    app.add_middleware(LoopbackGuard)
    app.add_middleware(SecurityHeaders)
    return app


def _page() -> APIRouter:
    router = APIRouter()

    @router.get("/", include_in_schema=False)
    async def page() -> FileResponse:
        return FileResponse(WEB / "index.html", headers={"Cache-Control": "no-cache"})

    return router
