"""Strict validators of what model providers accept: OpenAI Chat Completions and Responses, Anthropic Messages, Google
Gemini, Mistral.

Each module turns a request into the provider's own shape, as LangChain's classes do, and checks that shape against a
list of rules. `check_body` can also be called with a body that came over the wire. They are stricter than the servers
where the servers differ among versions and resellers: a request that passes here passes there.
"""

from threadkeep.llm.base import Request
from threadkeep.testing.providers import anthropic, gemini, mistral, openai, openai_responses
from threadkeep.testing.providers.rules import ProviderRefusal

PROVIDERS = {
    "openai": openai,
    "openai_responses": openai_responses,
    "anthropic": anthropic,
    "gemini": gemini,
    "mistral": mistral,
}

__all__ = [
    "PROVIDERS",
    "ProviderRefusal",
    "anthropic",
    "check_everywhere",
    "gemini",
    "mistral",
    "openai",
    "openai_responses",
]


def check_everywhere(request: Request) -> None:
    """Raise ProviderRefusal if one of the providers would refuse the request."""
    for provider in PROVIDERS.values():
        provider.check(request)
