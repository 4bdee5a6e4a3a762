"""Work that a client waits for, and that ends when the client leaves: nobody would hear of it."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect
from starlette.types import Receive

T = TypeVar("T")
CLIENT_LEFT = 499
"""The status of a request that was given up before it was answered; nobody gets to see it but logs and metrics."""


async def unless_gone(receive: Receive, work: Coroutine[Any, Any, T]) -> T:
    """Do the work and return what comes of it; `ClientDisconnect` if the client of a request leaves before."""
    leaving, working = asyncio.create_task(_gone(receive)), asyncio.create_task(work)
    try:
        await asyncio.wait((leaving, working), return_when=asyncio.FIRST_COMPLETED)
        if not working.done():
            raise ClientDisconnect
        return await working
    finally:
        leaving.cancel()
        working.cancel()
        await asyncio.gather(leaving, working, return_exceptions=True)


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
