"""`POST /mcp`: one message of MCP in, its answer out, as JSON or as a stream (streamable HTTP).

Nothing is remembered between two requests, so that any worker and any instance may answer the next one.
"""

import logging
from collections.abc import Awaitable, Callable
from typing import Any

from fastapi import APIRouter, Depends, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from threadkeep.conversations import Conversations
from threadkeep.errors import PackageMissing
from threadkeep.server.identity.guards import LOOKS_ITSELF
from threadkeep.server.limits import room_for_stream
from threadkeep.settings import Settings

Serve = Callable[[Scope, Receive, Send], Awaitable[None]]


class _Answer(Response):
    """The answer that the SDK writes by itself, to a body that was read within the limits of the server."""

    def __init__(self, serve: Serve, body: bytes) -> None:
        super().__init__()
        self._serve = serve
        self._body: Message | None = {"type": "http.request", "body": body, "more_body": False}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def receive_again() -> Message:
            body, self._body = self._body, None
            return body or await receive()

        await self._serve(scope, receive_again, send)


def mcp_routes(conversations: Conversations, settings: Settings) -> APIRouter:
    router = APIRouter()
    serve = _server(conversations)

    @router.post("/mcp", dependencies=[Depends(room_for_stream)], include_in_schema=False)
    async def mcp(request: Request) -> Response:
        return _Answer(serve, await request.body())

    setattr(mcp, LOOKS_ITSELF, True)

    return router


def _server(conversations: Conversations) -> Serve:
    try:
        from mcp.server.streamable_http_manager import StreamableHTTPSessionManager

        from threadkeep_protocols.mcp.server import ConversationServer
    except ImportError as error:
        raise PackageMissing(f'The MCP server needs more: pip install "threadkeep[mcp]" ({error}).') from None
    sdk: Any = ConversationServer(conversations).sdk()
    # It says at the level of information that it begins and ends, which it does for every request here.
    logging.getLogger("mcp.server.streamable_http_manager").setLevel(logging.WARNING)

    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        # The SDK compares headers with the body, and they come with the spaces that were sent around them.
        scope = {**scope, "headers": [(name, value.strip()) for name, value in scope["headers"]]}
        manager = StreamableHTTPSessionManager(sdk, stateless=True, max_request_body_size=2**62)
        async with manager.run():
            await manager.handle_request(scope, receive, send)

    return serve
