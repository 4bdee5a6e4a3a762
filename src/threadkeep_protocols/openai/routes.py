"""The routes of OpenAI's API, at `/openai/v1`."""

from fastapi import APIRouter

from threadkeep.conversations import Conversations
from threadkeep.errors import NotFound
from threadkeep.server.identity.guards import Who
from threadkeep.settings import Settings
from threadkeep_protocols.openai.completions import add_completions
from threadkeep_protocols.openai.conversations import API, add_conversations, add_items
from threadkeep_protocols.openai.responses import add_responses
from threadkeep_protocols.openai.shapes import add_models, error_body
from threadkeep_protocols.wire import route_with


def openai_routes(conversations: Conversations, settings: Settings) -> APIRouter:
    """All of them."""
    router = APIRouter(prefix=API, include_in_schema=False, route_class=route_with(error_body))
    add_responses(router, conversations, settings)
    add_conversations(router, conversations)
    add_items(router, conversations)
    add_completions(router, conversations, settings)
    add_models(router, conversations)

    @router.api_route("/{path:path}", methods=["GET", "POST", "PUT", "PATCH", "DELETE"])
    async def nothing(who: Who, path: str) -> None:
        raise NotFound("There is nothing at this address.")

    return router
