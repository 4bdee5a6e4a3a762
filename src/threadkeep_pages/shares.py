"""Share links: made, listed and taken back by whoever owns the conversation, and read by whoever has one.

What a link shows is the HTML export of its branch, with the images inside: the page itself, read-only, under a policy
that lets nothing run but its own code and nothing load. It has no origin, so that it can reach no login of whoever
reads it. Its address holds a secret, so it stands in no log.
"""

import zlib
from collections.abc import AsyncIterator
from typing import Annotated, Any, Self

from fastapi import APIRouter, Depends, Path, Request, Response
from pydantic import Field
from starlette.responses import HTMLResponse, StreamingResponse

from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import MAX_SEQ
from threadkeep.conversation.share import Share
from threadkeep.conversation.value import Moment
from threadkeep.conversations import Conversations
from threadkeep.errors import RateLimited, ShareNotFound
from threadkeep.server.identity.api_keys import WrongKeyLimiter
from threadkeep.server.identity.guards import Who
from threadkeep.server.limits import within_rate
from threadkeep.server.middleware.headers import root_path_of
from threadkeep.server.negotiation import takes_gzip
from threadkeep.server.requests import Body, ConversationId, Lasts
from threadkeep.server.responses import Shown
from threadkeep_pages.html_export import HtmlWriter, assistant_name, notice, safe, shell
from threadkeep_pages.markdown_export import UNTITLED

MOST_READERS = 100
"""How many readers of links are answered at a time: drawing a long conversation takes a while."""
PICTURE = "/static/icon-512.png"
GONE = "This link leads nowhere. It may have been taken back, it may have ended, or a part of it is missing."


class NewShare(Body):
    """What a link shows ends with the entry `head`; left out, with the newest one of the current branch."""

    head: Annotated[int, Field(strict=True, ge=1, le=MAX_SEQ)] | None = None
    expires: Lasts = None


class ShownShare(Shown):
    """A link without its secret."""

    id: str
    head: int
    created_at: Moment
    expires_at: Moment | None

    @classmethod
    def of(cls, share: Share, **more: Any) -> Self:
        """Return a link in this shape."""
        return cls(**share.model_dump(exclude={"digest", "title"}), **more)


class CreatedShare(ShownShare):
    """A link and, this once, its path on this server."""

    path: str


class ShareList(Shown):
    """The links of a conversation that work, oldest first."""

    data: list[ShownShare]


def share_routes(conversations: Conversations) -> APIRouter:
    router = APIRouter(tags=["sharing"])
    counted, owned = [Depends(within_rate)], "/v1/conversations/{id}/shares"

    @router.post(owned, status_code=201, dependencies=counted, summary="Make a link that anybody can read by")
    async def share(request: Request, who: Who, id: ConversationId, body: NewShare | None = None) -> CreatedShare:
        wanted = body or NewShare()
        token, made = await (await conversations.named(who.scope, id)).share(wanted.head, lasts=wanted.expires)
        return CreatedShare.of(made, path=f"{root_path_of(request)}/s/{token}")

    @router.get(owned, dependencies=counted, summary="The links of a conversation, without their secrets")
    async def listing(who: Who, id: ConversationId) -> ShareList:
        return ShareList(
            data=[ShownShare.of(share) for share in await (await conversations.named(who.scope, id)).shares()]
        )

    @router.delete(owned, status_code=204, dependencies=counted, response_class=Response, summary="Take all links back")
    async def unshare_all(who: Who, id: ConversationId) -> None:
        await (await conversations.named(who.scope, id)).unshare()

    @router.delete(
        f"{owned}/{{share}}", status_code=204, dependencies=counted, response_class=Response, summary="Take a link back"
    )
    async def unshare(who: Who, id: ConversationId, share: Annotated[str, Path(max_length=128)]) -> None:
        await (await conversations.named(who.scope, id)).unshare(share)

    router.include_router(_public_route(conversations))
    return router


def _public_route(conversations: Conversations) -> APIRouter:
    router, wrong, readers = APIRouter(), WrongKeyLimiter(), 0

    async def room_for_reader() -> AsyncIterator[None]:
        nonlocal readers
        if readers >= MOST_READERS:
            raise RateLimited("Too many read shared conversations at the moment.")
        readers += 1
        try:
            yield
        finally:
            readers -= 1

    @router.get(
        "/s/{token}",
        dependencies=[Depends(room_for_reader)],
        response_class=HTMLResponse,
        summary="Read what a link shows, without signing in",
    )
    async def read(request: Request, token: str) -> Response:
        try:
            handle, share = await conversations.shared(token)
        except ShareNotFound:
            wrong.check(request.scope)
            wrong.note(request.scope)
            if "text/html" not in request.headers.get("accept", ""):
                raise
            return HTMLResponse(notice("Nothing here", GONE), 404, _headers())
        assistant = conversations.assistant_of(handle.value).name
        shown = handle.value.model_copy(update={"title": share.title, "assistant": assistant})
        text = handle.reading.written(HtmlWriter(shown, _preview(request, shown)), share.head)
        if takes_gzip(request.headers.get("accept-encoding", "")):
            headers = _headers() | {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
            return StreamingResponse(_packed(text), media_type="text/html", headers=headers)
        return StreamingResponse(text, media_type="text/html", headers=_headers())

    return router


def _headers() -> dict[str, str]:
    """Return the headers of a page for everybody. A window that another site opens it in may stay with that site: a
    browser refuses to show a page without an origin otherwise."""
    sandbox = "sandbox allow-scripts allow-popups allow-popups-to-escape-sandbox allow-modals allow-downloads"
    return {
        "Content-Security-Policy": f"{shell().policy}; frame-ancestors 'none'; {sandbox}",
        "Cross-Origin-Opener-Policy": "unsafe-none",
        "X-Robots-Tag": "noindex, nofollow",
    }


def _preview(request: Request, shown: Conversation) -> str:
    """Return what a link to it looks like in other programs: a title, a description and a picture."""
    by = f" with {assistant_name(shown)}" if shown.assistant else ""
    told = {
        "og:type": "article",
        "og:title": shown.title or UNTITLED,
        "og:description": f"A conversation{by}, {shown.created_at:%Y-%m-%d}.",
        "og:image": f"{request.url.scheme}://{request.url.netloc}{root_path_of(request)}{PICTURE}",
        "twitter:card": "summary",
    }
    named = "".join(f'<meta property="{name}" content="{safe(text)}">\n' for name, text in told.items())
    return f'<meta name="description" content="{safe(told["og:description"])}">\n{named}'


async def _packed(text: AsyncIterator[str]) -> AsyncIterator[bytes]:
    """Yield a text compressed, as it comes."""
    packer = zlib.compressobj(wbits=31)
    async for piece in text:
        if packed := packer.compress(piece.encode()):
            yield packed
    yield packer.flush()
