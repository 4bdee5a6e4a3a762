"""A network that breaks answers off, for clients that stand on `httpx2`."""

import os
from collections.abc import AsyncIterator, Callable

import httpx2

Breaks = Callable[[httpx2.Request], int | None]


def places(few: int) -> int:
    """Return at how many places answers are cut: at a few, or at as many as the environment says."""
    return int(os.environ.get("THREADKEEP_CUTS", few))


class Breaking(httpx2.AsyncHTTPTransport):
    """A network that breaks: `breaks` tells after how many bytes of an answer, 0 before any of it arrives."""

    def __init__(self, breaks: Breaks) -> None:
        super().__init__()
        self.breaks = breaks
        self.asked: list[httpx2.Request] = []

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.asked.append(request)
        answer = await super().handle_async_request(request)
        most = self.breaks(request)
        if most == 0:
            await answer.aclose()
            raise httpx2.ReadError("broken", request=request)
        return (
            answer
            if most is None
            else httpx2.Response(answer.status_code, headers=answer.headers, stream=Cut(answer, most))
        )


class Cut(httpx2.AsyncByteStream):
    """The beginning of an answer."""

    def __init__(self, answer: httpx2.Response, most: int) -> None:
        self._answer = answer
        self._left = most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._answer.aiter_raw():
            yield chunk[: self._left]
            self._left -= len(chunk)
            if self._left <= 0:
                raise httpx2.ReadError("broken")

    async def aclose(self) -> None:
        await self._answer.aclose()
