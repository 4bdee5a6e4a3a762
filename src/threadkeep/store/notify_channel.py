"""The contract of a notify channel: short words to every process that uses the same store, at once.

It is for telling that there is something to read, never for what is to be read: whoever can reach the store may listen.
It may lose words, and need not keep their order.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence

MOST_BYTES = 7000
"""How long a word may be."""


class NotifyChannel(ABC):
    """A channel between processes. It is opened and closed any number of times, by one task."""

    @abstractmethod
    async def open(self, hear: Callable[[str], None]) -> None:
        """Connect, and from now on call `hear` with every word that is sent by anybody, ourselves included.

        Raises an error of `StoreError` if that is not possible.
        """

    @abstractmethod
    async def send(self, words: Sequence[str]) -> None:
        """Send words; none at all just finds out whether the channel still carries. Raises an error of `StoreError`."""

    @abstractmethod
    async def close(self) -> None:
        """Hear no more. A channel that is not open is left as it is."""
