"""Shapes that all parts of OpenAI's API share: errors, and models, which are assistants here."""

from fastapi import APIRouter

from threadkeep.conversations import Conversations
from threadkeep.errors import NotFound
from threadkeep.server.identity.guards import Who
from threadkeep_protocols.openai.items import SERVER, Json

_KINDS = {
    401: "authentication_error",
    403: "permission_error",
    429: "rate_limit_error",
}


def error_body(status: int, code: str, detail: str) -> Json:
    """Return an error as OpenAI's clients read it, with our stable code."""
    kind = _KINDS.get(status, "server_error" if status >= 500 else "invalid_request_error")
    return {"error": {"message": detail, "type": kind, "param": None, "code": code}}


def add_models(router: APIRouter, conversations: Conversations) -> None:
    """Add the routes of models."""

    @router.get("/models")
    async def models(who: Who) -> Json:
        return {"object": "list", "data": [_model(name) for name in conversations.assistants]}

    @router.get("/models/{name}")
    async def model(who: Who, name: str) -> Json:
        if name not in conversations.assistants:
            raise NotFound("There is no such model.")
        return _model(name)


def _model(name: str) -> Json:
    return {"id": name, "object": "model", "created": 0, "owned_by": SERVER}
