"""The same without `asyncio`: a thin edge over the asynchronous client, whose event loop runs in a thread."""

import asyncio
import inspect
import threading
from collections.abc import Coroutine, Iterator
from contextlib import AbstractAsyncContextManager, contextmanager
from functools import wraps
from typing import Any

from threadkeep_client.conversation import RemoteConversation
from threadkeep_client.conversations import RemoteConversations
from threadkeep_client.loop import RemoteLoops, RemoteLoopTurn
from threadkeep_client.opening import connect
from threadkeep_client.turn import RemoteTurn

_WRAPPED = (RemoteConversation, RemoteConversations, RemoteLoops, RemoteLoopTurn, RemoteTurn)


class Blocking:
    """An object of the client whose verbs return when they are done, and whose streams are iterated as they are."""

    def __init__(self, inside: Any, loop: asyncio.AbstractEventLoop) -> None:
        self._inside = inside
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inside, name)
        if not inspect.isroutine(found):
            return self._shown(found)

        @wraps(found)
        def verb(*args: Any, **kwargs: Any) -> Any:
            made = found(*args, **kwargs)
            return self._shown(self._wait(made) if inspect.iscoroutine(made) else made)

        return verb

    def _wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    def _shown(self, value: Any) -> Any:
        if isinstance(value, _WRAPPED):
            return Blocking(value, self._loop)
        if isinstance(value, tuple) and value and isinstance(value[0], _WRAPPED):
            return tuple(Blocking(each, self._loop) for each in value)
        if isinstance(value, AbstractAsyncContextManager):
            return self._block(value)
        return self._iterated(value) if inspect.isasyncgen(value) else value

    @contextmanager
    def _block(self, turn: Any) -> Iterator[Any]:
        """Let a turn of a loop of one's own begin and end with a `with` block."""
        begun = self._shown(self._wait(turn.__aenter__()))
        try:
            yield begun
        except BaseException as error:
            if not self._wait(turn.__aexit__(type(error), error, error.__traceback__)):
                raise
        else:
            self._wait(turn.__aexit__(None, None, None))

    def _iterated(self, events: Any) -> Iterator[Any]:
        async def following() -> Any:
            return await anext(events, _END)

        try:
            while (event := self._wait(following())) is not _END:
                yield event
        finally:
            self._wait(events.aclose())


_END = object()


@contextmanager
def connect_sync(url: str, key: str | None = None, **how: Any) -> Iterator[Any]:
    """Open a server's conversations for a `with` block, as `connect` does: the same verbs, without `await`."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="threadkeep client", daemon=True)
    thread.start()
    opened = connect(url, key, **how)
    try:
        yield Blocking(asyncio.run_coroutine_threadsafe(opened.__aenter__(), loop).result(), loop)
    finally:
        asyncio.run_coroutine_threadsafe(opened.__aexit__(None, None, None), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
