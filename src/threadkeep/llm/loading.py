"""From a model's name to the model: `local`, `provider:model` for any provider of LangChain, or the name of one that an
installed package offers, such as the scripted `demo`.

Vendors' packages are imported when a model needs them, in a thread: importing takes seconds, loading weights longer.
With THREADKEEP_NO_REAL_MODELS=1, which tests set, a model whose requests would leave the machine is refused.
"""

import asyncio
import os
from collections.abc import Callable, Hashable, Mapping
from ipaddress import ip_address
from os.path import isfile, realpath
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

    The environment is the process's unless one is given; vendors' classes read keys and addresses from the process's.
    """
    provider, colon, model = name.partition(":")
    if name == "demo" or any(point.name == name for point in rings.offered(rings.MODELS)):
        return _from_ring(name, script, pace, limit)
    if provider == "local":
        return _local(model)
    if not colon or not provider or not model:
        raise UnknownModel(
            f"There is no model {name!r}: write demo, local or provider:model, such as openai:gpt-6.1-terra."
        )
    check_allowed(provider, os.environ if environment is None else environment)
    return _langchain(name)


def _from_ring(name: str, script: Any, pace: float | None, limit: float | None) -> Model:
    try:
        model: Model = rings.load(rings.MODELS, name, f"the model {name}")(script=script, pace=pace, limit=limit)
    except PackageMissing as error:
        raise UnknownModel(str(error)) from None
    return model


def identity_of(name: str) -> str:
    """Return the name under which a loaded model is kept: that of a local one is its file's real path."""
    provider, _, path = name.partition(":")
    return f"local:{realpath(path)}" if provider == "local" and path else name


def _local(path: str) -> Model:
    if path and not isfile(path):
        raise UnknownModel(f"{path} is no file.")  # reading a device or a pipe might never end
    try:
        from threadkeep.llm.local import LocalModel  # noqa: PLC0415 - an optional package
    except ImportError as error:
        raise UnknownModel(f"The local model needs a package ({error}): pip install 'threadkeep[local]'") from None
    return LocalModel.open(realpath(path) if path else None)


def _langchain(name: str) -> Model:
    try:
        from threadkeep.llm.langchain import LangChainModel  # noqa: PLC0415 - an optional package, slow to import
    except ImportError:
        raise UnknownModel(f"{name} needs a package: {pip_line(name.partition(':')[0])}") from None
    return LangChainModel.loaded(name)


def check_allowed(provider: str, environment: Mapping[str, str]) -> None:
    """Refuse a model beyond this machine where real models are forbidden."""
    if environment.get(NO_REAL_MODELS, "0") in ("", "0"):
        return
    known = provider_named(provider)
    urls = [environment[name] for name in known.base_urls if environment.get(name)] if known else []
    if not urls and provider == "ollama":
        return
    if not urls or not all(map(_is_loopback, urls)):
        raise ModelRefused(
            f"{NO_REAL_MODELS} is set: {provider} may not be called unless its base URL is on this machine."
        )


def _is_loopback(url: str) -> bool:
    host = urlsplit(url if "//" in url else f"//{url}").hostname or ""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
