"""The public keys of an issuer, as it publishes them (JWKS): fetched when they are needed, and kept.

A key that is not known may be a new one, so the set is fetched again, but not more often than every ten seconds:
anybody can name a key. An issuer that is away locks nobody out whose key is known, for a day.
"""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, NamedTuple

from jwt import PyJWK
from jwt.exceptions import PyJWTError

from threadkeep_identity.fetching import Unfetched

logger = logging.getLogger("threadkeep.identity")

FRESH_SECONDS = 300.0
AGAIN_SECONDS = 10.0
MOST_SECONDS = 86_400.0
MOST_KEYS = 100


class PublishedKey(NamedTuple):
    """A key, and the one algorithm that it is for, if it says so."""

    key: Any
    algorithm: str | None


class KeySet:
    """The keys that `fetch` finds, by their ids."""

    def __init__(
        self, fetch: Callable[[], Awaitable[Mapping[str, Any]]], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._fetch = fetch
        self._clock = clock
        self._keys: dict[str | None, PublishedKey] = {}
        self._fetched_at = self._tried_at = float("-inf")
        self._fetching: asyncio.Task[None] | None = None

    async def find(self, id: str | None) -> PublishedKey | None:
        """Return a key; of a set of one, a token need not say which."""
        if (found := self.known(id)) is not None:
            return found
        if (fetching := self._begin(AGAIN_SECONDS)) is not None:
            await asyncio.shield(fetching)
        return self.known(id)

    def known(self, id: str | None) -> PublishedKey | None:
        """Return a key if it is known now; the set is looked at again in the background once it is no longer fresh."""
        if self._clock() - self._fetched_at > FRESH_SECONDS:
            self._begin(AGAIN_SECONDS)
        if self._clock() - self._fetched_at > MOST_SECONDS:
            return None
        if id is None and len(self._keys) == 1:
            return next(iter(self._keys.values()))
        return self._keys.get(id)

    def _begin(self, again: float) -> asyncio.Task[None] | None:
        """Return the fetch that is under way or, if the last one is long enough ago, a new one."""
        if self._fetching is not None and not self._fetching.done():
            return self._fetching
        if self._clock() - self._tried_at < again:
            return None
        self._tried_at = self._clock()
        self._fetching = asyncio.create_task(self._fetch_all())
        return self._fetching

    async def _fetch_all(self) -> None:
        try:
            listed = (await self._fetch()).get("keys")
        except Unfetched as error:
            logger.warning("the keys of an issuer stay as they are: %s", error)
            return
        described = [each for each in listed[:MOST_KEYS] if isinstance(each, dict)] if isinstance(listed, list) else []
        if keys := {each.get("kid"): key for each in described if (key := _read(each))}:
            self._keys = keys
            self._fetched_at = self._clock()
        else:
            logger.warning("the keys of an issuer stay as they are: there is none among those that it publishes")


def _read(described: dict[str, Any]) -> PublishedKey | None:
    """Return a key for signatures; None for any other, for a secret, and for one that cannot be read."""
    if described.get("kty") == "oct" or described.get("use", "sig") != "sig" or "d" in described:
        return None
    try:
        return PublishedKey(PyJWK.from_dict(described).key, described.get("alg"))
    except (PyJWTError, ValueError, TypeError, KeyError):
        return None
