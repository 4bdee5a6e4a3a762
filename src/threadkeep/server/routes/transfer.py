"""Conversations in bulk: everything of a person or a tenant as one file, and files of many kinds taken in."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from enum import StrEnum
from tempfile import SpooledTemporaryFile
from typing import IO, Annotated, Any

from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import Response, StreamingResponse

from threadkeep.conversation.api_key import KeyRole
from threadkeep.conversation.scope import Scope
from threadkeep.conversations import Conversations
from threadkeep.errors import InvalidImport, NotAllowed, RateLimited
from threadkeep.server.identity.guards import Identity, Who
from threadkeep.server.limits import room_for_export, room_for_stream
from threadkeep.server.negotiation import wants_stream
from threadkeep.server.responses import Shown
from threadkeep.server.routes.files import BINARY_BODY
from threadkeep.server.sse import STREAM_HEADERS, encode
from threadkeep.transfer.documents import NARROW
from threadkeep.transfer.exporter import EXPORTED, Selection
from threadkeep.transfer.importer import Importer, Report
from threadkeep.transfer.sources import read_file

IN_MEMORY = 1024 * 1024
MOST_IMPORTS = 4
"""How many imports run at a time; each may take 100 MB of memory. The others wait."""
TOLD_EVERY = 20
"""After how many conversations progress is told."""
_KINDS: tuple[type[InvalidImport], ...] = (InvalidImport, *InvalidImport.__subclasses__())
_CODES = {kind.code: kind for kind in _KINDS}


class BulkFormat(StrEnum):
    """How an export of many is written."""

    JSONL = "jsonl"
    ZIP = "zip"
    FINETUNE = "finetune"


class Whose(StrEnum):
    """Whose conversations."""

    ME = "me"
    TENANT = "tenant"


_TYPES = {
    BulkFormat.JSONL: "application/jsonl",
    BulkFormat.ZIP: "application/zip",
    BulkFormat.FINETUNE: "application/jsonl",
}
_FILES: dict[int | str, dict[str, Any]] = {200: {"content": {kind: {} for kind in _TYPES.values()}}}
Chosen = Annotated[BulkFormat, Query(alias="format", description="`finetune` has the current branches only.")]
Of = Annotated[Whose, Query(description="`tenant` is for administrators: the conversations of all users.")]


class ShownProblem(Shown):
    """What could not be imported, and where it is in the file."""

    place: str
    code: str
    detail: str


class ShownReport(Shown):
    """What an import did: how many conversations are new or longer, how many were there, how many failed and why."""

    conversations: int
    added: int
    unchanged: int
    entries: int
    failed: int
    problems: list[ShownProblem]


def bulk_export_routes(conversations: Conversations) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["transfer"])

    @router.get(
        "/export",
        dependencies=[Depends(room_for_export)],
        response_class=Response,
        responses=_FILES,
        summary="Export all conversations of a person or a tenant",
    )
    async def export(who: Who, chosen: Chosen = BulkFormat.JSONL, of: Of = Whose.ME) -> Response:
        _check_role(who, of)
        selection = Selection(who.scope.tenant, who.scope.user if of is Whose.ME else None)
        ending = "zip" if chosen is BulkFormat.ZIP else "jsonl"
        headers = {"Content-Disposition": f'attachment; filename="conversations.{ending}"', "Cache-Control": "no-store"}
        await conversations.admin.record(who.scope.tenant, EXPORTED, selection.concerned, format=chosen.value)
        content = conversations.export(selection, chosen.value)
        return StreamingResponse(content, media_type=_TYPES[chosen], headers=headers)

    return router


def import_routes(conversations: Conversations) -> APIRouter:
    router = APIRouter(prefix="/v1", tags=["transfer"])
    slots, running = asyncio.Semaphore(MOST_IMPORTS), set[Scope]()

    async def alone(who: Who) -> AsyncIterator[None]:
        """Let one import of a user run at a time."""
        if who.scope in running:
            raise RateLimited("An import of yours is running; it ends when its client leaves.", retry_after=5)
        running.add(who.scope)
        try:
            yield
        finally:
            running.discard(who.scope)

    @router.post(
        "/import",
        dependencies=[Depends(room_for_stream), Depends(alone)],
        openapi_extra=BINARY_BODY,
        response_model=ShownReport,
        summary="Import conversations from a file",
    )
    async def import_file(request: Request, who: Who, of: Of = Whose.ME) -> Any:
        _check_role(who, of)
        file = await _received(request)
        own = of is Whose.ME
        importer = (
            conversations.importer(who.scope) if own else conversations.admin.importer(who.scope, keep_users=True)
        )
        work = _Import(importer, file, slots)
        if wants_stream(request.headers.get("accept", "")):
            return StreamingResponse(work.events(), media_type="text/event-stream", headers=STREAM_HEADERS)
        async for _ in work.steps(request.is_disconnected):
            pass
        _refuse_what_is_none(importer.report)
        return ShownReport.model_validate(importer.report)

    return router


def _check_role(who: Identity, of: Whose) -> None:
    if of is Whose.TENANT and who.role is not KeyRole.ADMIN:
        raise NotAllowed


async def _received(request: Request) -> IO[bytes]:
    """Return the body as a file; a large one waits on disk."""
    file: IO[bytes] = SpooledTemporaryFile(IN_MEMORY)  # noqa: SIM115 - closed by who reads it
    try:
        async for chunk in request.stream():
            await asyncio.to_thread(file.write, chunk)
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


def _refuse_what_is_none(report: Report) -> None:
    """Raise an error if nothing in the file can be read: that is a bad request, and no report."""
    if not report.conversations and len(report.problems) == 1 and report.problems[0].code in _CODES:
        raise _CODES[report.problems[0].code](report.problems[0].detail)


class _Import:
    """One import, conversation by conversation, until the caller may keep no more or `is_over`; `slots` are how many
    run at a time."""

    def __init__(self, importer: Importer, file: IO[bytes], slots: asyncio.Semaphore) -> None:
        self._importer = importer
        self._file = file
        self._slots = slots

    async def steps(self, is_over: Callable[[], Awaitable[bool]] | None = None) -> AsyncIterator[Report]:
        """Import the file; yield the report now and then."""
        number = 0
        with self._file:
            async with self._slots, aclosing(read_file(self._file, "file", NARROW)) as items:
                try:
                    async for item in items:
                        number += 1
                        await self._importer.add(item)
                        if self._importer.is_full or (is_over is not None and await is_over()):
                            return
                        if number % TOLD_EVERY == 0:
                            yield self._importer.report
                finally:
                    self._file.close()  # who reads ahead stops
        await self._importer.finish()

    async def events(self) -> AsyncIterator[bytes]:
        """Yield progress as events, and in the end the report."""
        async for report in self.steps():
            yield encode("import.progress", {"conversations": report.conversations, "entries": report.entries})
        yield encode("import.done", ShownReport.model_validate(self._importer.report).model_dump(mode="json"))
