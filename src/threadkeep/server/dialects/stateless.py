"""The dialect of stateless questions (R-D1): the client brings the history along, and nothing is stored unless asked.

The events are those of the native API. A stream that ended cannot be taken up again: the place behind its cursors is
gone, so an EventSource that comes back is told to stop (204) instead of asking the model a second time.
"""

from collections.abc import AsyncIterator
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter, ValidationError
from starlette.requests import HTTPConnection
from starlette.responses import Response, StreamingResponse

from threadkeep.context.blocks import old_text_of
from threadkeep.context.tokens import four_characters_each
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.events import Event
from threadkeep.conversation.ids import Id
from threadkeep.conversation.message import Message, Role, check_role
from threadkeep.conversation.value import Text
from threadkeep.errors import InvalidValue
from threadkeep.keeper import Keeper, log_created
from threadkeep.server.bodies import canonical_body
from threadkeep.server.dialects.aside import Asides, open_aside
from threadkeep.server.dialects.exchange import (
    Caller,
    Calling,
    DialectBody,
    Exchange,
    Sent,
    check_room,
    undone_if_refused,
)
from threadkeep.server.idempotency_header import replay_headers
from threadkeep.server.identity.guards import Actor
from threadkeep.server.limits import Limited
from threadkeep.server.negotiation import refuse_head
from threadkeep.server.routes.reading import LastEventId
from threadkeep.server.sse import stream
from threadkeep.settings import Settings
from threadkeep.store.base import Append
from threadkeep.turn.desk import Desk
from threadkeep.turn.steps.accept import Sending

HISTORY_TOKENS = 2000
ROUTE = "POST /v1/chat/query/stream"
_STREAMED: dict[int | str, dict[str, Any]] = {200: {"content": {"text/event-stream": {}}, "description": "The turn."}}
_ASKED_BEFORE: dict[int | str, dict[str, Any]] = {
    204: {"description": "An EventSource came back: the question was asked before and is not asked again."}
}


def _check_role(role: object) -> Role:
    if check_role(role) is Role.TOOL:
        raise InvalidValue("A history has messages of system, user and assistant.")
    return Role(str(role))


class Said(BaseModel):
    """A message of the history."""

    role: Annotated[Role, BeforeValidator(_check_role)]
    content: Text


class StatelessBody(DialectBody):
    """A question and what was said before it. `store` keeps both, and the answer, as a conversation."""

    query: Text = Field(min_length=1, examples=["What stocks benefit from rate cuts?"])
    history: list[Said] = Field(default_factory=list)
    store: bool = False


_HISTORY: TypeAdapter[list[Said]] = TypeAdapter(list[Said])


def stateless_routes(keeper: Keeper, settings: Settings) -> APIRouter:
    """The routes for one keeper."""
    router = APIRouter(prefix="/v1/chat/query", tags=["dialect: stateless"], dependencies=[Depends(_room)])
    exchange, asides = Exchange(keeper, settings.dialects.stateless), Asides()

    async def ask(caller: Caller, body: StatelessBody) -> Response:
        new, history = exchange.new(body), trimmed(body.history, settings.max_history_length)
        if body.store:
            await check_room(caller)
            return await _stored(keeper, caller, await _begin(keeper.desk, caller, new, history, body))
        desk = await open_aside(keeper, settings.max_message_bytes)
        sent = await _begin(desk, caller, new, history, body)
        return _streamed(sent, asides.follow(desk, caller.scope, sent))

    @router.post("/stream", response_class=StreamingResponse, responses=_STREAMED, summary="Ask with a history")
    async def post(caller: Calling, body: StatelessBody) -> Response:
        return await ask(caller, body)

    @router.get(
        "/stream",
        response_class=StreamingResponse,
        responses=_STREAMED | _ASKED_BEFORE,
        summary="Ask with a history",
    )
    async def get(
        caller: Calling,
        query: Annotated[str, Query(min_length=1)],
        history: Annotated[str, Query(description='A JSON list of {"role", "content"}.')] = "[]",
        assistant: Id | None = None,
        last_event_id: LastEventId = None,
    ) -> Response:
        if last_event_id is not None:
            return Response(status_code=204)
        body = StatelessBody(query=query, history=_parsed(history), assistant=assistant)
        return await ask(caller, body)

    return router


async def _room(connection: HTTPConnection, who: Actor, limits: Limited) -> AsyncIterator[None]:
    refuse_head(connection)
    with limits.stream(who.scope):
        yield


async def _stored(keeper: Keeper, caller: Caller, sent: Sent) -> Response:
    keeper.changed(caller.scope)
    headers = {"Location": f"/v1/conversations/{sent.conversation}", **replay_headers(sent.begun.replayed)}
    events = keeper.desk.follow_turn(caller.scope, sent.conversation, sent.begun)
    return _streamed(sent, events, headers)


def _streamed(sent: Sent, events: AsyncIterator[Event], headers: dict[str, str] | None = None) -> Response:
    return stream(events, sent.conversation, headers=headers)


def _parsed(history: str) -> list[Said]:
    try:
        return _HISTORY.validate_json(history or "[]")
    except ValidationError as error:
        wrong = [{**each, "loc": ("query", "history", *each["loc"])} for each in error.errors(include_url=False)]
        raise RequestValidationError(wrong) from None


def trimmed(history: list[Said], most: int, budget: int = HISTORY_TOKENS) -> list[Said]:
    """Return as much of the newest history as is kept: so many messages, so many tokens (R-D6).

    An old answer that does not fit whole stays as its short form (R-D5). The question does not count.
    """
    kept: list[Said] = []
    for item in reversed(history[-most:]):
        fitting = _fitting(item, budget)
        if fitting is None:
            break
        budget -= four_characters_each(_message(fitting))
        kept.append(fitting)
    return kept[::-1]


def _fitting(item: Said, tokens: int) -> Said | None:
    shorter = [item]
    if item.role is Role.ASSISTANT:
        shorter.append(Said(role=item.role, content=old_text_of(_message(item))))
    return next((each for each in shorter if four_characters_each(_message(each)) <= tokens), None)


def _message(item: Said) -> Message:
    return Message(role=item.role, content=item.content)


async def _begin(desk: Desk, caller: Caller, new: NewConversation, history: list[Said], body: StatelessBody) -> Sent:
    """Make a conversation of history and question and begin its turn; each step has a key of its own."""
    scope, key, asked = caller.scope, caller.key, canonical_body(body)
    created = await desk.store.create(scope, new, key=key(f"{ROUTE} (conversation)", asked))
    log_created(created)
    id = created.conversation.id
    async with undone_if_refused(desk.store, created):
        if history:
            append = Append(bodies=tuple(map(_message, history)), key=key(f"{ROUTE} (history)", asked))
            await desk.store.append(scope, id, append)
        begun = await desk.send(scope, id, Sending(content=body.query, key=key(ROUTE, asked)))
    return Sent(conversation=id, begun=begun)
