"""A body that is JSON or a form: the same fields either way. Files in a form are not looked at."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request

from threadkeep.errors import InvalidValue

T = TypeVar("T", bound=BaseModel)

URL_ENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
MOST_FIELDS = 100
MANY_BYTES = 64 * 1024
"""A larger body is read in a thread."""


def body_reader(kind: type[T]) -> Callable[[Request], Awaitable[T]]:
    """Return the dependency that reads a body of this kind."""

    async def read(request: Request) -> T:
        return read_body(kind, await _fields(request))

    return read


def read_body(kind: type[T], fields: Any) -> T:
    """Return a body of this kind that was read before; what is wrong with it is told as if it were the request's."""
    try:
        return kind.model_validate(fields)
    except ValidationError as error:
        wrong = [{**each, "loc": ("body", *each["loc"])} for each in error.errors(include_url=False)]
        raise RequestValidationError(wrong) from None


def described(kind: type[BaseModel]) -> dict[str, Any]:
    """Return the description of such a body for OpenAPI."""
    schema = kind.model_json_schema()
    types = ("application/json", URL_ENCODED, MULTIPART)
    return {"requestBody": {"required": True, "content": {each: {"schema": schema} for each in types}}}


async def _fields(request: Request) -> Any:
    content_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    try:
        body = await request.body()
        if content_type == MULTIPART:
            # The body was read before, within the size limit, so that the parser needs no end of the stream.
            if not body.rstrip().endswith(b"--"):
                raise ValueError("a form without its end")
            limits = {"max_files": MOST_FIELDS, "max_fields": MOST_FIELDS, "max_part_size": len(body)}
            async with request.form(**limits) as form:
                return {name: value for name, value in form.items() if isinstance(value, str)}
        read = _url_encoded if content_type == URL_ENCODED else json.loads
        return await asyncio.to_thread(read, body) if len(body) > MANY_BYTES else read(body)
    except (ValueError, RecursionError, HTTPException):
        raise InvalidValue("The body is neither JSON nor a form that can be read.") from None


def _url_encoded(body: bytes) -> dict[str, str]:
    return dict(parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS))
