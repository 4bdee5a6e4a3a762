"""A body that is JSON or a form: the same fields either way. Files in a form are not looked at."""

import json
from collections.abc import Awaitable, Callable
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import HTTP
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


def body_reader(kind: type[T]) -> Callable[[Request], Awaitable[T]]:
    """Return the dependency that reads a body of this kind."""

    async def read(request: Request) -> T:
        content_type = request.headers.get("content-type", "")
        fields = _fields(content_type, await request.body())
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
    # A form in parts is MIME, which the standard library reads.
    head = f"Content-Type: {content_type}\r\n\r\n".encode("latin-1")
    whole = message_from_bytes(head + body, _class=EmailMessage, policy=HTTP)
    if whole.defects:
        raise ValueError("a form without its end, or without parts")
    found = {}
    for part in list(whole.iter_parts())[:MOST_FIELDS]:
        name = part.get_param("name", header="content-disposition")
        if isinstance(name, str) and part.get_filename() is None:
            content = part.get_payload(decode=True)
            found[name] = content.decode() if isinstance(content, bytes) else ""
    return found
