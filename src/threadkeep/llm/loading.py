"""From a model's name to the model, which is of what installed packages offer: the scripted `demo`, `local`, and
`provider:model` of a provider that we ask ourselves or of any that LangChain knows.

What a model needs is imported when it is loaded, in a thread: importing takes seconds, loading weights longer.
With THREADKEEP_NO_REAL_MODELS=1, which tests set, a model whose requests would leave the machine is refused.
"""

import asyncio
import os
from collections.abc import Callable, Hashable, Mapping
from ipaddress import ip_address
from os.path import realpath
from typing import Any
from urllib.parse import urlsplit

from threadkeep import rings
from threadkeep.background import in_thread
from threadkeep.errors import ModelRefused, ModelUnavailable, PackageMissing, UnknownModel
from threadkeep.llm.base import Model
from threadkeep.llm.providers import pip_line, provider_named

MOST_LOADING = 4
SECONDS = 60.0

NO_REAL_MODELS = "THREADKEEP_NO_REAL_MODELS"


class Loader:
    """Does each load once, in a thread, however many wait for it."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._loaded: set[Hashable] = set()
        self._loading: dict[Hashable, asyncio.Future[object]] = {}

    async def load(self, key: Hashable, work: Callable[[], object]) -> None:
        """Return when the work is done; ModelUnavailable if that takes too long. A load that failed is tried again."""
        if key in self._loaded:
            return
        loading = self._loading.get(key) or self._begin(key, work)
        try:
            async with asyncio.timeout(self._seconds):
                await asyncio.shield(loading)
        except TimeoutError:
            raise ModelUnavailable("The model is still being loaded; try again later.") from None

    def _begin(self, key: Hashable, work: Callable[[], object]) -> asyncio.Future[object]:
        if len(self._loading) >= MOST_LOADING:
            raise ModelUnavailable("Too many models are being loaded; try again in a moment.")
        loading = self._loading[key] = asyncio.ensure_future(in_thread(work))

        def note(ended: asyncio.Future[object]) -> None:
            del self._loading[key]
            if not ended.cancelled() and ended.exception() is None:
                self._loaded.add(key)

        loading.add_done_callback(note)
        return loading


def load_model(
    name: str,
    script: Any = None,
    pace: float | None = None,
    environment: Mapping[str, str] | None = None,
    limit: float | None = None,
) -> Model:
    """Return the model of that name. `script`, `pace` and `limit` are for scripted models; nothing is called yet.

    Keys and addresses are in the environment, which is the process's unless one is given.
    """
    environment = os.environ if environment is None else environment
    provider, colon, model = name.partition(":")
    if name == "demo" or any(point.name == name for point in rings.offered(rings.MODELS)):
        return _in_ring(rings.MODELS, name, name)(script=script, pace=pace, limit=limit)
    if provider == "local":
        return _in_ring(rings.MODEL_PROVIDERS, "local", name, "pip install 'threadkeep[local]'")(name)
    if not colon or not provider or not model:
        raise UnknownModel(
            f"There is no model {name!r}: write demo, local or provider:model, such as openai:gpt-6.1-terra."
        )
    check_allowed(provider, environment)
    known = provider_named(provider)
    if known is None or not known.form:
        return _in_ring(rings.MODEL_PROVIDERS, "langchain", name, pip_line(provider))(name)
    return _in_ring(rings.MODEL_PROVIDERS, "http", name, pip_line(provider))(name, environment)


def identity_of(name: str) -> str:
    """Return the name under which a loaded model is kept: that of a local one is its file's real path."""
    provider, _, path = name.partition(":")
    return f"local:{realpath(path)}" if provider == "local" and path else name


def _in_ring(group: str, ring: str, name: str, line: str = "") -> Callable[..., Model]:
    """Return what makes the model of a name; `line` installs what is missing."""
    try:
        make: Callable[..., Model] = rings.load(group, ring, f"the model {name}")
    except PackageMissing as error:
        raise UnknownModel(f"{name} needs a package: {line} ({error})" if line else str(error)) from None
    return make


def check_allowed(provider: str, environment: Mapping[str, str]) -> None:
    """Refuse a model beyond this machine where real models are forbidden."""
    if environment.get(NO_REAL_MODELS, "0") in ("", "0"):
        return
    known = provider_named(provider)
    urls = [environment[name] for name in known.base_urls if environment.get(name)] if known else []
    if not urls and provider == "ollama":
        return
    if not urls or not all(map(is_loopback, urls)):
        raise ModelRefused(
            f"{NO_REAL_MODELS} is set: {provider} may not be called unless its base URL is on this machine."
        )


def is_loopback(url: str) -> bool:
    """Return whether an address is on this machine."""
    host = urlsplit(url if "//" in url else f"//{url}").hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
