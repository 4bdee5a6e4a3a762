"""The providers that Threadkeep knows by name. Any other provider of LangChain works when it is named."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider: a default model, the variables of its key and address, and whether Threadkeep has an `extra` for it.

    `api` and `list_path` are where it lists its models, unless its address is set; `key_header` carries the key.
    """

    name: str
    model: str
    keys: tuple[str, ...]
    base_urls: tuple[str, ...] = ()
    extra: bool = False
    api: str = ""
    list_path: str = "/models"
    key_header: str = "Authorization"

    @property
    def module(self) -> str:
        """The module of LangChain's package for it."""
        return f"langchain_{self.name}"


PROVIDERS = (
    Provider(
        "openai",
        "gpt-6.1-terra",
        ("OPENAI_API_KEY",),
        ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        extra=True,
        api="https://api.openai.com/v1",
    ),
    Provider(
        "anthropic",
        "claude-sonnet-5-5",
        ("ANTHROPIC_API_KEY",),
        ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL"),
        extra=True,
        api="https://api.anthropic.com",
        list_path="/v1/models?limit=1000",
        key_header="x-api-key",
    ),
    Provider(
        "google_genai",
        "gemini-flash-latest",
        ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        api="https://generativelanguage.googleapis.com/v1beta",
        list_path="/models?pageSize=1000",
        key_header="x-goog-api-key",
    ),
    Provider("mistralai", "mistral-medium-latest", ("MISTRAL_API_KEY",), api="https://api.mistral.ai/v1"),
    Provider("deepseek", "deepseek-v4-flash", ("DEEPSEEK_API_KEY",), api="https://api.deepseek.com"),
    Provider("xai", "grok-4.5", ("XAI_API_KEY",), api="https://api.x.ai/v1"),
    Provider("groq", "openai/gpt-oss-120b", ("GROQ_API_KEY",), api="https://api.groq.com/openai/v1"),
    Provider("ollama", "", (), ("OLLAMA_HOST",), extra=True, api="http://127.0.0.1:11434", list_path="/api/tags"),
)
"""What is found without being named; any other provider of LangChain works when it is named. The models are those that
their providers recommended for everyday work in November 2026."""


def provider_named(name: str) -> Provider | None:
    return next((provider for provider in PROVIDERS if provider.name == name), None)


def pip_line(name: str) -> str:
    provider = provider_named(name)
    if provider and provider.extra:
        return f"pip install 'threadkeep[{name}]'"
    return f"pip install 'threadkeep[langchain]' langchain-{name.replace('_', '-')}"


def providers_with_keys(environment: Mapping[str, str]) -> Iterator[tuple[Provider, str]]:
    """Yield the providers whose key is set, with the name of the variable."""
    for provider in PROVIDERS:
        for key in provider.keys:
            if environment.get(key, "").strip():
                yield provider, key
                break


def all_with_keys(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return `provider:*` for each provider whose key is set, for the owner of the keys to choose from."""
    return tuple(f"{provider.name}:*" for provider, _ in providers_with_keys(environment))
