"""What protocols of others have in common on the wire: streams of data without names, and errors in their shapes."""

import json
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import aclosing
from typing import Any

from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import HTTPConnection, Request
from starlette.responses import JSONResponse, Response

from threadkeep.conversation.message import Usage
from threadkeep.errors import ThreadkeepError
from threadkeep.server.identity.guards import Actor
from threadkeep.server.limits import limits_of
from threadkeep.server.negotiation import refuse_head
from threadkeep.server.sse import EventStream

Shape = Callable[[int, str, str], Any]
"""Makes the body of an error answer of its status, its code and its sentence for a person."""
Told = dict[str, Any] | str


async def stream_room(connection: HTTPConnection, who: Actor) -> AsyncIterator[None]:
    """For routes that always answer with a stream: take a place until it ends."""
    refuse_head(connection)
    with limits_of(connection).stream(who.scope):
        yield


def data_stream(
    chunks: AsyncIterator[Told],
    failed: Callable[[ThreadkeepError], list[Told]],
    headers: dict[str, str] | None = None,
) -> EventStream:
    """Answer with server-sent events that have no names: each value as JSON, a text as it is (`[DONE]`). An error on
    the way is told in the protocol's own words, which `failed` returns."""

    async def encoded() -> AsyncIterator[bytes]:
        try:
            async with aclosing(chunks) as open_chunks:  # type: ignore[type-var]
                async for chunk in open_chunks:
                    yield data_event(chunk)
        except ThreadkeepError as error:
            for chunk in failed(error):
                yield data_event(chunk)

    return EventStream(encoded(), headers)


def data_event(chunk: Told) -> bytes:
    """Return one event without a name."""
    text = chunk if isinstance(chunk, str) else json.dumps(chunk, ensure_ascii=False, separators=(",", ":"))
    for end_of_line in "\u2028\u2029\x85":
        text = text.replace(end_of_line, f"\\u{ord(end_of_line):04x}")
    return f"data: {text}\n\n".encode()


def usage_json(usage: Usage) -> dict[str, Any]:
    """Return what an answer took in the words that the AI SDK and AG-UI share."""
    return {
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "totalTokens": usage.input_tokens + usage.output_tokens,
        "cachedInputTokens": usage.cached_tokens,
    }


def route_with(shape: Shape) -> type[APIRoute]:
    """Return the class of a router's routes (`APIRouter(route_class=...)`) whose errors have the shape that the clients
    of a protocol expect; status, headers and the stable `code` are those of the native API."""

    class ShapedRoute(APIRoute):
        """A route whose errors have another shape."""

        def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
            handle = super().get_route_handler()

            async def answer(request: Request) -> Response:
                try:
                    return await handle(request)
                except (ThreadkeepError, HTTPException, RequestValidationError) as error:
                    return await _shaped(request, error, shape)

            return answer

    return ShapedRoute


async def _shaped(request: Request, error: Exception, shape: Shape) -> Response:
    handlers = request.app.exception_handlers
    handler = next(handlers[kind] for kind in type(error).__mro__ if kind in handlers)
    answer: Response = await handler(request, error)
    if not isinstance(answer, JSONResponse):
        return answer
    problem = json.loads(bytes(answer.body))
    kept = {name: value for name, value in answer.headers.items() if name not in ("content-length", "content-type")}
    shaped = shape(answer.status_code, problem["code"], problem["detail"])
    request.scope.setdefault("state", {})["problem"] = problem["code"]
    return JSONResponse(shaped, answer.status_code, kept)
