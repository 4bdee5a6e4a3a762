"""Signed addresses of files: good for a while without a key, for browsers that upload a file or show an image.

    PUT /v1/files/signed/{token}     the bytes of an upload that was begun for its user
    GET /v1/files/signed/{token}     the bytes of a file, or of an upload

A token is encrypted with the store's secret, so any instance can read it and none is stored. An upload is copied when a
message first refers to it (`kept_file`), and goes after a day.
"""

import json
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Literal, NamedTuple

from fastapi import FastAPI, Request
from starlette.responses import Response, StreamingResponse

from threadkeep.conversation.caller import CALLER
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.parts import Attachment
from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import FileNotFound, InvalidCursor, UploadNotFound
from threadkeep.server.list_cursors import ListCursors
from threadkeep.server.middleware.headers import root_path_of
from threadkeep.server.routes.files import file_headers
from threadkeep.settings import Settings
from threadkeep.store.attachments import to_part
from threadkeep.store.file_tables import StoredFile
from threadkeep.store.media_type import media_type
from threadkeep_protocols.switch import ProtocolsTable

SIGNED = "/v1/files/signed/"
SHOWN_FOR = timedelta(hours=8)
"""How long the address of a file is good, which is made anew whenever messages are read."""
SENT_FOR = timedelta(hours=1)
USED_BY = {"assistant-ui"}
_MARK = "signed file "
"""What such a text begins with, and no cursor does."""
Kind = Literal["put", "upload", "file"]


class Signed(NamedTuple):
    """What a token is good for: to send an upload, or to read it or a file of a user."""

    kind: Kind
    id: str
    scope: Scope


class SignedFiles:
    """Makes signed addresses, and does what they are good for."""

    def __init__(self, conversations: Conversations) -> None:
        self._files = conversations.files
        self._sealed = ListCursors(conversations.admin.keyring)

    async def token(self, kind: Kind, id: str, scope: Scope, lasts: timedelta) -> str:
        """Return a token."""
        until = (utc_now() + lasts).timestamp()
        return str(await self._sealed.shown(_MARK + json.dumps([kind, id, scope.tenant, scope.user, until])))

    async def read(self, token: str) -> Signed:
        """Return what a token is good for; `FileNotFound` if it is not, or no longer."""
        try:
            text = await self._sealed.read(token) or ""
        except (InvalidCursor, UnicodeDecodeError):
            raise FileNotFound from None
        if not text.startswith(_MARK):
            raise FileNotFound
        kind, id, tenant, user, until = json.loads(text.removeprefix(_MARK))
        if utc_now().timestamp() >= until:
            raise FileNotFound("This address of a file has expired.")
        return Signed(kind, id, Scope(tenant=tenant, user=user))

    async def begin(self, scope: Scope, name: str) -> str:
        """Begin an upload and return its id."""
        return (await self._files.begin(scope, name)).id

    async def take(self, token: str, pieces: AsyncIterator[bytes]) -> None:
        """Take the bytes of an upload, all at once."""
        signed = await self.read(token)
        if signed.kind != "put":
            raise FileNotFound
        CALLER.set(replace(CALLER.get(), actor=f"user:{signed.scope.user}"))
        await self._files.append(signed.scope, signed.id, 0, pieces)

    async def kept(self, token: str, scope: Scope) -> Attachment:
        """Return the file behind a token as a part of a message that this user sends."""
        signed = await self.named(scope, SIGNED + token)
        if signed.kind == "file":
            return await self._files.find(scope, signed.id)
        upload = await self._files.upload(scope, signed.id)
        pieces = self._files.uploaded(scope, upload.id)
        file, _ = await self._files.receive(scope, upload.name, upload.media_type, pieces, size=upload.size)
        return to_part(file)

    async def named(self, scope: Scope, name: str) -> Signed:
        """Return what a user calls by an address or an id."""
        if SIGNED in name:
            signed = await self.read(name.rpartition(SIGNED)[2])
        elif (id := name.rpartition("/")[2]).startswith("file-"):
            signed = Signed("file", (await self._files.stored(scope, id)).id, scope)
        else:
            signed = Signed("upload", (await self._files.upload(scope, id)).id, scope)
        if signed.kind == "put" or signed.scope != scope:
            raise FileNotFound
        return signed

    async def shown(self, token: str) -> tuple[StoredFile, AsyncIterator[bytes]]:
        """Return what is known of the file behind a token, and its bytes."""
        kind, id, scope = await self.read(token)
        if kind == "file":
            return await self._files.stored(scope, id), self._files.stream(scope, id)
        if kind == "put":
            raise FileNotFound
        upload = await self._files.upload(scope, id)
        head, now = await anext(self._files.uploaded(scope, id), b""), utc_now()
        sort = media_type(head, upload.name)
        file = StoredFile(scope.user, id, upload.name, sort, upload.size, id, id, upload.chunk, now, now)
        return file, self._files.uploaded(scope, id)


def signed_address(request: Request, token: str) -> str:
    """Return the whole address of a token, as the client sees this server."""
    return f"{request.url.scheme}://{request.url.netloc}{root_path_of(request)}{SIGNED}{token}"


def add_signed_files(app: FastAPI, conversations: Conversations, settings: Settings) -> None:
    """Add the routes of signed addresses where a protocol that makes them is on. They ask for no key: the address is
    one."""
    if conversations.attachments is None or not USED_BY & {*(settings.protocols or ProtocolsTable()).on}:
        return
    signed = SignedFiles(conversations)

    @app.put(SIGNED + "{token}", status_code=204, response_class=Response, include_in_schema=False)
    async def send(request: Request, token: str) -> None:
        await signed.take(token, request.stream())

    @app.get(SIGNED + "{token}", include_in_schema=False)
    async def show(token: str) -> Response:
        try:
            file, pieces = await signed.shown(token)
        except UploadNotFound:
            raise FileNotFound from None
        kept = {"Content-Length": str(file.size), "Cache-Control": f"private, max-age={int(SENT_FOR.total_seconds())}"}
        headers = {**file_headers(file), **kept, "Cross-Origin-Resource-Policy": "cross-origin"}
        del headers["Accept-Ranges"]
        return StreamingResponse(pieces, headers=headers)
