"""Refuses requests of pages of other sites, and requests for host names that are not ours.

A browser sends requests for any page that embeds an address (`<img>`, a form, `fetch`), with the visitor's cookies and
from inside the visitor's network. One rule for every method: a request with another origin is refused, except for a
link to our page or to a shared conversation. A program sends none of these headers and passes; a guard decides whether
it may come in.

A site can also let its own name point here (DNS rebinding), so that browsers take this server for that site: without
authentication, Host must therefore name the loopback.
"""

import re
from collections.abc import Awaitable
from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import HTTPConnection
from starlette.types import ASGIApp, Receive, Scope, Send

from threadkeep.server.middleware.headers import HttpMiddleware
from threadkeep.server.problems import problem

_OURS = ("same-origin", "none")
"""The values of `Sec-Fetch-Site` for requests of our own page, and for an address that a person has typed."""
_HOST = re.compile(r"(?:\[(?P<six>[0-9a-f:.]+)\]|(?P<name>[a-z0-9.-]+))(?::[0-9]{1,5})?", re.IGNORECASE | re.ASCII)


class OriginGuard(HttpMiddleware):
    """Refuses what another site's page asks for, unless the site is one of `origins`; with `loopback`, also requests
    made for another host."""

    def __init__(self, app: ASGIApp, origins: tuple[str, ...], *, loopback: bool) -> None:
        super().__init__(app)
        self.origins = origins
        self.loopback = loopback

    def handle(self, scope: Scope, receive: Receive, send: Send) -> Awaitable[None]:
        headers, app = Headers(scope=scope), self.app
        if self.loopback and not _is_for_loopback(headers):
            app = problem(400, "foreign_host", "This server answers only to 127.0.0.1, localhost and [::1].")
        elif _is_foreign(headers, self.origins) and not _opens_page(scope):
            app = problem(403, "foreign_origin", "This server answers only to its own page.")
        return app(scope, receive, send)


def is_our_page(connection: HTTPConnection) -> bool:
    """Whether the browser says that our own page sent this, which a request with a cookie must prove."""
    headers = connection.headers
    if headers.getlist("sec-fetch-site") == ["same-origin"]:
        return True
    origins = headers.getlist("origin")
    return len(origins) == 1 and origins[0] in _own(headers)


def is_loopback(name: str) -> bool:
    """Whether a host name or bare address can only mean this machine."""
    if name.lower() == "localhost":
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False


def _is_foreign(headers: Headers, named: tuple[str, ...]) -> bool:
    trusted, origins = (*_own(headers), *named), headers.getlist("origin")
    if any(origin not in trusted for origin in origins):
        return True
    if origins:
        return False  # browsers never send a wrong origin
    sites, referers = headers.getlist("sec-fetch-site"), headers.getlist("referer")
    return any(site not in _OURS for site in sites) or any(_origin(referer) not in trusted for referer in referers)


def _opens_page(scope: Scope) -> bool:
    """Whether it is a link to our page or to a shared conversation, which any site may have: opening has no effects. Or
    the way back from a provider where somebody signed in, or a signed address of a file: they bring their own proof."""
    opened = ("/c/", "/s/", "/sign-in/", "/v1/files/signed/")
    return scope["method"] in ("GET", "HEAD") and (scope["path"] == "/" or scope["path"].startswith(opened))


def _own(headers: Headers) -> tuple[str, ...]:
    hosts = headers.getlist("host")
    return (f"http://{hosts[0]}", f"https://{hosts[0]}") if len(hosts) == 1 and hosts[0] else ()


def _origin(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:
        return ""
    return f"{parts.scheme}://{parts.netloc}"


def _is_for_loopback(headers: Headers) -> bool:
    hosts = headers.getlist("host")
    match = _HOST.fullmatch(hosts[0]) if len(hosts) == 1 else None
    return match is not None and is_loopback(match["six"] or match["name"])
