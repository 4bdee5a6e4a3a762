"""The dialect of stateless questions (R-D1): the client brings the history along, and nothing is stored unless asked.

The events are those of the native API. A stream that ended cannot be resumed, because its log is gone: an EventSource
that comes back is told to stop (204), and the model is not asked a second time.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Query
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, BeforeValidator, Field, TypeAdapter, ValidationError
from starlette.requests import HTTPConnection, Request
from starlette.responses import Response, StreamingResponse

from threadkeep.context.blocks import old_text_of
from threadkeep.conversation.events import Event
from threadkeep.conversation.ids import Id
from threadkeep.conversation.message import Message, Role, check_role
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue, StoreUnavailable, TurnNotFound
from threadkeep.runtime import open_store
from threadkeep.server.problems import problem
from threadkeep.server.requests import SentText, canonical_body, replay_headers
from threadkeep.server.routes.events import LastEventId
from threadkeep.server.sse import sse_response
from threadkeep.settings import Settings
from threadkeep.store.base import Store
from threadkeep.turn_handle import TurnHandle
from threadkeep_protocols.dialects.exchange import Caller, Calling, DialectBody, Exchange, undone_if_refused
from threadkeep_protocols.wire import stream_room

logger = logging.getLogger("threadkeep.dialects.stateless")


class Asides:
    """Opens temporary stores, and discards each when the stream of its turn ends."""

    def __init__(self, conversations: Conversations, max_bytes: int) -> None:
        self._conversations = conversations
        self._max_bytes = max_bytes
        self._ending: set[asyncio.Task[None]] = set()

    async def open(self) -> tuple[Conversations, Store]:
        """Return conversations in an empty store, whose turns count towards the limits."""
        store = await open_store("memory:", max_bytes=self._max_bytes)
        return self._conversations.beside(store), store

    async def follow(
        self, conversation: ConversationHandle, turn: TurnHandle, aside: tuple[Conversations, Store]
    ) -> AsyncGenerator[Event, None]:
        """Yield the events of a turn; when the reader leaves, the turn is stopped and its store discarded."""
        try:
            async with aclosing(turn.events()) as events:
                async for event in events:
                    yield event
        finally:
            # A task of its own: whoever closes a stream may itself be cancelled, and could not wait here.
            task = asyncio.create_task(self._end(conversation, *aside))
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)

    async def _end(self, conversation: ConversationHandle, conversations: Conversations, store: Store) -> None:
        try:
            with suppress(TurnNotFound):
                await conversation.cancel()
            await conversations.leave_turns(PATIENCE)
            await self._conversations.count_beside(conversation.scope, store)
        except StoreUnavailable as error:
            logger.warning("what a question that was asked aside has used is not counted: %s", error)
        except Exception:
            logger.exception("a question that was asked aside did not end cleanly")
        finally:
            await store.close()


HISTORY_TOKENS = 2000
PATIENCE = 5.0
"""Seconds in which a turn that was stopped ends."""
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
    content: SentText


class StatelessBody(DialectBody):
    """A question and what was said before it. `store` keeps both, and the answer, as a conversation."""

    query: SentText = Field(min_length=1, examples=["What stocks benefit from rate cuts?"])
    history: list[Said] | None = None
    store: bool | None = None


_HISTORY: TypeAdapter[list[Said] | None] = TypeAdapter(list[Said] | None)


def stateless_routes(conversations: Conversations, settings: Settings) -> APIRouter:
    router = APIRouter(prefix="/v1/chat/query", tags=["dialect: stateless"], dependencies=[Depends(stream_room)])
    exchange = Exchange(conversations, settings.dialects.stateless)
    asides = Asides(conversations, settings.max_message_bytes)

    async def ask(caller: Caller, body: StatelessBody) -> Response:
        assistant, history = exchange.assistant_for(body), trimmed(body.history or [], settings.max_history_length)
        if body.store:
            conversation, turn = await _begin(conversations, caller, assistant, history, body)
            headers = {"Location": f"/v1/conversations/{conversation.id}", **replay_headers(turn.replayed)}
            return sse_response(turn.events(), conversation.id, headers=headers)
        aside = await asides.open()
        conversation, turn = await _begin(aside[0], caller, assistant, history, body)
        return sse_response(asides.follow(conversation, turn, aside), conversation.id)

    @router.post("/stream", response_class=StreamingResponse, responses=_STREAMED, summary="Ask with a history")
    async def post(caller: Calling, body: StatelessBody) -> Response:
        return await ask(caller, body)

    @router.get(
        "/stream", response_class=StreamingResponse, responses=_STREAMED | _ASKED_BEFORE, summary="Ask with a history"
    )
    async def get(
        request: Request,
        caller: Calling,
        query: Annotated[str, Query(min_length=1)],
        history: Annotated[str, Query(description='A JSON list of {"role", "content"}.')] = "[]",
        assistant: Id | None = None,
        last_event_id: LastEventId = None,
    ) -> Response:
        if _is_opened_by_browser(request):
            return problem(403, "foreign_origin", "A link or an image asks nothing: send the question by a program.")
        if last_event_id is not None:
            return Response(status_code=204)
        body = StatelessBody(query=query, history=_parsed(history), assistant=assistant)
        return await ask(caller, body)

    return router


def _is_opened_by_browser(connection: HTTPConnection) -> bool:
    """Whether a browser loads this address as a page, frame, image or the like, as anybody's link can make it do; a
    program, `fetch` and `EventSource` do not."""
    headers = connection.headers
    loaded = [dest for dest in headers.getlist("sec-fetch-dest") if dest != "empty"]
    modes = [mode for mode in headers.getlist("sec-fetch-mode") if mode not in ("cors", "same-origin")]
    # Browsers of before 2023 send neither header.
    return bool(loaded or modes) or any(kind in headers.get("accept", "") for kind in ("text/html", "image/"))


def _parsed(history: str) -> list[Said]:
    try:
        return _HISTORY.validate_json(history or "[]") or []
    except ValidationError as error:
        wrong = [{**each, "loc": ("query", "history", *each["loc"])} for each in error.errors(include_url=False)]
        raise RequestValidationError(wrong) from None


def trimmed(history: list[Said], most: int, budget: int = HISTORY_TOKENS) -> list[Said]:
    """Return the newest history up to a number of messages and of tokens (R-D6).

    An old answer that does not fit whole stays as its short form (R-D5). The question does not count.
    """
    kept: list[Said] = []
    for item in reversed(history[-most:]):
        fitting = _fitting(item, budget)
        if fitting is None:
            break
        budget -= _tokens(fitting)
        kept.append(fitting)
    return kept[::-1]


def _fitting(item: Said, tokens: int) -> Said | None:
    shorter = [item]
    if item.role is Role.ASSISTANT:
        shorter.append(Said(role=item.role, content=old_text_of(_message(item))))
    return next((each for each in shorter if _tokens(each) <= tokens), None)


def _tokens(item: Said) -> int:
    """Return the plainest estimate of R-D6: one token for each four characters."""
    return max(1, (len(item.content) + 3) // 4)


def _message(item: Said) -> Message:
    return Message(role=item.role, content=item.content)


async def _begin(
    conversations: Conversations, caller: Caller, assistant: str | None, history: list[Said], body: StatelessBody
) -> tuple[ConversationHandle, TurnHandle]:
    """Make a conversation of history and question and begin its turn; each step has a key of its own."""
    key, asked = caller.key, canonical_body(body)
    named = key(f"{ROUTE} (conversation)", asked)
    created = await conversations.create(scope=caller.scope, key=named, assistant=assistant)
    async with undone_if_refused(created):
        if history:
            await created.append(*map(_message, history), key=key(f"{ROUTE} (history)", asked))
        return created, await created.send(body.query, key=key(ROUTE, asked))
