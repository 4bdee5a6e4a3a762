"""Errors as clients see them: `application/problem+json` (RFC 9457) with a stable `code` to branch on.

Every error answer goes through `problem`, also those of the framework. Messages of unforeseen errors stay in the
server's log: they may hold content.
"""

from collections.abc import Mapping
from http import HTTPStatus

from fastapi import FastAPI
from fastapi.responses import JSONResponse
from starlette.exceptions import HTTPException
from starlette.requests import Request

from threadkeep.server.headers import SECURITY_HEADERS


def problem(status: int, code: str, detail: str, headers: Mapping[str, str] | None = None) -> JSONResponse:
    """An error answer; the detail is a sentence for a person."""
    return JSONResponse(
        {"type": "about:blank", "title": HTTPStatus(status).phrase, "status": status, "code": code, "detail": detail},
        status_code=status,
        headers={"Cache-Control": "no-store", **(headers or {})},
        media_type="application/problem+json",
    )


def answer_with_problems(app: FastAPI) -> None:
    """Make every error that reaches the framework a problem."""
    app.exception_handler(HTTPException)(_refused)
    app.exception_handler(Exception)(_failed)


async def _refused(request: Request, error: HTTPException) -> JSONResponse:
    code = HTTPStatus(error.status_code).name.lower()
    return problem(error.status_code, code, error.detail, error.headers)


async def _failed(request: Request, error: Exception) -> JSONResponse:
    # Starlette answers this one outside of all middleware, so it brings its headers along.
    return problem(500, "internal_error", "The server failed; its log says why.", SECURITY_HEADERS)
