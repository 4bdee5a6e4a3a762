"""The routes of OpenAI's Responses: create, follow, read, cancel and delete one, and what was said to it."""

from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, suppress
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Header, Query
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response

from threadkeep.conversation.cursor import MAX_SEQ
from threadkeep.conversation.entry import Approval, Entry
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import TurnChange
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue, ThreadkeepError, TurnNotFound
from threadkeep.server.identity.guards import Who
from threadkeep.server.middleware.tracking import unless_gone
from threadkeep.server.requests import Key
from threadkeep.server.sse import EventStream, encode
from threadkeep.settings import Settings
from threadkeep_protocols.chats import log_behind
from threadkeep_protocols.dialects.form import body_reader
from threadkeep_protocols.openai.aside import Aside
from threadkeep_protocols.openai.asking import REQUEST, Asking, Request, digest_of
from threadkeep_protocols.openai.bodies import ResponseBody
from threadkeep_protocols.openai.conversation_items import ConversationItems, Order, listed
from threadkeep_protocols.openai.conversations import After, Limit
from threadkeep_protocols.openai.events import behind
from threadkeep_protocols.openai.ids import ResponseId, conversation_of
from threadkeep_protocols.openai.items import Json, decision_item, message_item
from threadkeep_protocols.openai.stretch import Stretch
from threadkeep_protocols.wire import stream_room

_ROOM = [Depends(stream_room)]
Retry = Annotated[str, Header(alias="x-stainless-retry-count", max_length=20)]


async def request_of(http: HttpRequest, who: Who, key: Key, retries: Retry = "0") -> Request:
    """Return who sent a request, and by what it is known if it comes again."""
    body = await http.body()
    digest, route = digest_of(body), f"{http.method} {http.url.path}"
    is_repeated = retries.isascii() and retries.isdigit() and int(retries) > 0
    return Request(who.scope, lambda what: key(f"{route} {what}", digest), digest, is_repeated)


Sender = Annotated[Request, Depends(request_of)]
Asked = Annotated[ResponseBody, Depends(body_reader(ResponseBody))]


class Responses:
    """Finds and tells responses."""

    def __init__(self, conversations: Conversations) -> None:
        self.conversations = conversations

    async def find(self, scope: Scope, id: str) -> Stretch:
        """Return a response that is to be told; `NotFound` if there is none with this id."""
        named = ResponseId.read(id)
        chat = await conversation_of(self.conversations, scope, named)
        return await Stretch(chat, chat.turn(named.turn), named.begin).open(self.conversations)

    async def said_to(self, stretch: Stretch) -> list[Json]:
        """Return the items that were sent for a response."""
        if stretch.begin is not None:
            return await _decided(stretch, stretch.begin)
        found: list[Entry] = []
        opening = await stretch.chat.reading.entry(stretch.turn.number)
        if isinstance(opening.body, TurnChange) and opening.body.message is not None:
            return [message_item(opening.body.message)]
        head = opening.seq if opening.continues_branch else opening.parent
        async with aclosing(stretch.chat.reading.backwards(head=head)) as entries:
            async for entry in entries:
                if entry.turn not in (None, stretch.turn.number):
                    break
                found.append(entry)
        return await ConversationItems(self.conversations, stretch.chat).of(found[::-1])


def add_responses(router: APIRouter, conversations: Conversations, settings: Settings) -> None:
    """Add the routes of responses."""
    responses, aside = Responses(conversations), Aside(conversations, settings)

    @router.post("/responses", dependencies=_ROOM)
    async def create(http: HttpRequest, who: Who, request: Sender, body: Asked) -> Response:
        if body.store is False:
            body.check()
            stretch, source = await aside.response(who.scope, body)
            told: AsyncGenerator[Json, None] = stretch.events(source)
        else:
            stretch = await (await Asking(conversations, request, body).stretch()).open(conversations)
            if body.background and not body.stream:
                return JSONResponse(await stretch.whole())
            told = stretch.events()
        if body.stream:
            return _streamed(stretch, told)
        return JSONResponse(await unless_gone(http.receive, _last(told)))

    @router.get("/responses/{id}", dependencies=_ROOM)
    async def read(
        who: Who,
        id: str,
        stream: bool = False,
        starting_after: Annotated[int | None, Query(ge=0, le=MAX_SEQ)] = None,
    ) -> Response:
        stretch = await responses.find(who.scope, id)
        if stream:
            return _streamed(stretch, stretch.events(), starting_after)
        return JSONResponse(await stretch.whole())

    @router.post("/responses/{id}/cancel")
    async def cancel(who: Who, id: str) -> Json:
        stretch = await responses.find(who.scope, id)
        with suppress(TurnNotFound):  # it has just ended
            await stretch.chat.cancel(stretch.turn.number)
        return await (await responses.find(who.scope, id)).whole()

    @router.delete("/responses/{id}")
    async def delete(who: Who, id: str) -> Json:
        stretch = await responses.find(who.scope, id)
        await _delete(stretch)
        return {"id": id, "object": "response.deleted", "deleted": True}

    @router.get("/responses/{id}/input_items", dependencies=_ROOM)
    async def input_items(who: Who, id: str, limit: Limit = 20, order: Order = "desc", after: After = None) -> Json:
        items = await responses.said_to(await responses.find(who.scope, id))
        return _page(items if order == "asc" else items[::-1], limit, after)


async def _decided(stretch: Stretch, begin: int) -> list[Json]:
    """Return what was answered about the calls of the wait before a response."""
    items: list[Json] = []
    async for entry in log_behind(stretch.chat, begin):
        if isinstance(entry.body, Message) and entry.turn == stretch.turn.number:
            break
        if isinstance(entry.body, Approval):
            items.append(decision_item(entry.body, entry.seq))
    return items


async def _delete(stretch: Stretch) -> None:
    """Delete the conversation that a response made for itself, if nothing else was said in it."""
    chat, number = stretch.chat, stretch.turn.number
    if REQUEST in (await chat.read()).metadata and stretch.begin is None:
        async for entry in log_behind(chat, 0):
            is_said_later = isinstance(entry.body, Message) and entry.turn is None and entry.seq > number
            if entry.turn not in (None, number) or is_said_later:
                break
        else:
            await chat.delete()
            return
    raise InvalidValue("This is part of a conversation, of which nothing is deleted alone; delete the conversation.")


def _page(items: list[Json], limit: int, after: str | None) -> Json:
    ids = [item["id"] for item in items]
    if after is not None and after not in ids:
        raise InvalidValue("There is no such item in this list.")
    rest = items if after is None else items[ids.index(after) + 1 :]
    return listed(rest[:limit], has_more=len(rest) > limit)


async def _last(events: AsyncGenerator[Json, None]) -> Json:
    """Wait for the end of a response and return it."""
    last: Json = {}
    async with aclosing(events) as open_events:
        async for event in open_events:
            last = event.get("response", last)
    return last


def _streamed(stretch: Stretch, events: AsyncGenerator[Json, None], after: int | None = None) -> EventStream:
    """Answer with the events of a response, from a place on."""

    async def encoded() -> AsyncIterator[bytes]:
        try:
            async with aclosing(events) as open_events:
                async for event in open_events:
                    told: dict[str, Any] | None = event if after is None else behind(event, after)
                    if told is not None:
                        yield encode(told["type"], told)
        except ThreadkeepError as error:
            told = stretch.writer.error(error.code, str(error))
            yield encode(told["type"], told)

    return EventStream(encoded())
