"""Refuses a NUL in the query of an address: no text that is looked for has one, and PostgreSQL takes none."""

from starlette.types import Receive, Scope, Send

from threadkeep.server.middleware.headers import HttpMiddleware
from threadkeep.server.problems import problem


class QueryText(HttpMiddleware):
    """Answers such a request with a problem."""

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        if b"%00" in scope["query_string"] or b"\0" in scope["query_string"]:
            await problem(400, "invalid_text", "The query of an address has no control characters such as NUL.")(
                scope, receive, send
            )
        else:
            await self.app(scope, receive, send)
