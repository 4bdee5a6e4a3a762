"""Serving under a part of a host, such as `https://example.org/threads/`.

The prefix is taken off the path before anything else sees it, and put on again where an answer names an address. A
proxy may take it off itself, or leave it on.
"""

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from threadkeep.server.middleware.headers import HttpMiddleware

_ROOT_PATH = "threadkeep.root_path"


class RootPath(HttpMiddleware):
    """Makes the application inside see itself at the root of its host."""

    def __init__(self, app: ASGIApp, root_path: str) -> None:
        super().__init__(app)
        self.root_path = root_path

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        path: str = scope["path"]
        if path == self.root_path or path.startswith(f"{self.root_path}/"):
            path = path.removeprefix(self.root_path) or "/"

        async def send_with_prefix(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if (location := headers.get("Location", "")).startswith("/"):
                    headers["Location"] = f"{self.root_path}{location}"
            await send(message)

        # `root_path` of the ASGI standard would be taken off once more, from `/v1` served under `/v1` for example.
        inside = {**scope, "path": path, "raw_path": path.encode(), _ROOT_PATH: self.root_path}
        await self.app(inside, receive, send_with_prefix)


def root_path_of(connection: HTTPConnection) -> str:
    """Return the prefix that a browser sees before every path of ours; empty at the root of a host."""
    return str(connection.scope.get(_ROOT_PATH, ""))
