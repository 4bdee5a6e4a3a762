"""The application that `threadkeep serve` serves, and that tests call without a socket: routes, guards, page.

The conversations are passed in, open, and the caller closes them. Listening, signals and loading settings are not done
here.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import Depends, FastAPI
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import JSONResponse

from threadkeep import __version__
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.scope import LOCAL
from threadkeep.conversations import Conversations
from threadkeep.rings import GUARDS, PAGES, PROTOCOLS, load_all
from threadkeep.server.described import Described
from threadkeep.server.health import health_routes
from threadkeep.server.identity.api_keys import ApiKeyGuard
from threadkeep.server.identity.guards import Guard, OpenGuard, identify
from threadkeep.server.identity.refusals import Refusals, record_denials
from threadkeep.server.limits import Limits, within_rate
from threadkeep.server.logs import log_request
from threadkeep.server.metrics import ServerMetrics, metrics_routes
from threadkeep.server.middleware.body_size import BodySize
from threadkeep.server.middleware.headers import DEGRADED, AnswerHeaders, RootPath, root_path_of
from threadkeep.server.middleware.origins import OriginGuard
from threadkeep.server.middleware.tracking import OpenRequests, RecordRequests, TrackRequests
from threadkeep.server.negotiation import HeadRequests
from threadkeep.server.problems import DESCRIBED, answer_with_problems
from threadkeep.server.routes.about import about_routes
from threadkeep.server.routes.admin import admin_routes, user_routes
from threadkeep.server.routes.api_keys import api_key_routes, login_routes
from threadkeep.server.routes.audit import audit_routes
from threadkeep.server.routes.conversations import change_routes, conversation_routes
from threadkeep.server.routes.events import event_routes
from threadkeep.server.routes.export import export_routes
from threadkeep.server.routes.files import file_routes, upload_routes
from threadkeep.server.routes.messages import message_routes, reaction_routes
from threadkeep.server.routes.retention import retention_routes
from threadkeep.server.routes.search import search_routes
from threadkeep.server.routes.transfer import bulk_export_routes, import_routes
from threadkeep.settings import Settings
from threadkeep.store.values import Outage
from threadkeep.tally import Tally

ROUTES = (
    conversation_routes,
    change_routes,
    message_routes,
    reaction_routes,
    event_routes,
    search_routes,
    export_routes,
    upload_routes,
    file_routes,
    bulk_export_routes,
    import_routes,
    about_routes,
    admin_routes,
    api_key_routes,
    retention_routes,
    audit_routes,
)
"""What every server offers to who may come in, at the rate that they may ask."""
_FOR_USERS: dict[str, Any] = {"include_in_schema": False, "dependencies": [Depends(identify)]}
_SEEN = (
    "Content-Range ETag Idempotency-Replayed Location Preference-Applied Retry-After Upload-Complete "
    "Upload-Offset X-Request-Id"
)
CROSS_ORIGIN: dict[str, Any] = {
    "allow_methods": ["GET", "POST", "PUT", "PATCH", "DELETE"],
    "allow_headers": ["*"],
    "expose_headers": [*_SEEN.split(), DEGRADED],
}
"""What pages of the configured other sites may send and see: any header, because clients of protocols have their own,
but not cookies. Such pages send a key."""


def create_app(
    conversations: Conversations,
    settings: Settings,
    metrics: ServerMetrics | None = None,
    tally: Tally | None = None,
    guard: Guard | None = None,
) -> FastAPI:
    """Wire the application around open conversations, whose turns are counted in `metrics`, and requests in `tally`. A
    `guard` of yours lets people in, and nothing else does."""
    metrics = metrics or ServerMetrics()
    if guard is not None:
        settings = settings.model_copy(update={"auth": "keys"})
    refusals = Refusals(conversations.admin.audit, settings.operator_tenant or LOCAL.tenant)
    open_requests = OpenRequests()
    app = Described(
        lifespan=_life,
        title="Threadkeep",
        version=__version__,
        responses=DESCRIBED,
        # The interactive pages load their scripts from another host.
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        # A redirect would contain the address that this server sees, which differs behind a proxy.
        redirect_slashes=False,
    )
    app.state.guard = guard or OpenGuard()
    app.state.limits = Limits(settings, tally)
    app.state.open_requests = open_requests
    answer_with_problems(app)
    record_denials(app, refusals)
    app.include_router(health_routes(conversations, ready_in_outage=settings.ready_in_outage))
    operator = LOCAL.tenant if settings.auth == "none" else settings.operator_tenant
    app.include_router(metrics_routes(metrics, operator))
    if settings.auth == "keys" and guard is None:
        _let_in(app, conversations, settings, refusals)
    _add_routes(app, conversations, settings)
    app.add_api_route("/openapi.json", _describe, **_FOR_USERS)
    for add_pages in load_all(PAGES):
        add_pages(app, conversations, settings)
    _watch_work(metrics, conversations, open_requests)
    if settings.spool_dir is not None:
        _watch_spool(metrics, conversations)
    _surround(app, settings, open_requests, metrics)
    app.add_middleware(AnswerHeaders, outage=conversations.operations.outage)  # to every answer, so the last one
    return app


def _describe(request: Request) -> JSONResponse:
    """Describe the API, at the address where the client sees it."""
    root = root_path_of(request)
    return JSONResponse(request.app.openapi() | ({"servers": [{"url": root}]} if root else {}))


def _let_in(app: FastAPI, conversations: Conversations, settings: Settings, refusals: Refusals) -> None:
    """Let in who has an API key or a login, and who proves in another way to be somebody."""
    keys = ApiKeyGuard(conversations.admin.keyring, settings, refusals)
    app.include_router(login_routes(keys, conversations))
    app.state.guard = keys
    for add in load_all(GUARDS):
        app.state.guard = add(app, conversations, settings, app.state.guard)


def _add_routes(app: FastAPI, conversations: Conversations, settings: Settings) -> None:
    """Add what is offered to users, and what the settings switch on."""
    for routes in ROUTES:
        app.include_router(routes(conversations), dependencies=[Depends(within_rate)])
    app.include_router(user_routes(conversations, settings.audit_key), dependencies=[Depends(within_rate)])
    for protocol_routes in load_all(PROTOCOLS):
        app.include_router(protocol_routes(conversations, settings), dependencies=[Depends(within_rate)])


def _watch_work(metrics: ServerMetrics, conversations: Conversations, open_requests: OpenRequests) -> None:
    watch = metrics.watch
    watch("threadkeep_running_turns", "Conversations in which a turn runs.", lambda: conversations.admission.running)
    watch("threadkeep_open_streams", "Event streams that are open.", lambda: open_requests.streams)
    about = "Whether the tools of an MCP server can be called."
    watch("threadkeep_mcp_ready", about, conversations.mcp.ready, "server", "livemin")
    about = "Tenants for whom background work fails, because a part of the database is away."
    unreached = conversations.operations.unreached
    watch("threadkeep_unreached_tenants", about, lambda: getattr(unreached.state, "tenants", 0), of_all="livemax")


def _watch_spool(metrics: ServerMetrics, conversations: Conversations) -> None:
    def watch(name: str, about: str, ask: Callable[[Outage], float]) -> None:
        metrics.watch(
            f"threadkeep_{name}", about, lambda: ask(found) if (found := conversations.operations.outage()) else 0
        )

    watch("outage_seconds", "How long the database has been away or behind.", _seconds_since)
    watch("spooled_conversations", "Conversations with entries that only the spool has.", lambda it: it.conversations)
    watch("spooled_entries", "Entries that only the spool has.", lambda it: it.entries)
    watch("spooled_bytes", "Text in the spool.", lambda it: it.bytes)


def _seconds_since(outage: Outage) -> float:
    return (utc_now() - outage.since).total_seconds()


def _surround(app: FastAPI, settings: Settings, open_requests: OpenRequests, metrics: ServerMetrics) -> None:
    """Add the middleware; the one added last sees a request first."""
    app.add_middleware(HeadRequests)
    app.add_middleware(TrackRequests, open_requests=open_requests)
    app.add_middleware(BodySize, most=settings.max_body_bytes, files=_files(settings))
    if settings.cors_origins:
        app.add_middleware(CORSMiddleware, allow_origins=settings.cors_origins, **CROSS_ORIGIN)
    app.add_middleware(OriginGuard, origins=settings.cors_origins, loopback=settings.auth == "none")
    app.add_middleware(RecordRequests, listeners=(log_request, metrics.answered))
    app.add_middleware(RootPath, root_path=settings.root_path)


def _files(settings: Settings) -> dict[str, int]:
    """Return the paths that take files, and how many bytes; uploads are counted as they are stored."""
    return {"/v1/import": settings.max_import_bytes, "/v1/files": 0, "/v1/uploads": 0}


@asynccontextmanager
async def _life(app: FastAPI) -> AsyncIterator[None]:
    asyncio.get_running_loop().set_exception_handler(tell_unheard_error)
    yield


def tell_unheard_error(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Log an error that nobody waited for, unless it is a cut connection: PostgreSQL's driver leaves such an error
    unretrieved when connecting is cancelled, and the caller has got its own error."""
    is_future = context["message"].startswith("Future exception was never retrieved")
    if not (is_future and isinstance(context.get("exception"), ConnectionError)):
        loop.default_exception_handler(context)
