"""The files of the page as a browser gets them: compressed, checked against its copy, never stale.

A file is read again when it has changed, so that a new release or an edit shows at once; a browser revalidates every
file (`no-cache`) and mostly gets a 304. The modules are served as one file, and the service worker gets the list of
files; both are made from the folder itself. Loaded one by one, as 81 files with `modulepreload`, the first view has 209
KB instead of 126 and takes twice as long to be usable.
"""

import gzip
import hashlib
import json
import mimetypes
import os
import signal
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from fastapi import APIRouter, FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from threadkeep.conversations import Conversations
from threadkeep.server.identity.guards import Who
from threadkeep.server.middleware.headers import root_path_of
from threadkeep.server.negotiation import takes_gzip
from threadkeep.settings import Settings
from threadkeep_pages.bundle import STYLES, WEB, assemble, bare, order, styles
from threadkeep_pages.bundle import languages as listed
from threadkeep_pages.opinions import opinion_routes
from threadkeep_pages.shares import share_routes

DOCUMENT = "index.html"
FIRST = "app.js"
WHOLE = "whole.js"
"""The name of all modules together; there is no file of this name."""
STYLE = "whole.css"
"""The name of all style sheets together; there is no file of this name."""
WORKER = "sw.js"
OWN_HEADERS: Mapping[str, Mapping[str, str]] = {
    # The only document that may show an image of another site, in a frame, when the reader asks for it.
    "image.html": {
        "Content-Security-Policy": "default-src 'none'; img-src https: http:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-same-origin",
        "X-Frame-Options": "SAMEORIGIN",
    },
    # The frame that draws a diagram: without an origin, with its own script (by digest) and the library it is sent.
    "diagram.html": {
        "Content-Security-Policy": "default-src 'none'; "
        "script-src 'sha256-ltVcBPeOcAvMJ9OB/2F57Z3/FBNG3CDG9dFNB29Fu5Q=' blob:; style-src 'unsafe-inline'; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'self'; sandbox allow-scripts",
        "X-Frame-Options": "SAMEORIGIN",
    },
    # The frame that shows HTML or SVG of an answer: without an origin, with the code it brings, and nothing to load.
    "artifact.html": {
        "Content-Security-Policy": "default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
        "img-src data: blob:; media-src data: blob:; font-src data:; base-uri 'none'; form-action 'none'; "
        "webrtc 'block'; frame-ancestors 'self'; sandbox allow-scripts",
        "X-Frame-Options": "SAMEORIGIN",
        "X-DNS-Prefetch-Control": "off",
    },
}
"""Headers of single files that replace those of every answer."""
_TYPES = {".js": "text/javascript", ".webmanifest": "application/manifest+json", ".svg": "image/svg+xml"}
_PACKED = ("text/", "application/manifest+json", "image/svg+xml", "application/json")
_KEPT = (".js", ".css", ".svg", ".webmanifest", ".woff2")
_LATER = ("vendor/", "texts/")


@dataclass(frozen=True, slots=True)
class Packed:
    """A file's content, ready to be sent."""

    raw: bytes
    packed: bytes | None
    media_type: str
    etag: str

    @classmethod
    def of(cls, raw: bytes, name: str) -> "Packed":
        media_type = _TYPES.get(Path(name).suffix) or mimetypes.guess_type(name)[0] or "application/octet-stream"
        packed = gzip.compress(raw, 9, mtime=0) if media_type.startswith(_PACKED) else None
        return cls(raw, packed, media_type, f'"{hashlib.blake2s(raw, digest_size=12).hexdigest()}"')

    def answer(self, request: Request, status: int = 200) -> Response:
        """Answer a request for it: 304 if the browser has it, else compressed if the browser accepts that."""
        headers = {"Cache-Control": "no-cache", "ETag": self.etag, "Vary": "Accept-Encoding"}
        if status == 200 and self.etag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        body = self.raw
        if self.packed is not None and takes_gzip(request.headers.get("accept-encoding", "")):
            body, headers["Content-Encoding"] = self.packed, "gzip"
        return Response(body, status, headers, self.media_type)


class PageFiles:
    """The folder of the page, and the ASGI application that serves it. `told` are features that the page may offer."""

    def __init__(self, folder: Path = WEB, told: Iterable[str] = ()) -> None:
        self._folder = folder.resolve()
        self._told = [f"data-{name}" for name in told]
        self._read: dict[Path | str, tuple[object, Packed]] = {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        if request.method not in ("GET", "HEAD"):
            raise HTTPException(405, headers={"Allow": "GET, HEAD"})
        name = scope["path"].removeprefix(scope.get("root_path", "")).lstrip("/")
        together = {WHOLE: self.whole, STYLE: self.style}
        file = together[name]() if name in together else self.file(name)
        answer = file.answer(request)
        answer.headers.update(OWN_HEADERS.get(name, {}))
        await answer(scope, receive, send)

    def file(self, name: str) -> Packed:
        """Return a file of the folder; anything else is not found."""
        try:
            path = (self._folder / name).resolve()
            changed = path.stat().st_mtime_ns
            if not path.is_relative_to(self._folder) or not path.is_file():
                raise HTTPException(404)
        except (OSError, ValueError):
            raise HTTPException(404) from None
        # By file, not by name: a file has any number of names, such as a/../b.
        return self._kept(path, changed, lambda: Packed.of(path.read_bytes(), path.name))

    def _kept(self, of: Path | str, state: object, make: Callable[[], Packed]) -> Packed:
        """Return what was made before, or make it anew if what it is made of has changed."""
        known = self._read.get(of)
        if known is None or known[0] != state:
            known = self._read[of] = (state, make())
        return known[1]

    def _state(self) -> dict[str, int]:
        """Return all files by name, and when each of them was changed."""
        found = sorted(path for path in self._folder.rglob("*") if path.is_file())
        return {path.relative_to(self._folder).as_posix(): path.stat().st_mtime_ns for path in found}

    def whole(self) -> Packed:
        """Return all modules that the page needs at once, as one."""
        return self._kept(
            WHOLE,
            self._state(),
            lambda: Packed.of(assemble(FIRST, lambda name: bare(name, self._text)).encode(), WHOLE),
        )

    def style(self) -> Packed:
        """Return all style sheets of the page as one."""
        state = self._state()
        found = [name for name in STYLES if name in state]
        return self._kept(STYLE, state, lambda: Packed.of(styles(found, self._text).encode(), STYLE))

    def document(self, root: str = "") -> Packed:
        """Return the document, with its addresses as the browser sees them: all of them are under `root`."""
        file = self.file(DOCUMENT)

        def make() -> Packed:
            text = file.raw.decode().replace('="/', f'="{root}/')
            languages = f'data-languages="{listed(self._text, self._folder)}"'
            told = " ".join([f'data-root="{root}"', languages, *self._told])
            return Packed.of(text.replace("<html", f"<html {told}").encode(), DOCUMENT)

        return self._kept(f"{DOCUMENT} {root}", [file.etag, self._state()], make)

    def worker(self, root: str = "") -> Packed:
        """Return the service worker with the list of what it keeps; it changes when any of it does."""
        state = self._state()
        return self._kept(f"{WORKER} {root}", state, lambda: self._worker(list(state), root))

    def _worker(self, names: list[str], root: str) -> Packed:
        apart = {*order(FIRST, self._text), *STYLES, WORKER}
        # Files that are loaded on demand are cached when they are used.
        kept = [name for name in names if name.endswith(_KEPT) and name not in apart and not name.startswith(_LATER)]
        etags = [
            self.whole().etag,
            self.style().etag,
            self.document(root).etag,
            *(self.file(name).etag for name in [WORKER, *kept]),
        ]
        version = hashlib.blake2s("".join(etags).encode(), digest_size=8).hexdigest()
        files = [f"{root}/{path}" for path in ("", *(f"static/{name}" for name in [WHOLE, STYLE, *kept]))]
        shell = {"version": version, "root": root, "files": files}
        return Packed.of(f"const SHELL = {json.dumps(shell)};\n{self._text(WORKER)}".encode(), WORKER)

    def _text(self, name: str) -> str:
        return self.file(name).raw.decode()


def add_page(app: FastAPI, conversations: Conversations, settings: Settings) -> None:
    """Add the page to a server, which also tells a person at an unknown address so; and shared conversations."""
    offered = {"killable": settings.may_be_killed, "share": settings.may_share}
    told = [name for name, is_on in offered.items() if is_on]
    if (provider := getattr(settings.identity, "oidc", None)) is not None:
        told.append(f'sign-in="{escape(provider.name)}"')
    files = PageFiles(told=told)
    refuse: Any = app.exception_handlers[HTTPException]

    @app.exception_handler(HTTPException)
    async def refused(request: Request, error: HTTPException) -> Response:
        is_person = request.method == "GET" and "text/html" in request.headers.get("accept", "")
        if error.status_code == 404 and is_person:
            return files.document(root_path_of(request)).answer(request, 404)
        refusal: Response = await refuse(request, error)
        return refusal

    app.include_router(page_routes(files))
    app.include_router(opinion_routes(conversations))
    app.mount("/static", files, name="static")
    if settings.may_share:
        app.include_router(share_routes(conversations))
    if settings.may_be_killed:
        app.include_router(_trial_routes())


def _trial_routes() -> APIRouter:
    """What `threadkeep serve --killable` has a button for: the server is killed, and starts again with nothing lost."""
    router = APIRouter(include_in_schema=False)

    @router.post("/v1/kill")
    async def kill(who: Who) -> None:
        """End as a power cut would: without an answer, and without tidying up."""
        os.kill(os.getpid(), signal.SIGKILL)

    return router


def page_routes(files: PageFiles) -> APIRouter:
    """The page, at the address of each of its views, and its service worker, which must be at the root."""
    router = APIRouter(include_in_schema=False)

    @router.get("/")
    @router.get("/c/{id}")
    async def page(request: Request) -> Response:
        return files.document(root_path_of(request)).answer(request)

    @router.get("/sw.js")
    async def worker(request: Request) -> Response:
        return files.worker(root_path_of(request)).answer(request)

    return router
