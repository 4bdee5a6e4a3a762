"""Who may talk to a server that asks nobody for a password: this machine, and pages that this server sent.

A page of another site can make a browser send requests here (DNS rebinding, forged forms), so Host must name the
loopback and Origin, when there is one, must be this server. Authentication is not done here.
"""

import re
from ipaddress import ip_address

from starlette.datastructures import Headers
from starlette.responses import Response
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
    """Middleware that refuses requests made for another host or by another site's page, unless it is one of these."""

    def __init__(self, app: ASGIApp, origins: tuple[str, ...] = ()) -> None:
        self.app = app
        self.origins = origins

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on or refuse it; anything that is no request passes."""
        refusal = _refusal(Headers(scope=scope), self.origins) if scope["type"] == "http" else None
        await (refusal or self.app)(scope, receive, send)


def _refusal(headers: Headers, origins: tuple[str, ...]) -> Response | None:
    hosts = headers.getlist("host")
    if len(hosts) != 1 or not _names_loopback(hosts[0]):
        return problem(400, "foreign_host", "This server answers only to 127.0.0.1, localhost and [::1].")
    if any(origin not in (f"http://{hosts[0]}", *origins) for origin in headers.getlist("origin")):
        return problem(403, "foreign_origin", "This server answers only to its own page.")
    return None


def _names_loopback(host: str) -> bool:
    match = _HOST.fullmatch(host)
    return match is not None and is_loopback(match["six"] or match["name"])
