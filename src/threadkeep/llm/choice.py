"""Which model answers when a server starts.

It is the model that is set, else one whose provider's key is found, else Ollama's first, else `demo`. `loading` builds
the chosen model.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http.client import HTTPException
from importlib.util import find_spec

from threadkeep.background import in_thread
from threadkeep.llm.offered import OfferedModels, listed
from threadkeep.llm.providers import pip_line, provider_named, providers_with_keys

OLLAMA = "127.0.0.1:11434"
OLLAMA_PATIENCE = 0.3
"""Seconds that a local Ollama may say nothing; if it runs, it answers within a few milliseconds."""


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
    ollama: str = OLLAMA,
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
    if model := await first_ollama_model(ollama):
        if is_installed("langchain_ollama"):
            return Choice(f"ollama:{model}", f"Ollama answers on {ollama}, and {model} is its first model.")
        missed.append(f"Ollama answers on {ollama}, but its package is missing ({pip_line('ollama')})")
    missing = "; ".join(missed)
    why = missing or f"no model is set, no provider's key is found and no Ollama answers on {ollama}"
    return Choice("demo", f"{why[:1].upper()}{why[1:]}, so the scripted demo answers.", missing=missing or None)


async def first_ollama_model(address: str) -> str | None:
    """Return the first model of the Ollama at this address, None if there is none or it is too slow."""
    provider = provider_named("ollama")
    assert provider is not None  # noqa: S101 - it is in the table
    try:
        names = await in_thread(lambda: listed(provider, {"OLLAMA_HOST": address}, OLLAMA_PATIENCE))
        return next(iter(names), None)
    except (OSError, ValueError, HTTPException):
        return None
