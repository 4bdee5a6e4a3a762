"""The cookie that a browser keeps its login in: for this host alone, out of the reach of scripts and other sites.

Browsers send cookies to every port of a host, so the name tells the port: two servers of one host do not take each
other's. Where the page came over TLS its prefix keeps everybody else from setting it.
"""

from starlette.requests import HTTPConnection
from starlette.responses import Response

NAME = "threadkeep"
ENCRYPTED = "__Host-"


def set_login_cookie(connection: HTTPConnection, response: Response, secret: str, seconds: float) -> None:
    """Have the browser keep its login; no seconds at all take it away."""
    is_encrypted = _is_encrypted(connection)
    name = f"{ENCRYPTED if is_encrypted else ''}{_name(connection)}"
    response.set_cookie(
        name, secret, max_age=int(seconds), httponly=True, samesite="strict", secure=is_encrypted, path="/"
    )


def login_cookie(connection: HTTPConnection) -> str | None:
    """Return what a browser has kept."""
    name = _name(connection)
    if (found := connection.cookies.get(f"{ENCRYPTED}{name}")) is not None or _is_encrypted(connection):
        return found
    return connection.cookies.get(name)


def _name(connection: HTTPConnection) -> str:
    host, colon, port = connection.headers.get("host", "").rpartition(":")
    return f"{NAME}-{port}" if colon and port.isdecimal() and port.isascii() and not host.endswith(":") else NAME


def _is_encrypted(connection: HTTPConnection) -> bool:
    """Whether the page came over TLS; behind a proxy that ends it and does not tell, only the page's origin does."""
    return connection.scope["scheme"] == "https" or connection.headers.get("origin", "").startswith("https://")
