"""Files: uploaded in one go or in pieces, and given back so that no browser runs what is in them.

Pieces follow the IETF draft on resumable uploads: `Upload-Complete: ?0` begins one, `Upload-Offset` says where it goes
on.
"""

import re
from collections.abc import AsyncIterator
from datetime import datetime
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import JSONResponse, Response, StreamingResponse

from threadkeep.conversation.parts import Kind, attachment_kind
from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import ContentTooLarge, InvalidValue, StorageFull, ThreadkeepError, UploadMismatch
from threadkeep.server.identity.guards import Who
from threadkeep.server.limits import room_for_export
from threadkeep.server.middleware.body_size import CLOSE
from threadkeep.server.negotiation import IS_HEAD
from threadkeep.server.problems import problem, problem_of
from threadkeep.server.responses import Shown
from threadkeep.store.attachments import Attachments
from threadkeep.store.file_tables import StoredFile, Upload
from threadkeep.store.media_type import RASTER, UNKNOWN

POLICY = "sandbox; default-src 'none'"
ACTIVE = frozenset({"text/html", "image/svg+xml", "application/xml"})
"""Types that a browser might run in our origin: such files are sent with another type."""
_RANGE = re.compile(r"bytes=(\d{0,18})-(\d{0,18})")
BINARY_BODY: dict[str, Any] = {
    "requestBody": {
        "required": True,
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
    }
}
_ANY_TYPE: dict[str, Any] = {"application/octet-stream": {}, "*/*": {}}
_BYTES: dict[int | str, dict[str, Any]] = {
    200: {"content": _ANY_TYPE, "description": "The bytes; 304 if `If-None-Match` names them."},
    206: {"content": _ANY_TYPE, "description": "The part that `Range` asks for."},
}
Name = Annotated[str, Query(description="What the file is called: no path, at most 255 characters.")]


class ShownFile(Shown):
    """A file. `type` is the type of a part that refers to it; `media_type` is what its bytes are."""

    id: str
    type: Kind
    name: str
    media_type: str
    size: int
    sha256: str
    created_at: datetime

    @classmethod
    def of(cls, file: StoredFile) -> "ShownFile":
        """Return a file as it is shown."""
        kind = attachment_kind(file.media_type)
        return cls(type=kind, **{name: getattr(file, name) for name in cls.model_fields if name != "type"})


class ShownUpload(Shown):
    """An upload that is not complete; `offset` is how many bytes of it are there."""

    id: str
    offset: int


_MADE: dict[int | str, dict[str, Any]] = {
    200: {"model": ShownFile, "description": "The same file was there."},
    201: {"model": ShownFile | ShownUpload, "description": "The file or, with `Upload-Complete: ?0`, the upload."},
}


def upload_routes(conversations: Conversations) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["files"])

    @router.post(
        "/files", openapi_extra=BINARY_BODY, responses=_MADE, status_code=201, summary="Upload a file, or begin to"
    )
    async def upload(request: Request, who: Who, name: Name = "") -> Response:
        files, kind = conversations.files, request.headers.get("content-type", "")
        try:
            if _is_complete(request):
                size = int(request.headers.get("content-length") or 0)
                return _made(*await files.receive(who.scope, name, kind, request.stream(), size=size))
            return await _begun(files, who.scope, request, await files.begin(who.scope, name, kind))
        except (ContentTooLarge, StorageFull) as error:
            return _closing(error)

    @router.get("/uploads/{upload}", status_code=204, response_class=Response, summary="How far an upload has come")
    async def progress(who: Who, upload: str) -> Response:
        found = await conversations.files.upload(who.scope, upload)
        return Response(status_code=204, headers={**_progress(found.size), "Cache-Control": "no-store"})

    @router.patch("/uploads/{upload}", openapi_extra=BINARY_BODY, responses=_MADE, summary="Continue an upload")
    async def resume(request: Request, who: Who, upload: str) -> Response:
        offset = request.headers.get("upload-offset", "")
        if not re.fullmatch(r"\d{1,18}", offset, re.ASCII):
            raise InvalidValue("`Upload-Offset` says at which byte the upload goes on.")
        files = conversations.files
        try:
            grown = await files.append(who.scope, upload, int(offset), request.stream())
            if _is_complete(request):
                return _made(*await files.complete(who.scope, upload))
        except ContentTooLarge as error:
            await files.give_up(who.scope, upload)
            return _closing(error)
        except StorageFull as error:
            return _closing(error)
        except UploadMismatch as error:
            return await _mismatch(files, who.scope, upload, error)
        return Response(status_code=204, headers=_progress(grown.size))

    @router.delete("/uploads/{upload}", status_code=204, response_class=Response, summary="Give an upload up")
    async def give_up(who: Who, upload: str) -> None:
        await conversations.files.give_up(who.scope, upload)

    return router


def file_routes(conversations: Conversations) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["files"])

    @router.get(
        "/files/{file}",
        dependencies=[Depends(room_for_export)],
        response_class=Response,
        responses=_BYTES,
        summary="The bytes of a file",
    )
    async def download(request: Request, who: Who, file: str) -> Response:
        found = await conversations.files.stored(who.scope, file)
        headers = file_headers(found)
        if headers["ETag"] in request.headers.get("if-none-match", "").replace("W/", "").split(", "):
            return Response(status_code=304, headers=headers)
        start, end = 0, found.size
        if asked := _range(request, found, headers["ETag"]):
            start, end = asked
            headers["Content-Range"] = (
                f"bytes {start}-{end - 1}/{found.size}" if start < end else f"bytes */{found.size}"
            )
            if start >= end:
                unsatisfied = {"Content-Range": headers["Content-Range"]}
                return problem(416, "range_not_satisfiable", f"The file has {found.size} bytes.", unsatisfied)
        headers["Content-Length"] = str(end - start)
        status = 206 if asked else 200
        if IS_HEAD in request.scope:
            return Response(status_code=status, headers=headers)
        pieces = conversations.files.stream(who.scope, file, start, end)
        first = await anext(pieces, b"")  # or it is missing, which no stream could say
        return StreamingResponse(_together(first, pieces), status, headers)

    @router.delete("/files/{file}", status_code=204, response_class=Response, summary="Delete a file no message uses")
    async def delete(who: Who, file: str) -> None:
        await conversations.files.delete(who.scope, file)

    return router


async def _begun(files: Attachments, scope: Scope, request: Request, upload: Upload) -> Response:
    """Store the first piece of an upload and tell the client where to go on."""
    try:
        upload = await files.append(scope, upload.id, 0, request.stream())
    except (ContentTooLarge, StorageFull):
        await files.give_up(scope, upload.id)  # nobody knows its id
        raise
    headers = {"Location": f"/v1/uploads/{upload.id}", **_progress(upload.size)}
    return JSONResponse(ShownUpload(id=upload.id, offset=upload.size).model_dump(), 201, headers)


async def _together(first: bytes, rest: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    yield first
    async for piece in rest:
        yield piece


def _is_complete(request: Request) -> bool:
    """Whether the body ends the file, which it does unless it says otherwise."""
    said = request.headers.get("upload-complete", "?1")
    if said not in ("?0", "?1"):
        raise InvalidValue("`Upload-Complete` is ?0 or ?1.")
    return said == "?1"


def _progress(size: int) -> dict[str, str]:
    return {"Upload-Offset": str(size), "Upload-Complete": "?0"}


def _made(file: StoredFile, is_new: bool) -> Response:
    headers = {"Location": f"/v1/files/{file.id}", "Upload-Complete": "?1", "Upload-Offset": str(file.size)}
    return JSONResponse(ShownFile.of(file).model_dump(mode="json"), 201 if is_new else 200, headers)


def _closing(error: ThreadkeepError) -> Response:
    """Return a refusal; the rest of the body is never read, so the connection cannot be used again."""
    answer = problem_of(error)
    answer.headers.update(CLOSE)
    return answer


async def _mismatch(files: Attachments, scope: Scope, upload: str, error: UploadMismatch) -> Response:
    answer = problem_of(error)
    answer.headers.update({**_progress((await files.upload(scope, upload)).size), **CLOSE})
    return answer


def _range(request: Request, file: StoredFile, etag: str) -> tuple[int, int] | None:
    """Return the requested range, which may be empty; None for the whole file, also if several ranges are requested."""
    asked = _RANGE.fullmatch(request.headers.get("range", "").replace(" ", ""))
    if asked is None or not (asked[1] or asked[2]) or request.headers.get("if-range", etag) != etag:
        return None
    if not asked[1]:
        return max(0, file.size - int(asked[2])), file.size if int(asked[2]) else 0
    start, end = int(asked[1]), int(asked[2]) + 1 if asked[2] else file.size
    return None if end <= start < file.size else (start, min(end, file.size))


def file_headers(file: StoredFile) -> dict[str, str]:
    """Return headers that say whether a browser may show a file or must save it, and that it runs nothing."""
    is_shown = file.media_type in RASTER or file.media_type.startswith("audio/")
    plain = re.sub(r"[^A-Za-z0-9._ -]", "_", file.name) or file.id
    named = f"filename=\"{plain}\"; filename*=UTF-8''{quote(file.name or file.id, safe='')}"
    return {
        "Content-Type": UNKNOWN if file.media_type in ACTIVE else file.media_type,
        "Content-Disposition": f"{'inline' if is_shown else 'attachment'}; {named}",
        "Content-Security-Policy": POLICY,
        "X-Content-Type-Options": "nosniff",
        "ETag": f'"{file.sha256}"',
        "Accept-Ranges": "bytes",
        "Cache-Control": "private, no-cache",
    }
