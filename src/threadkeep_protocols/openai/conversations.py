"""The routes of OpenAI's Conversations: create, read, change and delete one, and its items."""

from typing import Annotated

from fastapi import APIRouter, Depends, Query
from starlette.requests import Request as HttpRequest

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversations import Conversations
from threadkeep.errors import ConversationBusy, InvalidValue
from threadkeep.server.identity.guards import Who
from threadkeep.server.requests import Key
from threadkeep.store.base import ROOT
from threadkeep_protocols.dialects.form import body_reader
from threadkeep_protocols.openai.asking import REQUEST
from threadkeep_protocols.openai.bodies import (
    AddedItemsBody,
    ChangedConversationBody,
    NewConversationBody,
    only_strings,
)
from threadkeep_protocols.openai.conversation_items import ConversationItems, Order, listed
from threadkeep_protocols.openai.ids import CONVERSATION, conversation_named
from threadkeep_protocols.openai.items import Json
from threadkeep_protocols.openai.taking import InputReader
from threadkeep_protocols.wire import stream_room

API = "/openai/v1"
Limit = Annotated[int, Query(ge=1, le=100)]
After = Annotated[str | None, Query(max_length=512)]
_HIDDEN = (REQUEST, "model_options")


def add_conversations(router: APIRouter, conversations: Conversations) -> None:
    """Add the routes of conversations."""

    @router.post("/conversations")
    async def create(who: Who, key: Key, body: Annotated[NewConversationBody, Depends(_new)]) -> Json:
        named = key(f"POST {API}/conversations", body.model_dump(mode="json"))
        taken = await InputReader(conversations, who.scope).read(body.items or [])
        if taken.decisions:
            raise InvalidValue("An output belongs to a call that stands before it.")
        created = await conversations.create(scope=who.scope, key=named, metadata=body.metadata or {})
        if taken.messages:
            filled = key(f"POST {API}/conversations (items)", body.model_dump(mode="json"))
            await created.append(*taken.messages, key=filled)
        return _shown(created.value)

    @router.get("/conversations/{id}")
    async def read(who: Who, id: str) -> Json:
        return _shown((await conversation_named(conversations, who.scope, id)).value)

    @router.post("/conversations/{id}")
    async def update(who: Who, id: str, body: Annotated[ChangedConversationBody, Depends(_changed)]) -> Json:
        chat = await conversation_named(conversations, who.scope, id)
        kept = {name: value for name, value in chat.value.metadata.items() if name in _HIDDEN}
        return _shown(await chat.update(metadata={**(body.metadata or {}), **kept}))

    @router.delete("/conversations/{id}")
    async def delete(who: Who, id: str) -> Json:
        chat = await conversation_named(conversations, who.scope, id)
        await chat.delete()
        return {"id": f"{CONVERSATION}{chat.id}", "object": "conversation.deleted", "deleted": True}


def add_items(router: APIRouter, conversations: Conversations) -> None:
    """Add the routes of their items."""
    items = "/conversations/{id}/items"

    @router.get(items, dependencies=[Depends(stream_room)])
    async def listing(who: Who, id: str, limit: Limit = 20, order: Order = "desc", after: After = None) -> Json:
        chat = await conversation_named(conversations, who.scope, id)
        return await ConversationItems(conversations, chat).page(order, limit, after)

    @router.post(items)
    async def add(who: Who, id: str, key: Key, body: Annotated[AddedItemsBody, Depends(_added)]) -> Json:
        chat = await conversation_named(conversations, who.scope, id)
        named = key(f"POST {API}/conversations/{chat.id}/items", body.model_dump(mode="json"))
        taken = await InputReader(conversations, who.scope).read(body.items)
        if taken.decisions or not taken.messages:
            raise InvalidValue("Items say something; an output belongs to a call that stands before it.")
        added = await chat.append(*taken.messages, key=named)
        return listed(await ConversationItems(conversations, chat).of(added), has_more=False)

    @router.get(items + "/{item}", dependencies=[Depends(stream_room)])
    async def item(who: Who, id: str, item: str) -> Json:
        chat = await conversation_named(conversations, who.scope, id)
        found, _, _ = await ConversationItems(conversations, chat).find(item)
        return found

    @router.delete(items + "/{item}", dependencies=[Depends(stream_room)])
    async def take_back(who: Who, id: str, item: str) -> Json:
        chat = await conversation_named(conversations, who.scope, id)
        _, group, is_last = await ConversationItems(conversations, chat).find(item)
        if not is_last:
            raise InvalidValue("Only what was said last can be taken back; the conversation as a whole can be deleted.")
        if await chat.turns():
            raise ConversationBusy
        return _shown(await chat.choose_head(group.entries[0].parent or ROOT))


def _shown(conversation: Conversation) -> Json:
    return {
        "id": f"{CONVERSATION}{conversation.id}",
        "object": "conversation",
        "created_at": int(conversation.created_at.timestamp()),
        "metadata": only_strings(conversation.metadata, _HIDDEN),
    }


async def _empty_is_nothing(request: HttpRequest) -> NewConversationBody:
    return await body_reader(NewConversationBody)(request) if await request.body() else NewConversationBody()


_new, _changed, _added = _empty_is_nothing, body_reader(ChangedConversationBody), body_reader(AddedItemsBody)
