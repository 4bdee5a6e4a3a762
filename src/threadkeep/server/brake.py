"""A brake on wrong keys: an address that shows many of them is not listened to for a moment.

A key is too long to be guessed, so this is not what keeps strangers out: it keeps them from having the store asked
without end. Its table has a bound, and each look at it costs the same.
"""

import math
import time
from collections import OrderedDict
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

from starlette.types import Scope

from threadkeep.errors import RateLimited

AT_ONCE = 100
PER_SECOND = 2.0
"""How many wrong keys an address may show at once, as a browser does that has slept in many tabs, and how fast that is
forgiven."""
MOST_ADDRESSES = 10_000


class Brake:
    """Remembers the addresses that showed wrong keys lately."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._wrong: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def check(self, scope: Scope) -> None:
        """`RateLimited` if the address of a request has shown too many."""
        if (too_many := self._count(_address(scope)) - AT_ONCE + 1) > 0:
            wait = math.ceil(too_many / PER_SECOND)
            raise RateLimited("Too many wrong keys came from this address.", retry_after=wait)

    def note(self, scope: Scope) -> None:
        """Note that a request showed a wrong one."""
        address = _address(scope)
        self._wrong[address] = (self._count(address) + 1, self._clock())
        self._wrong.move_to_end(address)
        if len(self._wrong) > MOST_ADDRESSES:
            self._wrong.popitem(last=False)

    def _count(self, address: str) -> float:
        count, at = self._wrong.get(address, (0.0, 0.0))
        return max(0.0, count - (self._clock() - at) * PER_SECOND)


def _address(scope: Scope) -> str:
    """Return whom to count for: an address, or the network that one customer of a provider has in IPv6."""
    host = scope["client"][0] if scope.get("client") else ""
    try:
        address = ip_address(host)
    except ValueError:
        return str(host)
    if isinstance(address, IPv6Address) and address.ipv4_mapped is None:
        return address.exploded[:19]
    return str(address)
