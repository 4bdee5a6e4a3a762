"""Requests to a server: repeated until they are answered or patience ends, with problems as the errors of Threadkeep.

What is sent again carries an idempotency key, or does no harm when it is done twice. What conversations are is not
known here.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import cache
from random import SystemRandom
from typing import Any
from urllib.parse import quote

import httpx

from threadkeep.conversation.ids import new_id
from threadkeep.conversation.turn import TurnState
from threadkeep.errors import StaleHead, StaleVersion, ThreadkeepError
from threadkeep.loop_turn import TurnOver

FIRST_PAUSE, LONGEST_PAUSE = 0.2, 10.0
SILENCE = 40.0
"""A stream on which nothing comes for so many seconds is dead: the server says something every 15."""
PASSING = frozenset({"stopping", "rate_limited", "store_unavailable", "store_busy", "out_of_memory", "queue_full"})
"""The codes of problems that pass by themselves."""


class ServerUnreachable(ThreadkeepError, code="server_unreachable"):
    """The server cannot be reached, or does not answer."""


@cache
def _kinds() -> dict[str, type[ThreadkeepError]]:
    """Return the errors of the tree by their codes; of those with one code, the class that the others are made from."""

    def below(kind: type[ThreadkeepError]) -> Iterator[type[ThreadkeepError]]:
        for each in kind.__subclasses__():
            yield from below(each)
            yield each

    return {kind.code: kind for kind in below(ThreadkeepError)}


def error_of(said: dict[str, Any]) -> ThreadkeepError:
    """Return a problem, or the data of an event that says why a stream ended, as an error."""
    code, detail = said.get("code", "error"), said.get("detail", "The server's answer is no problem that is known.")
    kind = _kinds().get(code)
    if kind is StaleHead:
        return StaleHead(said.get("head"))
    if kind is StaleVersion:
        return StaleVersion(said.get("version", 0))
    if kind is TurnOver:
        return TurnOver(TurnState(said["state"]) if said.get("state") else None)
    error = (kind or ThreadkeepError)(detail)
    error.code = code  # of a newer server, or of a package that is not here
    return error


def problem_of(answer: httpx.Response) -> ThreadkeepError:
    """Return a refusal as an error that knows when to ask again."""
    try:
        error = error_of(answer.json())
    except (ValueError, AttributeError):
        error = ServerUnreachable(f"The server answered {answer.status_code}, and not in JSON.")
    wait = answer.headers.get("retry-after", "")
    error.retry_after = float(wait) if wait.isdigit() else 0.0  # type: ignore[attr-defined]
    return error


class Pauses:
    """The pauses between two tries: longer after each failure, with some chance in them, until patience ends."""

    def __init__(self, patience: float) -> None:
        self._until = asyncio.get_running_loop().time() + patience
        self._next = FIRST_PAUSE

    async def wait_after(self, error: ThreadkeepError) -> None:
        """Wait, or raise the error if there is no time left."""
        pause = max(self._next * (0.75 + SystemRandom().random() / 2), getattr(error, "retry_after", 0.0))
        self._next = min(2 * self._next, LONGEST_PAUSE)
        if asyncio.get_running_loop().time() + pause > self._until:
            raise error
        await asyncio.sleep(pause)


class Wire:
    """A server, by its address, and who asks it."""

    def __init__(self, client: httpx.AsyncClient, patience: float) -> None:
        self._client = client
        self._patience = patience

    async def call(self, method: str, path: str, *, key: str | None = None, **how: Any) -> Any:
        """Send a request, again if need be, and return the JSON of its answer."""
        headers = how.pop("headers", {})
        if method == "POST":
            headers = {**headers, "Idempotency-Key": quote(key, safe="") if key else new_id()}
        pauses = Pauses(self._patience)
        while True:
            try:
                answer = await self._client.request(method, path, headers=headers, **how)
            except httpx.TransportError as error:
                failed: ThreadkeepError = ServerUnreachable(f"{ServerUnreachable.__doc__} ({error})")
            else:
                if answer.is_success:
                    return answer.json() if answer.content else None
                failed = problem_of(answer)
                if failed.code not in PASSING:
                    raise failed
            await pauses.wait_after(failed)

    @asynccontextmanager
    async def stream(self, path: str, cursor: str | None) -> AsyncIterator[AsyncIterator[tuple[str, Any, str | None]]]:
        """Open a stream of events behind a cursor: of each its name, its data and its cursor."""
        headers = {"Accept": "text/event-stream"} | ({"Last-Event-ID": cursor} if cursor else {})
        patience = httpx.Timeout(self._client.timeout.connect, read=SILENCE)
        try:
            async with self._client.stream("GET", path, headers=headers, timeout=patience) as answer:
                if not answer.is_success:
                    await answer.aread()
                    raise problem_of(answer)
                yield _events(answer)
        except httpx.TransportError as error:
            raise ServerUnreachable(f"{ServerUnreachable.__doc__} ({error})") from None


async def _events(answer: httpx.Response) -> AsyncIterator[tuple[str, Any, str | None]]:
    fields: dict[str, str] = {}
    async for line in answer.aiter_lines():
        if line:
            name, _, value = line.partition(":")
            fields[name] = value.removeprefix(" ")
        else:
            if "event" in fields:
                yield fields["event"], json.loads(fields["data"]), fields.get("id")
            fields = {}
