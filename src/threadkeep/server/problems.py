"""Errors as clients see them: `application/problem+json` (RFC 9457) with a stable `code` to branch on.

Every error answer goes through `problem`, also those of the framework. Messages of unforeseen errors stay in the
server's log: they may hold content.
"""

import math
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match, Mount
from starlette.types import Receive, Scope, Send

from threadkeep import errors
from threadkeep.conversation.turn import Failure
from threadkeep.errors import InvalidValue, ThreadkeepError, UnknownModel
from threadkeep.server.middleware.headers import REQUEST_ID, SECURITY_HEADERS, current_request_id
from threadkeep.server.negotiation import IS_HEAD

CLIENT_LEFT = 499
"""The status in logs and metrics of a request whose client left before the answer."""
_STATUS: tuple[tuple[type[ThreadkeepError], int], ...] = (
    (errors.NotAuthenticated, 401),
    (errors.NotAllowed, 403),
    (errors.ContentTooLarge, 413),
    (errors.InvalidInput, 400),
    (errors.NotFound, 404),
    (errors.StaleVersion, 412),
    (errors.KeyReused, 422),
    (errors.Conflict, 409),
    (errors.LimitReached, 429),
    (errors.Stopping, 503),
    (errors.UnknownModel, 409),
    (errors.ModelRateLimited, 503),
    (errors.ModelError, 502),
    (errors.RetrievalError, 503),
    (errors.StoreFull, 507),
    (errors.StoreError, 503),
)
"""The status of an error is that of the first class in this list that it belongs to."""

TOLD = ("head", "version", "state", "offset", "budget")
"""What some errors know besides: `stale_head`, `stale_version`, `turn_over`, `draft_mismatch`, `budget_exhausted`."""
UNREADABLE = "There was an error parsing the body"
"""The framework's message for a body that is no JSON where the parser gives no reason."""
_SAID = {
    "Not Found": "There is nothing at this address.",
    "Method Not Allowed": "This address does not take such a request; `Allow` says which it takes.",
}
"""Our words in place of the framework's, which only repeat the title."""

_ONLY_HERE = (
    "body_too_large budget_exhausted foreign_host foreign_origin head_too_large internal_error invalid_http "
    "invalid_request method_not_allowed not_found out_of_memory range_not_satisfiable request_timeout "
    "too_many_connections too_many_values turn_over unsupported_media_type"
)
"""The codes of problems that the server alone knows, or turns of loops of one's own."""


def _codes(kind: type[ThreadkeepError] = ThreadkeepError) -> set[str]:
    """Return the codes of the tree of errors."""
    return {kind.code}.union(*(_codes(each) for each in kind.__subclasses__() if each.__module__ == errors.__name__))


BUDGET = ("whose", "period", "unit", "limit", "used", "remaining", "resets_at")
PROBLEM: dict[str, Any] = {
    "title": "Problem",
    "type": "object",
    "required": ["type", "title", "status", "code", "detail"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "code": {
            "type": "string",
            "description": "What is wrong, for programs. A later release, or a package beside this one, may have more.",
            "x-extensible-enum": sorted(_codes().union(_ONLY_HERE.split())),
        },
        "detail": {"type": "string"},
        "request_id": {"type": "string"},
        "head": {"type": ["integer", "null"], "description": "The new head, with `stale_head`."},
        "version": {"type": "integer", "description": "The new version, with `stale_version`."},
        "state": {"type": ["string", "null"], "description": "How the turn is, with `turn_over`."},
        "offset": {"type": "integer", "description": "Where to go on, with `draft_mismatch`."},
        "budget": {
            "type": "object",
            "properties": {name: {"type": "string"} for name in BUDGET},
            "description": "Which budget, how much is left, until when: `budget_exhausted`.",
        },
    },
}
DESCRIBED: dict[int | str, dict[str, Any]] = {
    "default": {
        "description": "A problem: `code` is stable and for programs, `detail` is a sentence for people.",
        "content": {
            "application/problem+json": {
                "schema": {"$ref": "#/components/schemas/Problem"},
                "example": {
                    "type": "about:blank",
                    "title": "Not Found",
                    "status": 404,
                    "code": "conversation_not_found",
                    "detail": "There is no such conversation.",
                    "request_id": "01a1dda9-2143-70f8-8ee4-a64954d53cbe",
                },
            }
        },
    }
}
"""How every error answer looks, for OpenAPI."""


class Problem(JSONResponse):
    """An error answer; it leaves its code with the request, for log and metrics."""

    media_type = "application/problem+json"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope.setdefault("state", {})["problem"] = self.code
        await super().__call__(scope, receive, send)

    def __init__(self, content: dict[str, object], headers: Mapping[str, str], status: int, code: str) -> None:
        super().__init__(content, status, headers)
        self.code = code


def problem(status: int, code: str, detail: str, headers: Mapping[str, str] | None = None, **more: object) -> Problem:
    """An error answer; the detail is a sentence for a person, `more` is for programs."""
    fields: dict[str, object] = {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status}
    fields |= {"code": code, "detail": detail, **more}
    if id := current_request_id():
        fields["request_id"] = id
    return Problem(fields, {"Cache-Control": "no-store", **(headers or {})}, status, code)


def answer_with_problems(app: FastAPI) -> None:
    """Make every error that reaches the framework a problem."""
    app.exception_handler(HTTPException)(_refused)
    app.exception_handler(RequestValidationError)(_misshapen)
    app.exception_handler(ThreadkeepError)(_known)
    app.exception_handler(ClientDisconnect)(_left)
    app.exception_handler(Exception)(_failed)


async def _refused(request: Request, error: HTTPException) -> Response:
    status, headers, detail = error.status_code, error.headers, error.detail
    if status == 405 and (allowed := _allowed(request)):
        headers = {"Allow": ", ".join(allowed)}
    if isinstance(error.__cause__, ClientDisconnect):
        return await _left(request, error.__cause__)
    if isinstance(error.__cause__, MemoryError):
        return problem(503, "out_of_memory", "The server has no memory left for this request.", {"Retry-After": "1"})
    if detail == UNREADABLE:
        return problem(422, "invalid_request", "The body is not JSON in UTF-8, or it is nested too deeply.")
    return problem(status, HTTPStatus(status).name.lower(), _SAID.get(detail, detail), headers)


def _allowed(request: Request) -> list[str]:
    """Return the methods that an address takes in all of its routes; the page's folder sets its own header."""
    routes = [route for route in request.app.routes if not isinstance(route, Mount)]
    allowed = [
        method
        for method in ("GET", "POST", "PUT", "PATCH", "DELETE")
        if any(route.matches({**request.scope, "method": method})[0] is Match.FULL for route in routes)
    ]
    # GET implies HEAD, unless HEAD is what was just refused.
    return [*allowed, "HEAD"] if "GET" in allowed and IS_HEAD not in request.scope else allowed


async def _misshapen(request: Request, error: RequestValidationError) -> JSONResponse:
    wrong = error.errors()[0]
    place = ".".join(str(part) for part in wrong["loc"])
    match wrong["type"]:
        case "json_invalid" if wrong["loc"][0] == "body":
            reason = wrong.get("ctx", {}).get("error", wrong["msg"])
            return problem(422, "invalid_request", f"The body is not JSON: {reason} (character {wrong['loc'][-1]}).")
        case "model_attributes_type" | "model_type" if isinstance(wrong.get("input"), bytes):
            return problem(415, "unsupported_media_type", "Send JSON, with the header Content-Type: application/json.")
        case "model_attributes_type" | "model_type":
            return problem(422, "invalid_request", f"{place}: Input should be a JSON object")
        case _:
            return problem(422, "invalid_request", f"{place}: {wrong['msg']}")


async def _known(request: Request, error: ThreadkeepError) -> JSONResponse:
    return problem_of(error)


def problem_of(error: ThreadkeepError) -> JSONResponse:
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    more = {name: getattr(error, name) for name in TOLD if hasattr(error, name)}
    wait = getattr(error, "retry_after", None) or 1
    headers = {"Retry-After": str(math.ceil(wait))} if status in (429, 503) else None
    if status == 401:
        headers = {"WWW-Authenticate": 'Bearer realm="threadkeep"'}
    return problem(status, error.code, str(error), headers, **more)


async def _left(request: Request, error: ClientDisconnect) -> Response:
    """Note for log and metrics that a client left before its request was complete or answered."""
    return Response(status_code=CLIENT_LEFT)


async def _failed(request: Request, error: Exception) -> JSONResponse:
    # Starlette sends this answer outside of all middleware, so it needs the headers that they would add.
    headers = SECURITY_HEADERS | {REQUEST_ID: current_request_id() or ""}
    return problem(500, "internal_error", "The server failed; its log says why.", headers)


def is_conflict(failure: Failure) -> bool:
    """Whether a turn failed because its conversation names a model or an assistant that this server does not have.

    The question is kept, and the client can change the name and have it answered again: a conflict, no bad gateway.
    """
    return failure.code in (UnknownModel.code, InvalidValue.code)


def problem_of_turn(failure: Failure, **more: object) -> Problem:
    return problem(409 if is_conflict(failure) else 502, failure.code, failure.detail, None, **more)
