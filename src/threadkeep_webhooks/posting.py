"""Sending one event to one address: signed, in a bounded time, to no address that is private.

The name of a host is looked up once for each attempt, all of its addresses are checked, and the connection goes to one
of those: an answer of the name server that changes in between changes nothing. Redirects are not followed, and nothing
of an answer is read but its status.
"""

import asyncio
import socket
from collections.abc import Sequence
from datetime import UTC, datetime
from importlib.util import find_spec
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Any
from urllib.parse import urlsplit

from threadkeep.errors import PackageMissing
from threadkeep_webhooks.tables import WebhookTarget

Address = IPv4Address | IPv6Address
_NAT64, _6TO4 = ip_network("64:ff9b::/96"), ip_network("2002::/16")
_SPECIAL = [*map(ip_network, ("192.0.0.0/24", "::/96", "64:ff9b:1::/48", "3fff::/20", "5f00::/16", "fec0::/10"))]
"""Networks of no public hosts that older releases of Python take for global."""


class Undelivered(Exception):
    """An event was not taken; the message says why, without anything that the other side said."""


def needed() -> None:
    """Raise `PackageMissing` if what sending stands on is not installed."""
    if any(find_spec(package) is None for package in ("aiohttp", "standardwebhooks")):
        raise PackageMissing("Webhooks need a package: pip install 'threadkeep[webhooks]'")


class Post:
    """Sends events. Private addresses are reached only within these networks."""

    def __init__(self, private: Sequence[str] = (), seconds: float = 10.0) -> None:
        self._private = [ip_network(network, strict=False) for network in private]
        self._seconds = seconds

    async def send(self, target: WebhookTarget, id: str, body: str) -> None:
        """Send an event; `Undelivered` unless it was taken."""
        import aiohttp  # an optional package, as is the next
        from standardwebhooks import Webhook

        now = datetime.now(UTC)
        headers = {
            "Content-Type": "application/json",
            "User-Agent": "Threadkeep",
            "webhook-id": id,
            "webhook-timestamp": str(int(now.timestamp())),
            "webhook-signature": Webhook(target.secret.get_secret_value()).sign(id, now, body),
        }
        try:
            async with asyncio.timeout(self._seconds):
                resolver = _pinned(await self._addresses(target.url))
                connector = aiohttp.TCPConnector(resolver=resolver, use_dns_cache=False, force_close=True, limit=1)
                async with (
                    aiohttp.ClientSession(connector=connector, auto_decompress=False) as session,
                    session.post(target.url, data=body.encode(), headers=headers, allow_redirects=False) as answer,
                ):
                    answer.close()
                    if not 200 <= answer.status < 300:
                        raise Undelivered(f"it answered {answer.status}")
        except TimeoutError:
            raise Undelivered(f"it did not answer within {self._seconds:g} seconds") from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise Undelivered(f"it cannot be reached ({type(error).__name__})") from None

    async def _addresses(self, url: str) -> list[Address]:
        """Return the addresses of the host of a URL, if something may be sent to all of them."""
        parts = urlsplit(url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        try:
            found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except (OSError, UnicodeError):
            raise Undelivered("its host is not known") from None
        addresses = [ip_address(str(place[0]).partition("%")[0]) for *_, place in found]
        is_private = [self._is_private(address) for address in addresses]
        if not addresses or any(allowed is None for allowed in is_private):
            raise Undelivered("its address is private, and not in a network that the settings allow")
        if parts.scheme != "https" and not all(is_private):
            raise Undelivered("it is to be reached by https")
        return addresses

    def _is_private(self, address: Address) -> bool | None:
        """Whether an address is in one of our networks; none if it is private and in none of them."""
        meant = _meant(address)
        if any(meant.version == network.version and meant in network for network in self._private):
            return True
        is_special = any(meant.version == network.version and meant in network for network in _SPECIAL)
        return False if meant.is_global and not meant.is_multicast and not is_special else None


def _meant(address: Address) -> Address:
    """Return the address that one of IPv6 stands for."""
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    if address in _6TO4 and address.sixtofour:
        return address.sixtofour
    return address.ipv4_mapped or address


def _pinned(addresses: Sequence[Address]) -> Any:
    """Return what tells aiohttp these addresses, whatever host it asks for."""
    from aiohttp.abc import AbstractResolver, ResolveResult

    class Pinned(AbstractResolver):
        async def resolve(self, host: str, port: int = 0, family: int = socket.AF_INET) -> list[ResolveResult]:
            return [
                ResolveResult(
                    hostname=host,
                    host=str(address),
                    port=port,
                    family=socket.AF_INET if address.version == 4 else socket.AF_INET6,
                    proto=0,
                    flags=socket.AI_NUMERICHOST,
                )
                for address in addresses
            ]

        async def close(self) -> None:
            """Do nothing: nothing is open."""

    return Pinned()
