"""Loading models in threads of their own: a vendor's package takes seconds, weights take more, a bad disk for ever.

The event loop does not wait, the threads that everything else shares are left alone, and few loads run at a time. What
is loaded, and how it is found again, is not decided here.
"""

import asyncio
from collections.abc import Callable, Hashable
from threading import Thread

from threadkeep.errors import ModelUnavailable

MOST_LOADING = 4
SECONDS = 60.0


class Loader:
    """Does each load once, however many wait for it."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._loaded: set[Hashable] = set()
        self._loading: dict[Hashable, asyncio.Future[None]] = {}

    async def load(self, key: Hashable, work: Callable[[], object]) -> None:
        """Return when the work was done; ModelUnavailable if that takes too long. What failed is tried again."""
        if key in self._loaded:
            return
        loading = self._loading.get(key) or self._begin(key, work)
        try:
            async with asyncio.timeout(self._seconds):
                await asyncio.shield(loading)
        except TimeoutError:
            raise ModelUnavailable("The model is still being loaded; try again later.") from None

    def _begin(self, key: Hashable, work: Callable[[], object]) -> asyncio.Future[None]:
        if len(self._loading) >= MOST_LOADING:
            raise ModelUnavailable("Too many models are being loaded; try again in a moment.")
        loading = self._loading[key] = _in_thread(work)

        def note(ended: asyncio.Future[None]) -> None:
            del self._loading[key]
            if not ended.cancelled() and ended.exception() is None:
                self._loaded.add(key)

        loading.add_done_callback(note)
        return loading


def _in_thread(work: Callable[[], object]) -> asyncio.Future[None]:
    loop = asyncio.get_running_loop()
    future: asyncio.Future[None] = loop.create_future()

    def tell(error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(None)
        else:
            future.set_exception(error)

    def run() -> None:
        error: BaseException | None = None
        try:
            work()
        except BaseException as raised:
            error = raised
        if not loop.is_closed():
            loop.call_soon_threadsafe(tell, error)

    # A thread that hangs must not keep the process from ending.
    Thread(target=run, name="threadkeep-model", daemon=True).start()
    return future
