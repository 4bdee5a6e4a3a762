"""The providers that Threadkeep knows by name: their keys, packages, base-URL variables and a model to begin with.

Any other provider of LangChain works too when it is named; this table is for what is found without being named. The
models are those that their providers recommended for everyday work in November 2026.
"""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """A provider of models. `install` is what pip needs for it."""

    name: str
    package: str
    install: str
    keys: tuple[str, ...]
    model: str
    base_urls: tuple[str, ...] = ()

    @property
    def module(self) -> str:
        """The module that its package brings."""
        return self.package.replace("-", "_")


PROVIDERS = (
    Provider(
        name="openai",
        package="langchain-openai",
        install="threadkeep[openai]",
        keys=("OPENAI_API_KEY",),
        model="gpt-6.1-terra",
        base_urls=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    ),
    Provider(
        name="anthropic",
        package="langchain-anthropic",
        install="threadkeep[anthropic]",
        keys=("ANTHROPIC_API_KEY",),
        model="claude-sonnet-5-5",
        base_urls=("ANTHROPIC_BASE_URL", "ANTHROPIC_API_URL"),
    ),
    Provider(
        name="google_genai",
        package="langchain-google-genai",
        install="threadkeep[langchain] langchain-google-genai",
        keys=("GOOGLE_API_KEY", "GEMINI_API_KEY"),
        model="gemini-flash-latest",
    ),
    Provider(
        name="mistralai",
        package="langchain-mistralai",
        install="threadkeep[langchain] langchain-mistralai",
        keys=("MISTRAL_API_KEY",),
        model="mistral-medium-latest",
    ),
    Provider(
        name="deepseek",
        package="langchain-deepseek",
        install="threadkeep[langchain] langchain-deepseek",
        keys=("DEEPSEEK_API_KEY",),
        model="deepseek-v4-flash",
    ),
    Provider(
        name="xai",
        package="langchain-xai",
        install="threadkeep[langchain] langchain-xai",
        keys=("XAI_API_KEY",),
        model="grok-4.5",
    ),
    Provider(
        name="groq",
        package="langchain-groq",
        install="threadkeep[langchain] langchain-groq",
        keys=("GROQ_API_KEY",),
        model="openai/gpt-oss-120b",
    ),
    Provider(
        name="ollama",
        package="langchain-ollama",
        install="threadkeep[ollama]",
        keys=(),
        model="",
        base_urls=("OLLAMA_HOST",),
    ),
)


def provider_named(name: str) -> Provider | None:
    """Return the provider of that name, None if it is not in the table."""
    return next((provider for provider in PROVIDERS if provider.name == name), None)


def pip_line(name: str) -> str:
    """Return the line that installs what a provider needs."""
    provider = provider_named(name)
    install = provider.install if provider else f"threadkeep[langchain] langchain-{name.replace('_', '-')}"
    return f"pip install {' '.join(repr(part) if '[' in part else part for part in install.split())}"
