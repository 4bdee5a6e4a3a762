"""Asking an issuer over HTTP: JSON of a bounded size, in a bounded time, from the address that the settings name and no
other. A redirect is not followed."""

import json
from base64 import b64encode
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any

from threadkeep.errors import PackageMissing

SECONDS = 5.0
MOST_BYTES = 512 * 1024


class Unfetched(Exception):
    """An issuer did not answer, or not with what was asked for."""


def needed(way: str) -> None:
    """Raise `PackageMissing` if what a way to sign in stands on is not installed."""
    if any(find_spec(package) is None for package in ("aiohttp", "cryptography")):
        raise PackageMissing(f"[identity] has {way}: pip install 'threadkeep[identity]'")


async def fetch_json(
    url: str, *, form: Mapping[str, str] | None = None, auth: tuple[str, str] | None = None
) -> dict[str, Any]:
    """Return the JSON object at an address, or what a form that is sent there is answered with."""
    import aiohttp  # optional; `needed` says so at the start

    basic = {"Authorization": f"Basic {b64encode(':'.join(auth).encode()).decode()}"} if auth else None
    try:
        timeout = aiohttp.ClientTimeout(total=SECONDS)
        async with (
            aiohttp.ClientSession(timeout=timeout, headers=basic) as session,
            session.request("GET" if form is None else "POST", url, data=form, allow_redirects=False) as answer,
        ):
            body = await answer.content.read(MOST_BYTES + 1)
            while len(body) <= MOST_BYTES and (more := await answer.content.read(MOST_BYTES)):
                body += more
    except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
        raise Unfetched(f"{url} cannot be reached: {type(error).__name__}") from None
    if answer.status != 200 or len(body) > MOST_BYTES:
        raise Unfetched(f"{url} answers {answer.status} with {len(body)} bytes")
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise Unfetched(f"{url} does not answer with a JSON object")
    return found


async def discover(issuer: str) -> dict[str, Any]:
    """Return what a provider of OpenID Connect says of itself."""
    found = await fetch_json(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
    if found.get("issuer") != issuer:
        raise Unfetched(f"{issuer} says that it is {found.get('issuer')}")
    return found
