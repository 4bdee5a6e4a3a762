"""The routes of the AI SDK: what `useChat` asks of a server, and the history and list that its apps need besides."""

from collections.abc import AsyncIterator
from contextlib import aclosing, suppress
from typing import Annotated, Any

from fastapi import APIRouter, Body, Depends, Query
from starlette.responses import Response

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import MAX_SEQ
from threadkeep.conversation.message import Message
from threadkeep.conversation.turn import TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import ConversationNotFound, ThreadkeepError, TurnNotFound
from threadkeep.server.identity.guards import Who
from threadkeep.server.limits import room_for_export
from threadkeep.server.list_cursors import ListCursors
from threadkeep.server.requests import Key
from threadkeep.settings import Settings
from threadkeep_protocols.ai_sdk.chunks import OLD, ChunkWriter
from threadkeep_protocols.ai_sdk.places import turn_named
from threadkeep_protocols.ai_sdk.sending import Answering, answering
from threadkeep_protocols.ai_sdk.showing import (
    Asks,
    Json,
    answer_message,
    answer_metadata,
    branches_of,
    question_message,
)
from threadkeep_protocols.ai_sdk.taking import ChatBody
from threadkeep_protocols.answers import changes_of, transcript
from threadkeep_protocols.chats import MOST_SHOWN, chat_id, find_chat, open_chat, who_is_asked
from threadkeep_protocols.dialects.form import body_reader
from threadkeep_protocols.parts import AnswerEnded, AnswerReader
from threadkeep_protocols.wire import Told, data_stream, stream_room

HEADERS = {"x-vercel-ai-ui-message-stream": "v1"}
NEWEST = 7
MOST_LEFT = 10_000
Sent = Annotated[ChatBody, Depends(body_reader(ChatBody))]
Entries = Annotated[int | None, Query(ge=1, le=MAX_SEQ, description="An entry of the branch that is shown.")]
_ROOM = [Depends(stream_room)]


def ai_sdk_routes(conversations: Conversations, settings: Settings) -> APIRouter:
    """All of them: for `ai` 6 and 7, and once more for 5."""
    router = APIRouter(include_in_schema=False)
    for release, api in ((OLD, f"/ai-sdk/v{OLD}/chat"), (NEWEST, "/ai-sdk/chat")):
        chats = Chats(conversations, release)
        _streams(router, api, chats)
        _histories(router, api, chats)
    return router


def _streams(router: APIRouter, api: str, chats: "Chats") -> None:
    @router.post(api, dependencies=_ROOM)
    async def send(who: Who, body: Sent, key: Key) -> Response:
        chats.conversations.check_assistant(body.assistant)
        chat = await open_chat(chats.conversations, who.scope, body.id, body.assistant)
        named = key(f"POST {api} {chat.id}", body.model_dump(mode="json"))
        return await chats.stream(chat, await answering(chats.conversations, chat, body, named))

    @router.get(f"{api}/{{id:path}}/stream", dependencies=_ROOM)
    async def resume(who: Who, id: str) -> Response:
        try:
            chat = await find_chat(chats.conversations, who.scope, id)
        except ConversationNotFound:
            return Response(status_code=204)  # a new chat, to which nothing was sent yet
        running = [turn.number for turn in await chat.turns() if turn.state is not TurnState.QUEUED]
        turn = running[0] if running else chats.left.get(chat.id)
        return Response(status_code=204) if turn is None else await chats.stream(chat, Answering(chat.turn(turn)))

    @router.post(f"{api}/{{id:path}}/stop")
    async def stop(who: Who, id: str, body: Annotated[dict[str, Any] | None, Body()] = None) -> Json:
        shown = (body or {}).get("assistantMessage")
        turn = turn_named(str(shown.get("id"))) if isinstance(shown, dict) else None
        chat = await find_chat(chats.conversations, who.scope, id)
        with suppress(TurnNotFound):  # it has just ended
            await chat.cancel(turn)
        return {"success": True}


def _histories(router: APIRouter, api: str, chats: "Chats") -> None:
    cursors = ListCursors(chats.conversations.admin.keyring)

    @router.get(api)
    async def listing(
        who: Who, limit: Annotated[int, Query(ge=1, le=200)] = 50, after: str | None = None, archived: bool = False
    ) -> Json:
        place = await cursors.read(after)
        page = await chats.conversations.list(scope=who.scope, limit=limit, after=place, archived=archived)
        shown = [_listed(each) for each in page.items]
        return {"chats": shown, "next": None if page.next is None else await cursors.shown(page.next)}

    @router.get(f"{api}/{{id:path}}", dependencies=[Depends(room_for_export)])
    async def history(
        who: Who, id: str, entry: Entries = None, limit: Annotated[int, Query(ge=1, le=MOST_SHOWN)] = MOST_SHOWN
    ) -> list[Json]:
        return await chats.messages(await find_chat(chats.conversations, who.scope, id), entry, limit)

    @router.delete(f"{api}/{{id:path}}", status_code=204, response_class=Response)
    async def delete(who: Who, id: str) -> None:
        await (await find_chat(chats.conversations, who.scope, id)).delete()


def _listed(conversation: Conversation) -> Json:
    return {
        "id": chat_id(conversation),
        "title": conversation.title,
        "createdAt": conversation.created_at.isoformat(),
        "updatedAt": conversation.updated_at.isoformat(),
        "archived": conversation.archived,
        "pinned": conversation.pinned,
    }


class Chats:
    """Conversations as the chats of one release of the AI SDK. In `left` are turns, by conversations, whose reader left
    before their end, and may come back after it."""

    def __init__(self, conversations: Conversations, release: int) -> None:
        self.conversations = conversations
        self.left: dict[str, int] = {}
        self._release = release

    async def stream(self, chat: ConversationHandle, what: Answering) -> Response:
        """Answer with a turn, from where the client knows it."""
        asks = who_is_asked(self.conversations, await chat.read(), about_others=True)
        return data_stream(self._chunks(chat, what, asks), _failed, HEADERS)

    async def _chunks(self, chat: ConversationHandle, what: Answering, asks: Asks) -> AsyncIterator[Told]:
        reader, writer = AnswerReader(what.turn.number), ChunkWriter(asks, self._release, what.known)
        self._note_left(chat.id, what.turn.number)
        yield {"type": "start", "messageId": reader.id, "messageMetadata": answer_metadata(reader, ())}
        async with aclosing(changes_of(what.turn, what.after, reader)) as changes:
            async for change in changes:
                for chunk in writer.tell(change):
                    yield chunk
                if isinstance(change, AnswerEnded):
                    siblings = branches_of(await chat.snapshot(), reader.begins)
                    for chunk in writer.end(change, answer_metadata(reader, siblings)):
                        yield chunk
        yield "[DONE]"
        self.left.pop(chat.id, None)

    def _note_left(self, conversation: str, turn: int) -> None:
        """Take a reader for gone until it has everything; the oldest of too many are forgotten."""
        self.left.pop(conversation, None)
        self.left[conversation] = turn
        if len(self.left) > MOST_LEFT:
            del self.left[next(iter(self.left))]

    async def messages(self, chat: ConversationHandle, entry: int | None, limit: int) -> list[Json]:
        """Return the messages of the current branch, or of the newest one with an entry."""
        head = None
        if entry is not None:
            head = (await chat.snapshot()).tree.branch_with((await chat.reading.entry(entry)).seq)
        snapshot = await chat.snapshot(messages=limit, head=head)
        asks = who_is_asked(self.conversations, snapshot.conversation, about_others=True)
        told: list[Json] = []
        for item in transcript(snapshot):
            if isinstance(item, AnswerReader):
                told.append(answer_message(item, branches_of(snapshot, item.begins), asks))
            elif isinstance(item.body, Message):
                told.append(question_message(item, item.body, branches_of(snapshot, (item.seq, item.parent))))
        return told


def _failed(error: ThreadkeepError) -> list[Told]:
    return [{"type": "error", "errorText": str(error)}, "[DONE]"]
