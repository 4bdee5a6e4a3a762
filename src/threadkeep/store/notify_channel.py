"""The contract of a notify channel: short messages ("words") to every process that uses the same store, at once.

It says that there is something to read, and never carries content: everybody with access to the store may listen. Words
may get lost or change their order.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

MOST_BYTES = 7000
"""How long a word may be."""


class NotifyChannel(ABC):
    """A channel between processes. It is opened and closed any number of times, by one task."""

    reaches_all = True
    """Whether every process on the store has this channel."""

    @abstractmethod
    async def open(self, hear: Callable[[str], None]) -> None:
        """Connect, and from now on call `hear` with every word that is sent by anybody, ourselves included.

        Raises an error of `StoreError` if that is not possible.
        """

    @abstractmethod
    async def send(self, words: Sequence[str]) -> None:
        """Send words; an empty list only checks whether the channel works. Raises an error of `StoreError`."""

    @abstractmethod
    async def close(self) -> None:
        """Close the channel, if it is open."""
