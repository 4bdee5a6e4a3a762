"""The providers that Threadkeep knows by name. Any other provider of LangChain works when it is named."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Provider:
    """A provider: a default model, and the variables of its key and address.

    `form` is how it is asked by us, and the name of the extra that brings what that needs; without one, LangChain asks
    it. `api` is its address unless another is set. `header_variables` are headers whose values may be set.
    """

    name: str
    model: str
    keys: tuple[str, ...]
    base_urls: tuple[str, ...] = ()
    form: str = ""
    api: str = ""
    list_path: str = "/models"
    key_header: str = "Authorization"
    more_headers: Mapping[str, str] = field(default_factory=dict)
    header_variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def module(self) -> str:
        """The module without which it cannot be asked."""
        return "aiohttp" if self.form else f"langchain_{self.name}"

    def url(self, environment: Mapping[str, str]) -> str:
        """Return the address that is set, or its own."""
        url = next((environment[name] for name in self.base_urls if environment.get(name)), self.api)
        return (url if "//" in url else f"http://{url}").rstrip("/")

    def key(self, environment: Mapping[str, str]) -> str:
        """Return the key that is set, or nothing."""
        return next((environment[name].strip() for name in self.keys if environment.get(name, "").strip()), "")

    def headers(self, key: str, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the headers of every request."""
        set_ones = {name: environment.get(variable, "") for name, variable in self.header_variables.items()}
        keyed = {self.key_header: f"Bearer {key}" if self.key_header == "Authorization" else key} if key else {}
        return {**self.more_headers, **{name: value for name, value in set_ones.items() if value}, **keyed}


PROVIDERS = (
    Provider(
        "openai",
        "gpt-6.1-terra",
        ("OPENAI_API_KEY",),
        ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        form="openai",
        api="https://api.openai.com/v1",
        header_variables={"OpenAI-Organization": "OPENAI_ORG_ID", "OpenAI-Project": "OPENAI_PROJECT_ID"},
    ),
    Provider(
        "anthropic",
        "claude-sonnet-5-5",
        ("ANTHROPIC_API_KEY",),
        ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL"),
        form="anthropic",
        api="https://api.anthropic.com",
        list_path="/v1/models?limit=1000",
        more_headers={"anthropic-version": "2026-10-21"},
    ),
    Provider(
        "google_genai",
        "gemini-flash-latest",
        ("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        ("GOOGLE_GEMINI_BASE_URL",),
        form="gemini",
        api="https://generativelanguage.googleapis.com",
        list_path="/v1beta/models?pageSize=1000",
        key_header="x-goog-api-key",
    ),
    Provider("mistralai", "mistral-medium-latest", ("MISTRAL_API_KEY",), api="https://api.mistral.ai/v1"),
    Provider(
        "deepseek",
        "deepseek-v4-flash",
        ("DEEPSEEK_API_KEY",),
        ("DEEPSEEK_API_BASE",),
        form="openai",
        api="https://api.deepseek.com",
    ),
    Provider("xai", "grok-4.5", ("XAI_API_KEY",), form="openai", api="https://api.x.ai/v1"),
    Provider("groq", "openai/gpt-oss-120b", ("GROQ_API_KEY",), form="openai", api="https://api.groq.com/openai/v1"),
    Provider("ollama", "", (), ("OLLAMA_HOST",), api="http://127.0.0.1:11434", list_path="/api/tags"),
)
"""What is found without being named; any other provider of LangChain works when it is named. The models are those that
their providers recommended for everyday work in November 2026."""


def provider_named(name: str) -> Provider | None:
    return next((provider for provider in PROVIDERS if provider.name == name), None)


def pip_line(name: str) -> str:
    """Return the line that installs what models of a provider need."""
    provider = provider_named(name)
    return f"pip install 'threadkeep[{provider.form}]'" if provider and provider.form else langchain_line(name)


def langchain_line(name: str) -> str:
    """Return the line that installs LangChain's package for a provider."""
    if name == "ollama":
        return "pip install 'threadkeep[ollama]'"
    return f"pip install 'threadkeep[langchain]' langchain-{name.replace('_', '-')}"


def providers_with_keys(environment: Mapping[str, str]) -> Iterator[tuple[Provider, str]]:
    """Yield the providers whose key is set, with the name of the variable."""
    for provider in PROVIDERS:
        for name in provider.keys:
            if environment.get(name, "").strip():
                yield provider, name
                break


def all_with_keys(environment: Mapping[str, str]) -> tuple[str, ...]:
    """Return `provider:*` for each provider whose key is set, for the owner of the keys to choose from."""
    return tuple(f"{provider.name}:*" for provider, _ in providers_with_keys(environment))
