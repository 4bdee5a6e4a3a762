"""Exports: a conversation as a file to keep. JSON holds everything, Markdown and HTML one branch for people to read."""

import re
from enum import StrEnum
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Query
from starlette.responses import Response, StreamingResponse

from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import MAX_SEQ
from threadkeep.conversation.export import export_text
from threadkeep.conversations import Conversations
from threadkeep.server.identity.guards import Who
from threadkeep.server.limits import room_for_export
from threadkeep.server.requests import ConversationId
from threadkeep.transfer.exporter import EXPORTED
from threadkeep.transfer.moving import writer_of

LONGEST_NAME = 60
POLICY = "default-src 'none'; frame-ancestors 'none'; sandbox"
"""Nothing of a file runs or loads on its way to the disk; one opened there brings its own policy."""


class DocumentFormat(StrEnum):
    """How an export is written."""

    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"


_TYPES = {
    DocumentFormat.JSON: "application/json",
    DocumentFormat.MARKDOWN: "text/markdown",
    DocumentFormat.HTML: "text/html",
}
_ENDINGS = {DocumentFormat.JSON: "json", DocumentFormat.MARKDOWN: "md", DocumentFormat.HTML: "html"}
_FILES: dict[int | str, dict[str, Any]] = {200: {"content": {kind: {} for kind in _TYPES.values()}}}
Chosen = Annotated[DocumentFormat, Query(alias="format", description="`json` is lossless, the others show one branch.")]
Head = Annotated[
    int | None, Query(ge=1, le=MAX_SEQ, description="The branch that Markdown and HTML show; else the current one.")
]


def export_routes(conversations: Conversations) -> APIRouter:
    router = APIRouter(prefix="/v1/conversations", tags=["reading"])

    @router.get(
        "/{id}/export",
        dependencies=[Depends(room_for_export)],
        response_class=Response,
        responses=_FILES,
        summary="Export a conversation",
    )
    async def export(who: Who, id: ConversationId, chosen: Chosen = DocumentFormat.JSON, head: Head = None) -> Response:
        handle = await conversations.named(who.scope, id)
        found = await handle.snapshot(head=head)  # or it is not found, which no stream could say
        conversation = found.conversation
        writer = None if chosen is DocumentFormat.JSON else writer_of(chosen.value)
        headers = file_headers(conversation, chosen)
        await conversations.admin.record(
            who.scope.tenant, EXPORTED, f"conversation:{conversation.id}", format=chosen.value
        )
        if writer is None:
            text = export_text(conversation, handle.reading.entries(conversation), utc_now())
            return StreamingResponse(text, media_type=_TYPES[chosen], headers=headers)
        text = handle.reading.written(writer(conversation), found.branch)
        return StreamingResponse(text, media_type=_TYPES[chosen], headers=headers)

    return router


def file_headers(conversation: Conversation, chosen: DocumentFormat) -> dict[str, str]:
    """Return what makes an answer a file with a harmless name; a page of ours never shows it as a part of itself."""
    ending = _ENDINGS[chosen]
    plain = f"conversation-{conversation.id}.{ending}"
    words = "-".join(re.findall(r"\w+", conversation.title or ""))[:LONGEST_NAME].strip("-_")
    named = f"conversation-{words}.{ending}" if words else plain
    return {
        "Content-Disposition": f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(named, safe='')}",
        "Content-Security-Policy": POLICY,
        "Cache-Control": "no-store",
    }
