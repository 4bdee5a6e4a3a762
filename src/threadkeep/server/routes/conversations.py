"""Conversations: create, list, read, change, choose a branch, delete. Their messages are sent in `messages`."""

from typing import Annotated

from fastapi import APIRouter, Header, Query, Response

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import MAX_SEQ, Cursor
from threadkeep.conversation.message import Message
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue
from threadkeep.server.identity.guards import Who
from threadkeep.server.list_cursors import ListCursors
from threadkeep.server.requests import (
    ChosenBody,
    ConversationId,
    CreateBody,
    HeadBody,
    Key,
    OwnListParameters,
    PatchBody,
    canonical_body,
    replay_headers,
)
from threadkeep.server.responses import (
    ConversationList,
    ListedConversation,
    ShownConversation,
    ShownMessage,
    ShownTree,
    ShownTurn,
    WholeConversation,
    shown_tree,
)

Limit = Annotated[int, Query(ge=1, le=200, description="How many at most.")]
Place = Annotated[int | None, Query(ge=1, le=MAX_SEQ, description="The number of an entry.")]
IfMatch = Annotated[str | None, Header(description="The version that the change is meant for, as in ETag.")]


def conversation_routes(conversations: Conversations) -> APIRouter:
    """Create, list and read."""
    router = APIRouter(prefix="/v1/conversations", tags=["conversations"])
    cursors = ListCursors(conversations.admin.keyring)

    @router.post("", status_code=201, summary="Create a conversation")
    async def create(who: Who, key: Key, response: Response, body: CreateBody | None = None) -> ShownConversation:
        chosen = body or CreateBody()
        await conversations.check_model(chosen.model)
        named = key("POST /v1/conversations", canonical_body(chosen))
        created = await conversations.create(scope=who.scope, key=named, **chosen.model_dump(exclude_none=True))
        response.headers.update(replay_headers(created.replayed))
        response.headers["Location"] = f"/v1/conversations/{created.id}"
        return _with_version(created.value, response)

    @router.get("", summary="List conversations, the last active first")
    async def listing(who: Who, asked: Annotated[OwnListParameters, Query()]) -> ConversationList:
        after = await cursors.read(asked.after)
        page = await conversations.list(
            scope=who.scope, limit=asked.limit, after=after, whole=asked.whole, **asked.filters()
        )
        shown = ShownConversation if asked.whole else ListedConversation
        data = [shown.model_validate(item) for item in page.items]
        return ConversationList(data=data, next=await cursors.shown(page.next))

    @router.get("/{id}", summary="Read a conversation with a page of its messages")
    async def read(
        who: Who,
        id: ConversationId,
        response: Response,
        limit: Limit = 50,
        before: Place = None,
        head: Place = None,
        around: Place = None,
    ) -> WholeConversation:
        handle = await conversations.named(who.scope, id)
        whole = await read_whole(handle, messages=limit, before=before, head=head, around=around)
        response.headers["ETag"] = f'"{whole.version}"'
        return whole

    @router.get("/{id}/tree", tags=["reading"], summary="The branches")
    async def tree(who: Who, id: ConversationId) -> ShownTree:
        return await shown_tree(await conversations.named(who.scope, id))

    return router


def change_routes(conversations: Conversations) -> APIRouter:
    """Make sure that one is there, change, choose a branch, delete and restore."""
    router = APIRouter(prefix="/v1/conversations", tags=["conversations"])

    @router.put("/{id}", responses={201: {"model": ShownConversation}}, summary="Get a conversation, or create it")
    async def get_or_create(
        who: Who, id: ConversationId, response: Response, body: ChosenBody | None = None
    ) -> ShownConversation:
        chosen = body or ChosenBody()
        await conversations.check_model(chosen.model)
        found = await conversations.get_or_create(id, scope=who.scope, **chosen.model_dump(exclude_none=True))
        response.status_code = 200 if found.replayed else 201
        return _with_version(found.value, response)

    @router.patch("/{id}", summary="Change a conversation as a whole")
    async def patch(
        who: Who, id: ConversationId, body: PatchBody, response: Response, if_match: IfMatch = None
    ) -> ShownConversation:
        conversations.check_assistant(body.assistant)
        await conversations.check_model(body.model)
        fields, version = body.model_dump(exclude_none=True), parse_version(if_match)
        return _with_version(
            await (await conversations.named(who.scope, id)).update(expected_version=version, **fields), response
        )

    @router.put("/{id}/head", summary="Choose a branch")
    async def choose(
        who: Who, id: ConversationId, body: HeadBody, response: Response, if_match: IfMatch = None
    ) -> ShownConversation:
        version = parse_version(if_match)
        return _with_version(
            await (await conversations.named(who.scope, id)).choose_head(body.head, expected_version=version), response
        )

    @router.delete("/{id}", status_code=204, response_class=Response, summary="Delete a conversation")
    async def delete(who: Who, id: ConversationId) -> None:
        await (await conversations.named(who.scope, id)).delete()

    @router.post("/{id}/restore", summary="Bring a conversation back that was deleted in the last half minute")
    async def restore(who: Who, id: ConversationId, response: Response) -> ShownConversation:
        return _with_version(await (await conversations.named(who.scope, id)).restore(), response)

    return router


def _with_version(conversation: Conversation, response: Response) -> ShownConversation:
    response.headers["ETag"] = f'"{conversation.version}"'
    return ShownConversation.model_validate(conversation)


def parse_version(if_match: str | None) -> int | None:
    """Return the version that an If-Match header names; `*` is any."""
    if if_match is None or if_match.strip() == "*":
        return None
    text = if_match.strip().removeprefix("W/").strip('"')
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise InvalidValue('If-Match names a version, such as "3".')
    return int(text)


async def read_whole(handle: ConversationHandle, messages: int, **page: int | None) -> WholeConversation:
    """Read a conversation with the page of its messages that was asked for, as of one moment: nobody may read that a
    turn ended, and not its answer."""
    found = await handle.snapshot(messages=messages, **page)
    conversation, entries, ended = found.conversation, found.entries, found.ended
    said = [entry for entry in entries if isinstance(entry.body, Message)]
    return WholeConversation(
        **ShownConversation.model_validate(conversation).model_dump(),
        branch=found.branch,
        messages=[ShownMessage.of(entry, found.tree, found.opinions) for entry in said],
        before=entries[0].seq if entries and entries[0].parent is not None else None,
        after=entries[-1].seq if entries and entries[-1].seq != found.branch else None,
        turns=[await ShownTurn.of(handle, turn) for turn in found.turns],
        ended=None if ended is None else ShownTurn.after(*ended),
        state=found.state.values,
        cursor=Cursor(seq=conversation.entries).encode(conversation.id),
        position=Cursor(seq=conversation.entries).position,
    )
