"""Which model answers when a server starts.

It is the model that is set, else one whose provider's key is found, else Ollama's first, else `demo`. `loading` builds
the chosen model.
"""

import asyncio
import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec

from threadkeep.llm.offered import OfferedModels
from threadkeep.llm.providers import pip_line, providers_with_keys

OLLAMA = ("127.0.0.1", 11434)
OLLAMA_PATIENCE = 0.3
"""Seconds that a local Ollama has to answer; if it runs, it takes a few milliseconds."""

_MAX_LIST = 1_000_000


@dataclass(frozen=True, slots=True)
class Choice:
    """A model's name and why it was chosen: one sentence for the log and the page. `offered` are all names that a
    conversation may choose, this one included; `missing` is what to install for another one to answer."""

    name: str
    reason: str
    offered: OfferedModels = field(default_factory=OfferedModels, compare=False)
    missing: str | None = None


def _is_installed(module: str) -> bool:
    return find_spec(module) is not None


async def choose_model(
    setting: str | None,
    environment: Mapping[str, str],
    *,
    is_installed: Callable[[str], bool] = _is_installed,
    ollama: tuple[str, int] = OLLAMA,
) -> Choice:
    """Choose a model by the names of variables that are set: no key is used, and no provider is called."""
    if setting:
        return Choice(setting, f"{setting} is set.")
    missed: list[str] = []
    for provider, key in providers_with_keys(environment):
        if is_installed(provider.module):
            name = f"{provider.name}:{provider.model}"
            return Choice(name, f"{key} is set, which selects {name}; --model chooses another.")
        missed.append(f"{key} is set, but its package is missing ({pip_line(provider.name)})")
    if model := await first_ollama_model(*ollama):
        if is_installed("langchain_ollama"):
            return Choice(
                f"ollama:{model}", f"Ollama answers on {_host_and_port(ollama)}, and {model} is its first model."
            )
        missed.append(f"Ollama answers on {_host_and_port(ollama)}, but its package is missing ({pip_line('ollama')})")
    missing = "; ".join(missed)
    why = missing or f"no model is set, no provider's key is found and no Ollama answers on {_host_and_port(ollama)}"
    return Choice("demo", f"{why[:1].upper()}{why[1:]}, so the scripted demo answers.", missing=missing or None)


async def first_ollama_model(host: str, port: int) -> str | None:
    """Return the first model of the Ollama at this address, None if there is none or it is too slow."""
    try:
        async with asyncio.timeout(OLLAMA_PATIENCE):
            body = await _http_get(host, port, "/api/tags")
        models = json.loads(body)["models"]
        return str(models[0]["name"]) if models else None
    except (OSError, TimeoutError, ValueError, LookupError, TypeError, RecursionError):
        return None


async def _http_get(host: str, port: int, path: str) -> bytes:
    """Return the body of an answer. HTTP/1.0 avoids chunked bodies, and a bare socket avoids proxies."""
    reader, writer = await asyncio.open_connection(host, port)
    try:
        writer.write(f"GET {path} HTTP/1.0\r\nHost: {host}:{port}\r\n\r\n".encode())
        answer = await reader.read(_MAX_LIST)
        while more := await reader.read(_MAX_LIST - len(answer)):
            answer += more
        head, _, body = answer.partition(b"\r\n\r\n")
        return body if b" 200 " in head.partition(b"\r\n")[0] else b""
    finally:
        writer.close()
        with suppress(OSError):
            await writer.wait_closed()


def _host_and_port(address: tuple[str, int]) -> str:
    return f"{address[0]}:{address[1]}"
