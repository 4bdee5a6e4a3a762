"""A body that is JSON or a form: the same fields either way. Files in a form are not looked at.

A form has few fields and short heads, so that reading it takes no longer than its size allows; a large one is read in a
thread.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable
from email.message import Message
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ValidationError
from starlette.requests import Request

from threadkeep.errors import InvalidValue

T = TypeVar("T", bound=BaseModel)

URL_ENCODED = "application/x-www-form-urlencoded"
MULTIPART = "multipart/form-data"
MOST_FIELDS = 100
MOST_HEAD = 1000
"""How long the description of a field, or of the whole form, may be."""
MANY_BYTES = 64 * 1024


def body_reader(kind: type[T]) -> Callable[[Request], Awaitable[T]]:
    """Return the dependency that reads a body of this kind."""

    async def read(request: Request) -> T:
        content_type = request.headers.get("content-type", "")
        body = await request.body()
        if len(body) > MANY_BYTES:
            fields = await asyncio.to_thread(_fields, content_type, body)
        else:
            fields = _fields(content_type, body)
        try:
            return kind.model_validate(fields)
        except ValidationError as error:
            wrong = [{**each, "loc": ("body", *each["loc"])} for each in error.errors(include_url=False)]
            raise RequestValidationError(wrong) from None

    return read


def described(kind: type[BaseModel]) -> dict[str, Any]:
    """Return the description of such a body for OpenAPI."""
    schema = kind.model_json_schema()
    types = ("application/json", URL_ENCODED, MULTIPART)
    return {"requestBody": {"required": True, "content": {each: {"schema": schema} for each in types}}}


def _fields(content_type: str, body: bytes) -> Any:
    name = content_type.partition(";")[0].strip().lower()
    try:
        if name == URL_ENCODED:
            return dict(parse_qsl(body.decode(), keep_blank_values=True, errors="strict", max_num_fields=MOST_FIELDS))
        if name == MULTIPART:
            return _parts(content_type, body)
        return json.loads(body)
    except (ValueError, RecursionError):
        raise InvalidValue("The body is neither JSON nor a form that can be read.") from None


def _parts(content_type: str, body: bytes) -> dict[str, str]:
    boundary = _parameter(content_type, "boundary")
    if not boundary:
        raise ValueError("a form in parts says how they are divided")
    _, *parts = (b"\r\n" + body).split(b"\r\n--" + boundary.encode(), MOST_FIELDS + 1)
    if not parts or not parts[-1].startswith(b"--"):
        raise ValueError("a form without its end, or with too many parts")
    found = {}
    for part in parts[:-1]:
        head, _, content = part.partition(b"\r\n\r\n")
        described = _disposition(head)
        name = _parameter(described, "name")
        if name is not None and _parameter(described, "filename") is None:
            found[name] = content.decode()
    return found


def _disposition(head: bytes) -> str:
    if len(head) > MOST_HEAD:
        raise ValueError("the head of a part is too long")
    lines = (line.partition(":") for line in head.decode().split("\r\n"))
    return next((value.strip() for name, _, value in lines if name.strip().lower() == "content-disposition"), "")


def _parameter(header: str, name: str) -> str | None:
    """Return a parameter of a header, such as the `b` of `a; name="b"`."""
    if len(header) > MOST_HEAD:
        raise ValueError("the head of a form is too long")
    message = Message()
    message["Content-Type"] = header
    found = message.get_param(name)
    return found if isinstance(found, str) else None
