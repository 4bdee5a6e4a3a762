"""A server for `bench.server`: streams that say the time twenty times a second, bare or through Threadkeep; or, as
`instant`, turns that are answered at once."""

import asyncio
import sys
import time
from collections.abc import AsyncIterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request as HttpRequest
from starlette.responses import StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from bench.turn import ASSISTANT, InstantModel
from threadkeep.conversation.message import Usage
from threadkeep.llm.base import Delta, Model, Request, Stopped, Text, Used
from threadkeep.runtime import open_conversations
from threadkeep.server.app import create_app
from threadkeep.server.connection import Connection, tune_garbage_collector
from threadkeep.settings import Settings

EVERY = 0.05
SECONDS = 20


class ClockModel(Model):
    """Says the time, twenty times a second."""

    name = "clock"
    is_scripted = True

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """Answer for a while."""
        async for text in ticking():
            yield Text(text)
        yield Used(Usage())
        yield Stopped("stop")


async def ticking() -> AsyncIterator[str]:
    """Yield the time, twenty times a second."""
    loop = asyncio.get_running_loop()
    start = loop.time()
    for tick in range(int(SECONDS / EVERY)):
        await asyncio.sleep(max(0.0, start + tick * EVERY - loop.time()))
        yield f"{time.time():.6f} "


def bare_app() -> ASGIApp:
    """Return Starlette with one stream and nothing around it."""

    async def chunks() -> AsyncIterator[bytes]:
        async for text in ticking():
            yield f'id: 1\nevent: text.delta\ndata: {{"text":"{text}"}}\n\n'.encode()

    async def stream(request: HttpRequest) -> StreamingResponse:
        return StreamingResponse(chunks(), media_type="text/event-stream")

    return Starlette(routes=[Route("/stream", stream)])


async def main(kind: str, port: int) -> None:
    """Serve until killed."""
    with TemporaryDirectory() as folder:
        app: ASGIApp
        http: Any
        if kind == "bare":
            app, http = bare_app(), "auto"
        else:
            model = ClockModel() if kind == "threadkeep" else InstantModel()
            conversations = await open_conversations(f"sqlite:///{Path(folder) / 'bench.db'}", [ASSISTANT], model=model)
            free = dict.fromkeys(("user_requests_per_second", "user_turns", "user_streams"), 0)
            app, http = create_app(conversations, Settings.model_validate({"store": "memory:", **free})), Connection
            tune_garbage_collector()
        config = uvicorn.Config(app, port=port, log_level="critical", access_log=False, backlog=4096, http=http)
        await uvicorn.Server(config).serve()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))
