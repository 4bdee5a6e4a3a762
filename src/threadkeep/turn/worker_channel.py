"""The notify channel between the workers of one server: a pair of sockets for each, which all of them inherit.

It is for stores without a channel of their own. Other programs on the store are not reached, and a worker that is busy
may miss words: readers look into the log every second in any case.
"""

import asyncio
import socket
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress

from threadkeep.store.changes import MOST_BYTES, NotifyChannel

AT_ONCE = 100
"""How many words are heard in one round of the event loop."""

Ear = tuple[socket.socket, socket.socket]
"""Where a worker hears, and where the others speak to it."""


def make_ears(count: int) -> list[Ear]:
    """Return sockets for so many workers; to be called before they are forked."""
    # Linux lets a few datagrams wait only; macOS knows no packets in order.
    kind = socket.SOCK_SEQPACKET if sys.platform == "linux" else socket.SOCK_DGRAM
    ears = [socket.socketpair(socket.AF_UNIX, kind) for _ in range(count)]
    for end in (end for ear in ears for end in ear):
        end.setblocking(False)
    return ears


class WorkerChannel(NotifyChannel):
    """The channel of the worker with this number."""

    reaches_all = False

    def __init__(self, ears: Sequence[Ear], own: int) -> None:
        self._ear = ears[own][0]
        self._others = [mouth for number, (_, mouth) in enumerate(ears) if number != own]

    async def open(self, hear: Callable[[str], None]) -> None:
        asyncio.get_running_loop().add_reader(self._ear, self._listen, hear)

    def _listen(self, hear: Callable[[str], None]) -> None:
        with suppress(BlockingIOError):
            for _ in range(AT_ONCE):
                hear(self._ear.recv(2 * MOST_BYTES).decode())

    async def send(self, words: Sequence[str]) -> None:
        for word in words:
            for other in self._others:
                # One that is busy, or not there, has words enough that wait for it.
                with suppress(OSError):
                    other.send(word.encode())

    async def close(self) -> None:
        asyncio.get_running_loop().remove_reader(self._ear)
