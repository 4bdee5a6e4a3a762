"""How many connections a server takes: fewer than it may open files, and only a part of them from one address.

Proxies that the operator trusts stand for many clients, so they are counted in the total alone.
"""

import ipaddress
import logging
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import NoReturn

logger = logging.getLogger(__name__)

TELL_EVERY = 10.0
"""Seconds between two lines that say that connections are refused."""


def connections_within(open_files: int) -> int:
    """Return how many connections leave enough files for the store, for tools and for what models are asked over."""
    return open_files * 3 // 4


class TooManyConnectionsError(Exception):
    """There are too many connections."""


class ConnectionLimits:
    """Counts the connections of one server; 0 is no limit. `trusted` are addresses and networks of proxies."""

    def __init__(self, most: int = 0, most_of_address: int = 0, trusted: Sequence[str] = ()) -> None:
        self._most = most
        self._most_of_address = most_of_address
        self._trusted = [ipaddress.ip_network(each, strict=False) for each in trusted]
        self._open: Counter[str] = Counter()
        self._refused = 0
        self._told_at = -TELL_EVERY
        self.open = 0

    def enter(self, address: str) -> Callable[[], None]:
        """Take a place for a connection and return what gives it back, or raise `TooManyConnectionsError`."""
        if 0 < self._most <= self.open:
            self._refuse(f"At most {self._most} connections are open at a time.", address)
        if 0 < self._most_of_address <= self._open[address] and not self._is_trusted(address):
            self._refuse(f"At most {self._most_of_address} of them may come from one address.", address)
        self.open += 1
        self._open[address] += 1

        def leave() -> None:
            self.open -= 1
            self._open[address] -= 1
            if not self._open[address]:
                del self._open[address]

        return leave

    def _is_trusted(self, address: str) -> bool:
        try:
            found = ipaddress.ip_address(address)
        except ValueError:
            return False
        return any(found in network for network in self._trusted)

    def _refuse(self, reason: str, address: str) -> NoReturn:
        """Say no; the log says so once in a while, however many ask."""
        self._refused += 1
        if time.monotonic() - self._told_at >= TELL_EVERY:
            logger.warning("%d connections refused, the last one from %s: %s", self._refused, address, reason)
            self._refused, self._told_at = 0, time.monotonic()
        raise TooManyConnectionsError(reason)
