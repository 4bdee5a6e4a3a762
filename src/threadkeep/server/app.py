"""The application that `threadkeep serve` serves, and that tests call without a socket: routes, guards, page.

The store is handed in, open, and stays its owner's to close. Listening, signals and settings are not looked after
here.
"""

from pathlib import Path

from fastapi import APIRouter, FastAPI
from fastapi.responses import FileResponse
from starlette.staticfiles import StaticFiles

from threadkeep import __version__
from threadkeep.server.headers import SecurityHeaders
from threadkeep.server.health import health_routes
from threadkeep.server.loopback import LoopbackGuard
from threadkeep.server.problems import answer_with_problems
from threadkeep.settings import Settings
from threadkeep.store.base import Store

WEB = Path(__file__).parent.parent / "web"


def create_app(store: Store, settings: Settings) -> FastAPI:
    """Wire the application around an open store."""
    app = FastAPI(
        title="Threadkeep",
        version=__version__,
        # The interactive pages load their scripts from another host.
        docs_url=None,
        redoc_url=None,
    )
    app.state.settings = settings
    answer_with_problems(app)
    app.include_router(health_routes(store))
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
