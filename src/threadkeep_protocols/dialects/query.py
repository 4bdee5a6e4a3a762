"""The dialect of queries (R-E9): `POST /chat` with `query` and `session_id`."""

from fastapi import APIRouter, Response
from pydantic import Field

from threadkeep.conversations import Conversations
from threadkeep.server.requests import SentText
from threadkeep.settings import Settings
from threadkeep_protocols.dialects.exchange import Asking, Calling, DialectBody, Exchange, Reply


class QueryBody(DialectBody):
    """A question; `session_id` missing, null or empty begins a conversation."""

    query: SentText = Field(min_length=1, examples=["Which phones are under $500?"])
    session_id: str | None = Field(default=None, examples=[None])


def query_routes(conversations: Conversations, settings: Settings) -> APIRouter:
    router, exchange = APIRouter(tags=["dialect: query"]), Exchange(conversations, settings.dialects.query)

    @router.post("/chat", response_model=Reply, summary="Ask and wait for the answer")
    async def chat(caller: Calling, body: QueryBody) -> Response:
        return await exchange.answer(
            Asking(caller=caller, content=body.query, session=body.session_id, route="POST /chat", body=body)
        )

    return router
