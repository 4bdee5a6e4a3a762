"""Errors as clients see them: `application/problem+json` (RFC 9457) with a stable `code` to branch on.

Every error answer goes through `problem`, also those of the framework. Messages of unforeseen errors stay in the
server's log: they may hold content.
"""

from collections.abc import Mapping
from http import HTTPStatus

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import Request

from threadkeep import errors
from threadkeep.errors import StaleHead, ThreadkeepError
from threadkeep.server.headers import SECURITY_HEADERS

_STATUS: tuple[tuple[type[ThreadkeepError], int], ...] = (
    (errors.ContentTooLarge, 413),
    (errors.InvalidInput, 400),
    (errors.NotFound, 404),
    (errors.StaleVersion, 412),
    (errors.KeyReused, 422),
    (errors.Conflict, 409),
    (errors.ModelRateLimited, 503),
    (errors.ModelError, 502),
    (errors.StoreFull, 507),
    (errors.StoreError, 503),
)
"""The status of an error is that of the first class in this list that it belongs to."""


def problem(
    status: int, code: str, detail: str, headers: Mapping[str, str] | None = None, **more: object
) -> JSONResponse:
    """An error answer; the detail is a sentence for a person, `more` is for programs."""
    title = HTTPStatus(status).phrase
    return JSONResponse(
        {"type": "about:blank", "title": title, "status": status, "code": code, "detail": detail, **more},
        status_code=status,
        headers={"Cache-Control": "no-store", **(headers or {})},
        media_type="application/problem+json",
    )


def answer_with_problems(app: FastAPI) -> None:
    """Make every error that reaches the framework a problem."""
    app.exception_handler(HTTPException)(_refused)
    app.exception_handler(RequestValidationError)(_misshapen)
    app.exception_handler(ThreadkeepError)(_known)
    app.exception_handler(Exception)(_failed)


async def _refused(request: Request, error: HTTPException) -> JSONResponse:
    code = HTTPStatus(error.status_code).name.lower()
    return problem(error.status_code, code, error.detail, error.headers)


async def _misshapen(request: Request, error: RequestValidationError) -> JSONResponse:
    wrong = error.errors()[0]
    place = ".".join(str(part) for part in wrong["loc"])
    return problem(422, "invalid_request", f"{place}: {wrong['msg']}")


async def _known(request: Request, error: ThreadkeepError) -> JSONResponse:
    return problem_of(error)


def problem_of(error: ThreadkeepError) -> JSONResponse:
    """Return the answer for an error of ours."""
    status = next((status for kind, status in _STATUS if isinstance(error, kind)), 500)
    more = {"head": error.head} if isinstance(error, StaleHead) else {}
    headers = {"Retry-After": "1"} if status == 503 else None
    return problem(status, error.code, str(error), headers, **more)


async def _failed(request: Request, error: Exception) -> JSONResponse:
    # Starlette answers this one outside of all middleware, so it brings its headers along.
    return problem(500, "internal_error", "The server failed; its log says why.", SECURITY_HEADERS)
