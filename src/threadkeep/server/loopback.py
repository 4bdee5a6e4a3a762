"""Whom a server answers that asks nobody for a password: who calls it by a name of this machine.

A site can let its own name point here (DNS rebinding), so that browsers take this server for that site; therefore Host
must name the loopback. What pages of other sites may do is decided in `cross_site`.
"""

import re
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from threadkeep.server.problems import problem

_HOST = re.compile(r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9.-]+))(?::[0-9]{1,5})?", re.IGNORECASE | re.ASCII)


def is_loopback(name: str) -> bool:
    """Whether a host name or bare address can only mean this machine."""
    if name.lower() == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


class LoopbackGuard:
    """Middleware that refuses requests made for another host."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on or refuse it; anything that is no request passes."""
        if scope["type"] == "http" and not _is_for_us(Headers(scope=scope)):
            answer = problem(400, "foreign_host", "This server answers only to 127.0.0.1, localhost and [::1].")
            await answer(scope, receive, send)
        else:
            await self.app(scope, receive, send)


def _is_for_us(headers: Headers) -> bool:
    hosts = headers.getlist("host")
    return len(hosts) == 1 and _names_loopback(hosts[0])


def _names_loopback(host: str) -> bool:
    match = _HOST.fullmatch(host)
    return match is not None and is_loopback(match["six"] or match["name"])
