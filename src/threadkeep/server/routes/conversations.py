"""Conversations: create, list, read a page, change, delete. Their messages are sent in `messages`."""

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Response

from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.cursor import MAX_SEQ, Cursor
from threadkeep.conversation.entry import Entry, Status, Update
from threadkeep.conversation.message import Message
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import TurnChange
from threadkeep.errors import InvalidValue, ModelError
from threadkeep.keeper import Keeper, log_created
from threadkeep.server.bodies import ConversationId, CreateBody, PatchBody, canonical_body
from threadkeep.server.idempotency_header import Key, replay_headers
from threadkeep.server.identity.guards import Who
from threadkeep.server.limits import room_for_conversation
from threadkeep.server.list_cursors import ListCursors
from threadkeep.server.shown import (
    ConversationList,
    ListedConversation,
    ShownConversation,
    ShownMessage,
    ShownTurn,
    WholeConversation,
)
from threadkeep.store.base import MAX_LIMIT, WALKED, Store
from threadkeep.turn.desk import Desk

TRIES = 5
"""How often a conversation that grows while it is read is read again."""
MOST_CHARACTERS = 2_000_000
"""A page of messages ends early where there is so much in it, or behind `MAX_LIMIT` entries of other kinds."""
REMARKS = 50
"""How many entries behind the newest message are looked through for the end of its turn."""
Limit = Annotated[int, Query(ge=1, le=200, description="How many at most.")]
Place = Annotated[int | None, Query(ge=1, le=MAX_SEQ, description="The number of an entry.")]
IfMatch = Annotated[str | None, Header(description="The version that the change is meant for, as in ETag.")]


def conversation_routes(keeper: Keeper) -> APIRouter:
    """The routes for one keeper."""
    router, store = APIRouter(prefix="/v1/conversations", tags=["conversations"]), keeper.store
    cursors = ListCursors(store.keyring)

    @router.post("", status_code=201, dependencies=[Depends(room_for_conversation)], summary="Create a conversation")
    async def create(who: Who, key: Key, response: Response, body: CreateBody | None = None) -> ShownConversation:
        chosen = body or CreateBody()
        keeper.check_assistant(chosen.assistant)
        await _check_model(keeper, chosen.model)
        new = NewConversation(**chosen.model_dump())
        created = await store.create(who.scope, new, key=key("POST /v1/conversations", canonical_body(chosen)))
        log_created(created)
        keeper.changed(who.scope)
        response.headers.update(replay_headers(created.replayed))
        response.headers["Location"] = f"/v1/conversations/{created.conversation.id}"
        return _shown(created.conversation, response)

    @router.get("", summary="List conversations, the last active first")
    async def listing(
        who: Who,
        limit: Limit = 20,
        after: str | None = None,
        status: Status | None = None,
        assistant: str | None = None,
    ) -> ConversationList:
        page = await store.list(
            who.scope, assistant=assistant, status=status, limit=limit, after=await cursors.read(after)
        )
        return ConversationList(
            data=[ListedConversation.of(item) for item in page.items], next=await cursors.shown(page.next)
        )

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
        tries = 0
        while True:
            conversation = await store.get(who.scope, id)
            end = head
            if end is None:
                # A message that arrives while this is read comes behind the cursor.
                end = conversation.head if around is None else (await store.tree(who.scope, id)).branch_with(around)
            entries = await _page(store, who.scope, conversation, limit, before, end, around)
            whole = await _whole(keeper.desk, who.scope, conversation, entries, end)
            # Messages and turns are of one moment: nobody may read that a turn ended, and not its answer.
            tries += 1
            if tries == TRIES or (await store.get(who.scope, id)).entries == conversation.entries:
                break
        response.headers["ETag"] = f'"{whole.version}"'
        return whole

    @router.patch("/{id}", summary="Change title, metadata, status, archived, model or assistant")
    async def patch(
        who: Who, id: ConversationId, body: PatchBody, response: Response, if_match: IfMatch = None
    ) -> ShownConversation:
        change = Update(**body.model_dump(exclude_none=True))
        if not change.model_fields_set:
            raise InvalidValue("There is nothing to change.")
        keeper.check_assistant(body.assistant)
        await _check_model(keeper, body.model)
        changed = await store.update(who.scope, id, change, expected_version=parse_version(if_match))
        keeper.changed(who.scope, id)
        return _shown(changed, response)

    @router.delete("/{id}", status_code=204, response_class=Response, summary="Delete a conversation")
    async def delete(who: Who, id: ConversationId) -> None:
        await store.delete(who.scope, id)
        keeper.changed(who.scope, id)

    @router.post("/{id}/restore", summary="Bring a conversation back that was deleted in the last half minute")
    async def restore(who: Who, id: ConversationId, response: Response) -> ShownConversation:
        restored = await store.restore(who.scope, id)
        keeper.changed(who.scope, id)
        return _shown(restored, response)

    return router


async def _check_model(keeper: Keeper, name: str | None) -> None:
    """Refuse a model that cannot be loaded now, and not when the first message is sent."""
    try:
        await keeper.runner.deps.load_model(name, next(iter(keeper.assistants.values())))
    except ModelError as error:
        raise InvalidValue(str(error)) from None


def _shown(conversation: Conversation, response: Response) -> ShownConversation:
    response.headers["ETag"] = f'"{conversation.version}"'
    return ShownConversation.of(conversation)


def parse_version(if_match: str | None) -> int | None:
    """Return the version that an If-Match header names; `*` is any."""
    if if_match is None or if_match.strip() == "*":
        return None
    text = if_match.strip().removeprefix("W/").strip('"')
    if not text.isascii() or not text.isdigit() or len(text) > 15:
        raise InvalidValue('If-Match names a version, such as "3".')
    return int(text)


async def _page(
    store: Store,
    scope: Scope,
    conversation: Conversation,
    limit: int,
    before: int | None,
    head: int | None,
    around: int | None,
) -> tuple[Entry, ...]:
    """Return the entries that were asked for: the newest, those before one, or those around one."""
    first = min(limit, WALKED)
    if before is not None:
        return await _older(store, conversation, await store.before(scope, conversation.id, before, limit=first), limit)
    if head is None:
        return ()
    if around is None:
        found = await store.newest(scope, conversation.id, limit=first, head=head)
        return await _older(store, conversation, found, limit)
    older = await store.newest(scope, conversation.id, limit=limit - limit // 2, head=around)
    return older + (await store.after(scope, conversation.id, around, limit=limit // 2, head=head) if limit > 1 else ())


async def _older(store: Store, conversation: Conversation, entries: tuple[Entry, ...], limit: int) -> tuple[Entry, ...]:
    """Return entries with those before them, until they hold so many messages, or a lot."""
    while entries and entries[0].parent is not None and len(entries) < MAX_LIMIT:
        messages = [entry.body for entry in entries if isinstance(entry.body, Message)]
        if len(messages) >= limit or sum(len(message.content) for message in messages) >= MOST_CHARACTERS:
            break
        step = min(limit - len(messages), WALKED)
        entries = await store.before(conversation.scope, conversation.id, entries[0].seq, limit=step) + entries
    return entries


async def _whole(
    desk: Desk, scope: Scope, conversation: Conversation, entries: tuple[Entry, ...], head: int | None
) -> WholeConversation:
    store = desk.store
    tree = await store.tree(scope, conversation.id)
    turns = [await ShownTurn.of(desk, turn) for turn in await store.turns(scope, conversation.id)]
    end = head or conversation.head
    return WholeConversation(
        **ShownConversation.of(conversation).model_dump(),
        branch=end,
        messages=[ShownMessage.of(entry, tree) for entry in entries if isinstance(entry.body, Message)],
        before=entries[0].seq if entries and entries[0].parent is not None else None,
        after=entries[-1].seq if entries and entries[-1].seq != end else None,
        turns=turns,
        ended=await _ended(store, scope, conversation, end),
        state=(await store.state(scope, conversation.id, at=end)).values if end else {},
        cursor=Cursor(seq=conversation.entries).encode(conversation.id),
    )


async def _ended(store: Store, scope: Scope, conversation: Conversation, end: int | None) -> ShownTurn | None:
    """Return how the newest turn of a branch ended, as long as nothing but remarks came behind it."""
    if end is None:
        return None
    page = await store.log(scope, conversation.id, Cursor(seq=end - 1), limit=REMARKS)
    found = [(entry.turn, entry.body) for entry in page.entries if isinstance(entry.body, TurnChange)]
    if not found or found[-1][1].state.is_open:
        return None
    turn, change = found[-1]
    return ShownTurn(id=turn or 0, state=change.state, failure=change.failure, detail=change.detail)
