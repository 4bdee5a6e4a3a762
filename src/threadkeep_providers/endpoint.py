"""HTTP to a provider, over aiohttp: kept connections, the proxies of the environment, time limits, no retries.

It is handed the whole address and all headers; what is sent and what comes back is up to the forms of providers.
"""

import asyncio
import json
import ssl
from base64 import b64encode
from collections.abc import AsyncGenerator, Mapping
from io import BytesIO
from typing import Any
from urllib.request import getproxies, proxy_bypass

import certifi
from aiohttp import ClientResponse, ClientSession, ClientTimeout, DummyCookieJar, TCPConnector
from yarl import URL

from threadkeep.errors import ModelRefused
from threadkeep.llm.base import trace_parent
from threadkeep.text.secrets import url_secrets, value_secrets
from threadkeep_providers.vendor_errors import ProviderError

CONNECTING = 5.0
"""Seconds in which a provider has to take a connection."""
SILENCE = 120.0
"""Seconds that a provider may send nothing."""
IDLE = 30.0
"""Seconds that a connection is kept open without a request."""
_MOST_OF_ERROR = 64 * 1024


class Endpoint:
    """The address of a provider, with the headers that it wants to see."""

    def __init__(self, url: str, headers: Mapping[str, str], silence: float = SILENCE) -> None:
        address = URL(url)
        if address.scheme not in ("http", "https") or not address.host:
            raise ModelRefused("The base URL of a provider begins with http:// or https://.")
        self.host = address.host
        self.secrets = [*url_secrets(url), *(secret for value in headers.values() for secret in value_secrets(value))]
        self._headers = {"Content-Type": "application/json", "User-Agent": "threadkeep", **headers}
        if address.user is not None:
            login = b64encode(f"{address.user}:{address.password or ''}".encode()).decode()
            self._headers["Authorization"] = f"Basic {login}"
        self._url = str(address.with_user(None)).rstrip("/")
        self._limits = ClientTimeout(total=None, sock_connect=CONNECTING, sock_read=silence)
        self._tls = _tls_context() if address.scheme == "https" else True
        self._connector: TCPConnector | None = None
        self._proxy: str | None = None
        self._loop: asyncio.AbstractEventLoop | None = None

    async def post(self, path: str, body: bytes) -> AsyncGenerator[bytes, None]:
        """Send a request and yield the answer as it comes; ProviderError if the provider refuses it. Closing the
        generator closes the connection. No redirect is followed: a key is for nobody but the provider."""
        parent = trace_parent.get()
        async with (
            ClientSession(connector=self._kept(), connector_owner=False, cookie_jar=DummyCookieJar()) as session,
            session.post(
                URL(self._url + path, encoded=True),
                data=BytesIO(body),
                headers=self._headers | ({"traceparent": parent} if parent else {}),
                timeout=self._limits,
                proxy=self._proxy,
                allow_redirects=False,
            ) as response,
        ):
            if response.status != 200:
                raise ProviderError(await _error_in(response), response.status, response.headers)
            while piece := await response.content.readany():
                yield piece

    async def close(self) -> None:
        """Close the connections; the next request opens another."""
        connector, self._connector = self._connector, None
        if connector is not None and self._loop is asyncio.get_running_loop():
            await connector.close()

    def _kept(self) -> TCPConnector:
        """Return the connections of this event loop: those of another one cannot be used."""
        loop = asyncio.get_running_loop()
        if self._connector is None or self._connector.closed or self._loop is not loop:
            self._connector = TCPConnector(limit=0, keepalive_timeout=IDLE, ssl=self._tls)
            self._proxy, self._loop = _proxy_for(self._url), loop
        return self._connector


def _tls_context() -> ssl.SSLContext:
    """Return what trusts the machine's certificates, and certifi's for machines that have none."""
    context = ssl.create_default_context()
    context.load_verify_locations(certifi.where())
    return context


def _proxy_for(url: str) -> str | None:
    """Return the proxy that the environment names for an address, unless NO_PROXY names the address."""
    address, proxies = URL(url), getproxies()
    proxy = proxies.get(address.scheme) or proxies.get("all")
    if not proxy or proxy_bypass(f"{address.host}:{address.port}"):
        return None
    proxy = proxy if "://" in proxy else f"http://{proxy}"
    if not proxy.startswith(("http://", "https://")):
        raise ModelRefused(f"The proxy for {address.host} is none of HTTP, and no other kind can be used.")
    return proxy


async def _error_in(response: ClientResponse) -> Any:
    """Return the error that a response tells, as JSON or as text, as far as it is not too long."""
    body = b""
    while len(body) < _MOST_OF_ERROR and (more := await response.content.read(_MOST_OF_ERROR - len(body))):
        body += more
    try:
        told = json.loads(body)
    except (ValueError, RecursionError):
        return body.decode(errors="replace")
    told = told[0] if isinstance(told, list) and told else told
    return told.get("error") or told if isinstance(told, dict) else told
