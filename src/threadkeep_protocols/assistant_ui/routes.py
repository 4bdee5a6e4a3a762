"""The routes of `assistant-cloud`, whose clients put `/v1` behind the address that they are given."""

from collections.abc import Callable, Coroutine
from datetime import timedelta
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Depends, Query, Request
from pydantic import BaseModel, ConfigDict, Field
from starlette.responses import PlainTextResponse, Response

from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.parts import safe_file_name
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidValue
from threadkeep.server.identity.guards import Identity, Who
from threadkeep.server.limits import room_for_export
from threadkeep.server.requests import Key, Reason, SentText, canonical_body
from threadkeep.settings import Settings
from threadkeep.store.attachments import UNUSED_FOR
from threadkeep_protocols.ai_sdk.showing import Json
from threadkeep_protocols.assistant_ui.formats import AUI
from threadkeep_protocols.assistant_ui.messages import Messages, NewContent, NewMessage, moment
from threadkeep_protocols.assistant_ui.people import add_people, check_workspace, name_user
from threadkeep_protocols.assistant_ui.threads import EXTERNAL, NewThread, ThreadChanges, change_thread, thread_json
from threadkeep_protocols.assistant_ui.threads import list_threads as threads_of
from threadkeep_protocols.assistant_ui.titles import title_of
from threadkeep_protocols.chats import chat_id, find_chat, who_is_asked
from threadkeep_protocols.signed import SENT_FOR, SHOWN_FOR, SignedFiles, signed_address
from threadkeep_protocols.wire import route_with

PREFIX = "/assistant-ui/v1"
TITLES = "system/thread_title"
_ROOM = [Depends(room_for_export)]


class _Route(route_with(lambda status, code, detail: {"message": detail, "error": code})):  # type: ignore[misc]
    """A route with errors as these clients read them, and users as they name them."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        handle = super().get_route_handler()

        async def answer(request: Request) -> Response:
            name_user(request)
            response: Response = await handle(request)
            return response

        return answer


class Feedback(BaseModel):
    """What somebody thinks of a message."""

    model_config = ConfigDict(frozen=True)
    type: Literal["positive", "negative"]
    comment: Reason | None = None


class TitleRun(BaseModel):
    """The wish for a title: of all runs of assistants that `assistant-cloud` has, this one is here."""

    model_config = ConfigDict(frozen=True)
    thread_id: SentText = Field(min_length=1, max_length=2000)
    assistant_id: SentText
    messages: list[dict[str, Any]] = Field(default=[], max_length=10_000)


class FileName(BaseModel):
    """A file that is to be uploaded."""

    model_config = ConfigDict(frozen=True)
    filename: SentText = Field(default="", max_length=2000)


class FilePlace(BaseModel):
    """A file that was uploaded, by its key or its address."""

    model_config = ConfigDict(frozen=True)
    key: SentText | None = Field(default=None, max_length=200)
    url: SentText | None = Field(default=None, max_length=10_000)


def assistant_ui_routes(conversations: Conversations, settings: Settings) -> APIRouter:
    """All of them."""
    router = APIRouter(
        prefix=PREFIX, include_in_schema=False, route_class=_Route, dependencies=[Depends(check_workspace)]
    )
    _messages(router, conversations)
    _threads(router, conversations)
    _runs(router, conversations)
    _files(router, conversations)
    add_people(router)
    return router


def _threads(router: APIRouter, conversations: Conversations) -> None:
    @router.get("/threads")
    async def list_threads(
        who: Who, is_archived: bool = False, limit: Annotated[int, Query(ge=1, le=200)] = 50, after: str | None = None
    ) -> Json:
        shown = None if after is None else await find_chat(conversations, who.scope, after)
        return {"threads": await threads_of(conversations, shown, limit, scope=who.scope, archived=is_archived)}

    @router.post("/threads", status_code=201)
    async def create(who: Who, body: NewThread, key: Key) -> Json:
        metadata = body.metadata | ({} if body.external_id is None else {EXTERNAL: body.external_id})
        named = key(f"POST {PREFIX}/threads", canonical_body(body))
        made = await conversations.create(scope=who.scope, title=body.title, metadata=metadata, key=named)
        return {"thread_id": chat_id(made.value)}

    @router.get("/threads/{id:path}")
    async def thread(who: Who, id: str) -> Json:
        return {"thread": thread_json((await find_chat(conversations, who.scope, id)).value)}

    @router.put("/threads/{id:path}", status_code=204, response_class=Response)
    async def change(who: Who, id: str, body: ThreadChanges) -> None:
        await change_thread(await find_chat(conversations, who.scope, id), body)

    @router.delete("/threads/{id:path}", status_code=204, response_class=Response)
    async def delete(who: Who, id: str) -> None:
        await (await find_chat(conversations, who.scope, id)).delete()


def _messages(router: APIRouter, conversations: Conversations) -> None:
    path = "/threads/{id:path}/messages"

    async def messages_of(who: Identity, id: str) -> Messages:
        chat = await find_chat(conversations, who.scope, id)
        return Messages(conversations, chat, who_is_asked(conversations, chat.value, about_others=True))

    @router.get(path, dependencies=_ROOM)
    async def list_messages(
        request: Request,
        who: Who,
        id: str,
        form: Annotated[str, Query(alias="format", max_length=100)] = AUI,
        limit: Annotated[int, Query(ge=1, le=200)] = 200,
        after: str | None = None,
    ) -> Json:
        return {"messages": await (await messages_of(who, id)).page(request, form, limit, after)}

    @router.post(path, status_code=201)
    async def keep(who: Who, id: str, body: NewMessage) -> Json:
        return {"message_id": await (await messages_of(who, id)).keep(body)}

    @router.put(path + "/{message}", status_code=204, response_class=Response)
    async def change(who: Who, id: str, message: str, body: NewContent) -> None:
        await (await messages_of(who, id)).change(message, body.content)

    @router.post(path + "/{message}/feedback", status_code=201)
    async def rate(who: Who, id: str, message: str, body: Feedback) -> Json:
        made = await (await messages_of(who, id)).rated(message, body.type, body.comment)
        return {"feedback_id": made, "type": body.type, "comment": body.comment}


def _runs(router: APIRouter, conversations: Conversations) -> None:
    @router.post("/runs/stream")
    async def title(who: Who, body: TitleRun) -> Response:
        if body.assistant_id != TITLES:
            raise InvalidValue(f"The only run here is {TITLES}: what answers is behind /ai-sdk/chat.")
        return PlainTextResponse(
            await title_of(await find_chat(conversations, who.scope, body.thread_id), body.messages)
        )

    @router.post("/runs")
    async def report(who: Who) -> Json:
        return {"run_id": new_id()}  # the log knows what it tells, and better

    @router.post("/events", status_code=204, response_class=Response)
    async def events(who: Who) -> None:
        """Take what people clicked, and keep none of it."""


def _files(router: APIRouter, conversations: Conversations) -> None:
    path = "/files/attachments/generate-presigned"

    def until(lasts: timedelta) -> str:
        return moment(utc_now() + lasts)

    @router.post(path + "-upload-url")
    async def upload(request: Request, who: Who, body: FileName) -> Json:
        signed = SignedFiles(conversations)
        id = await signed.begin(who.scope, safe_file_name(body.filename))
        put = signed_address(request, await signed.token("put", id, who.scope, SENT_FOR))
        shown = signed_address(request, await signed.token("upload", id, who.scope, UNUSED_FOR))
        told = {"signedUrl": put, "publicUrl": shown, "expiresAt": until(SENT_FOR)}
        return {"success": True, "key": id, **told}

    @router.post(path + "-download-url")
    async def download(request: Request, who: Who, body: FilePlace) -> Json:
        signed = SignedFiles(conversations)
        found = await signed.named(who.scope, body.key or body.url or "")
        address = signed_address(request, await signed.token(*found, SHOWN_FOR))
        return {"signedUrl": address, "key": found.id, "expiresAt": until(SHOWN_FOR)}
