"""The names of models that conversations may choose. `provider:*` stands for all that the provider says it has.

A provider is asked in the background, with its key, and its answer is kept for an hour: nobody waits for it.
"""

import asyncio
import json
import logging
import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.request import HTTPRedirectHandler, ProxyHandler, Request, build_opener

from threadkeep.background import in_thread
from threadkeep.errors import ModelError
from threadkeep.llm.loading import check_allowed, is_loopback
from threadkeep.llm.providers import Provider, provider_named

logger = logging.getLogger(__name__)

KEPT_SECONDS = 3600.0
RETRY_SECONDS = 60.0
PATIENCE = 10.0
MOST_BYTES = 4_000_000
MOST_NAMES = 1000
NO_CHAT = re.compile(
    r"embed|whisper|tts|speech|dall-e|image|imagen|veo|sora|moderation|realtime|audio|transcri|rerank|ocr|"
    r"babbage|davinci|guard|aqa",
    re.IGNORECASE,
)
"""What the names of models contain that do not chat."""


class OfferedModels(Collection[str]):
    """The offered names, in order: those that were given, with `provider:*` replaced by what the provider listed."""

    def __init__(self, given: Iterable[str] = (), environment: Mapping[str, str] | None = None) -> None:
        self._given = tuple(dict.fromkeys(given))
        self._environment = environment if environment is not None else os.environ
        self._known: dict[str, tuple[str, ...]] = {}
        self._due: dict[str, float] = {}
        self._asking: dict[str, asyncio.Task[None]] = {}

    def __contains__(self, name: object) -> bool:
        if not isinstance(name, str):
            return False
        provider, colon, _ = name.partition(":")
        return name in self._given or (bool(colon) and f"{provider}:*" in self._given)

    def __iter__(self) -> Iterator[str]:
        names = (self._known.get(name, ()) if name.endswith(":*") else (name,) for name in self._given)
        yield from dict.fromkeys(name for some in names for name in some)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    @property
    def is_asking(self) -> bool:
        """Whether a provider is being asked now."""
        return bool(self._asking)

    def ask(self) -> None:
        """Ask every provider whose list is missing or old, without waiting."""
        for pattern in self._given:
            provider = provider_named(pattern.removesuffix(":*")) if pattern.endswith(":*") else None
            if provider and pattern not in self._asking and time.monotonic() >= self._due.get(pattern, 0):
                self._asking[pattern] = asyncio.create_task(self._ask(pattern, provider))

    async def _ask(self, pattern: str, provider: Provider) -> None:
        wait = RETRY_SECONDS
        try:
            found = await in_thread(lambda: listed(provider, self._environment))
            self._known[pattern] = tuple(f"{provider.name}:{name}" for name in sorted(found))
            wait = KEPT_SECONDS
        except (OSError, ValueError, HTTPException, ModelError) as error:
            logger.info("%s did not list its models: %s", provider.name, type(error).__name__)
        finally:
            self._due[pattern] = time.monotonic() + wait
            del self._asking[pattern]


class _NoRedirect(HTTPRedirectHandler):
    """Follows no redirect, so that a key is sent to nobody but the provider."""

    def redirect_request(self, *_: Any) -> None:
        return None


def listed(provider: Provider, environment: Mapping[str, str], patience: float = PATIENCE) -> list[str]:
    """Ask a provider for its models and return the names of those that chat. Blocks."""
    check_allowed(provider.name, environment)
    url = provider.url(environment) + provider.list_path
    if not url.startswith(("http://", "https://")):
        raise ValueError("a provider is asked over HTTP")
    request = Request(url, headers={"Accept": "application/json"})  # noqa: S310
    for name, value in provider.headers(provider.key(environment), environment).items():
        request.add_unredirected_header(name, value)
    proxies = [ProxyHandler({})] if is_loopback(url) else []
    try:
        with build_opener(_NoRedirect, *proxies).open(request, timeout=patience) as answer:
            body = json.loads(answer.read(MOST_BYTES))
    except HTTPError as error:
        error.close()  # it holds the connection
        raise
    if not isinstance(body, dict):
        raise ValueError("a list of models is an object")
    models = body.get("data") or body.get("models") or []
    if not isinstance(models, list):
        raise ValueError("models come in a list")
    return list(dict.fromkeys(name for each in models if isinstance(each, dict) and (name := _name_of(each))))[
        :MOST_NAMES
    ]


def _name_of(model: Mapping[str, Any]) -> str:
    """Return the name of a model that chats, nothing for others."""
    name = str(model.get("id") or model.get("name") or "").removeprefix("models/")
    does = model.get("supportedGenerationMethods")
    is_other = isinstance(does, list) and "generateContent" not in does
    return "" if is_other or len(name) > 200 or not name.isprintable() or NO_CHAT.search(name) else name
