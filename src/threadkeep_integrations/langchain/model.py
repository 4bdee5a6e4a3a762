"""Any LangChain chat model as a model of ours, by instance or by name. Imported only when such a model is used.

By name it is set up as we need it: no retries, usage while streaming, a window that is known.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from typing import Any, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.runnables import Runnable
from pydantic import SecretStr

from threadkeep.errors import ContextTooLong, ModelRefused, UnknownModel
from threadkeep.llm.base import Delta, Model, ModelOptions, Request, ToolSpec, loaded_files
from threadkeep.llm.providers import PROVIDERS, langchain_line
from threadkeep.text.secrets import url_secrets, value_secrets
from threadkeep_integrations.langchain.messages import ChunkReader, to_langchain
from threadkeep_integrations.langchain.vendor_errors import as_model_error
from threadkeep_providers.think_tags import ThinkTags
from threadkeep_providers.vendor_errors import without_secrets

ASKING = 2.0
"""How many seconds Ollama may take to describe a model."""
OLLAMA_WINDOW = 8_192
"""Ollama silently drops the beginning of a request beyond its window, so we set the window."""

_FIELDS = {
    "max_tokens": ("max_tokens", "max_output_tokens", "num_predict"),
    "seed": ("seed", "random_seed"),
    "reasoning_effort": ("reasoning_effort", "reasoning"),
}
"""LangChain's names for our options, where they differ."""
_HOSTED = frozenset(("langchain_anthropic", "langchain_google_genai", "langchain_google_vertexai"))
"""Packages whose models send reasoning as such, and never as text between tags."""
_GIVES_REASON = frozenset(f"langchain_{provider.name}" for provider in PROVIDERS)
"""Packages whose classes always give a reason for the end; with others, an orderly end needs none."""


def chat_model_named(name: str, **options: Any) -> BaseChatModel:
    """Return the chat model of a name such as `openai:gpt-6.1-terra`. Addresses and keys are the vendor's variables."""
    first = _init_chat_model(name, **options)
    wanted = {key: value for key, value in _wanted_fields(first).items() if key in type(first).model_fields}
    return _init_chat_model(name, **(wanted | options))


def window_of(chat: BaseChatModel) -> int | None:
    """Return how many tokens a request may have, if the class knows it."""
    if isinstance(size := getattr(chat, "num_ctx", None), int):
        return size
    size = (chat.profile or {}).get("max_input_tokens")
    return size if isinstance(size, int) else None


_ACCEPTED = {
    "image": "image_inputs",
    "audio": "audio_inputs",
    "pdf": "pdf_inputs",
    "tool image": "image_tool_message",
    "tool pdf": "pdf_tool_message",
}


def accepted_by(chat: BaseChatModel) -> frozenset[str]:
    """Return what a model takes besides text, as far as its class knows."""
    profile: Any = chat.profile or {}
    accepted = frozenset(kind for kind, name in _ACCEPTED.items() if profile.get(name))
    # LangChain has no form for recordings in OpenAI's Responses, and leaves them out.
    return accepted - {"audio"} if getattr(chat, "use_responses_api", None) else accepted


def _profile_at_ollama(name: str) -> dict[str, Any]:
    """Return what Ollama says a model takes, in the form of a profile: LangChain has none for its models."""
    provider, _, model = name.partition(":")
    if provider != "ollama":
        return {}
    try:
        from ollama import Client

        capabilities = Client(timeout=ASKING).show(model).capabilities or []
    except Exception:
        return {}  # the error is raised when the model is asked
    return {"profile": {"image_inputs": "vision" in capabilities}}


def _init_chat_model(name: str, **options: Any) -> BaseChatModel:
    try:
        # Not every user of this folder has the whole of LangChain: a graph needs its messages only.
        from langchain.chat_models import init_chat_model

        chat: BaseChatModel = init_chat_model(name, **options)
    except ImportError:
        raise UnknownModel(f"{name} needs a package: {langchain_line(name.partition(':')[0])}") from None
    except Exception as error:
        if "model provider" in str(error):
            raise UnknownModel(f"LangChain knows no provider of the name {name.partition(':')[0]!r}.") from None
        raise ModelRefused(f"{name} cannot be set up: {without_secrets(str(error))}") from None
    return chat


def _wanted_fields(chat: BaseChatModel) -> dict[str, Any]:
    """Return the options that we want of a class, if it has them."""
    # Google's client takes 0 as "the default" and 1 as "no second try".
    retries = 1 if type(chat).__module__.startswith("langchain_google") else 0
    wishes: dict[str, Any] = {"max_retries": retries, "stream_usage": True, "num_ctx": OLLAMA_WINDOW}
    if _is_at_openai(chat):
        # OpenAI's newer models take tools in the Responses API only; OpenAI is not to store what is in our log.
        wishes |= {"use_responses_api": True, "store": False}
        if (chat.profile or {}).get("reasoning_output"):
            # The reasoning has to be sent back with the next request.
            wishes["include"] = ["reasoning.encrypted_content"]
    return wishes


def _is_at_openai(chat: BaseChatModel) -> bool:
    """Return whether requests go to OpenAI itself and not to a server that is compatible with it."""
    address = getattr(getattr(chat, "root_async_client", None), "base_url", None)
    return getattr(address, "host", None) == "api.openai.com"


class LangChainModel(Model):
    """A LangChain chat model. It should not retry: the engine does, and tells readers."""

    def __init__(self, chat: BaseChatModel, name: str | None = None, window: int | None = None) -> None:
        self._chat = chat
        self.name = name or _name_of(chat)
        self.window = window or window_of(chat) or type(self).window
        self._is_orderly = type(chat).__module__.partition(".")[0] not in _GIVES_REASON
        self.accepts = accepted_by(chat)
        self._may_write_tags = not _is_at_openai(chat) and type(chat).__module__.partition(".")[0] not in _HOSTED

    @classmethod
    def named(cls, name: str, **options: Any) -> "LangChainModel":
        """Return the model of a name such as `openai:gpt-6.1-terra`; options go to the class of its provider."""
        return cls(chat_model_named(name, **options), name)

    @classmethod
    def loaded(cls, name: str) -> "LangChainModel":
        """Return the model of a name, with what Ollama says about it. It may take seconds."""
        return cls.named(name, **_profile_at_ollama(name))

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        tags, chunks = ThinkTags(), ChunkReader()
        try:
            chat = self._bound(request)
            messages = to_langchain(request.messages, await loaded_files(request))
            async with aclosing(cast("AsyncGenerator[Any, None]", chat.astream(messages))) as stream:
                async for chunk in stream:
                    deltas = chunks.deltas(chunk) if isinstance(chunk, AIMessage) else []
                    for delta in tags.sift(deltas) if self._may_write_tags else deltas:
                        yield delta
            for delta in tags.sift(chunks.end(is_orderly=self._is_orderly)):
                yield delta
        except Exception as error:
            mapped = as_model_error(error, self.name, secrets=_secrets_of(self._chat))
            if isinstance(mapped, ContextTooLong):
                self.window = min(self.window, mapped.limit or self.window)
            # A vendor's traceback may contain a key, so it is kept only for errors of an unknown kind.
            raise mapped from (error if not mapped.can_retry and mapped.code == "model_error" else None)

    def _bound(self, request: Request) -> Runnable[Any, Any]:
        """Return the chat model with the tools and options of a request."""
        chat = self._with_options(request.options)
        bound: Runnable[Any, Any] = chat
        if request.tools:
            bound = chat.bind_tools([_tool_schema(tool) for tool in request.tools])
        if request.options.stop:
            bound = bound.bind(stop=list(request.options.stop))
        return bound

    def _with_options(self, options: ModelOptions) -> BaseChatModel:
        """Return the chat model with options: a copy that shares the client."""
        if options.stop and getattr(self._chat, "use_responses_api", None):
            raise ModelRefused(f"{self.name} takes no option stop: OpenAI's Responses API has none.")
        fields, changed, others = type(self._chat).model_fields, dict[str, Any](), dict[str, Any]()
        for option, value in options.given.items():
            if option == "stop":
                continue  # LangChain takes it with each call
            name = next((name for name in _FIELDS.get(option, (option,)) if name in fields), None)
            if name:
                changed[name] = value
            elif "model_kwargs" in fields:
                others[option] = value
            else:
                raise ModelRefused(f"{self.name} takes no option {option}.")
        if others:
            changed["model_kwargs"] = {**getattr(self._chat, "model_kwargs", {}), **others}
        return self._chat.model_copy(update=changed) if changed else self._chat


def _tool_schema(tool: ToolSpec) -> dict[str, Any]:
    """Return a tool in OpenAI's form, which every class of LangChain takes."""
    function = {"name": tool.name, "description": tool.description, "parameters": tool.parameters}
    return {"type": "function", "function": function}


def _secrets_of(chat: BaseChatModel) -> Iterator[str]:
    """Yield the keys, headers and credentials in addresses that a chat model was set up with."""
    for value in vars(chat).values():
        if isinstance(value, SecretStr):
            yield from value_secrets(value.get_secret_value())
        elif isinstance(value, Mapping):
            yield from (secret for text in value.values() if isinstance(text, str) for secret in value_secrets(text))
        elif isinstance(value, str):
            yield from url_secrets(value)


def _name_of(chat: BaseChatModel) -> str:
    """Return the name that a user would write for an instance."""
    module = type(chat).__module__.partition(".")[0]
    provider = next((provider.name for provider in PROVIDERS if provider.module == module), None)
    model = getattr(chat, "model_name", None) or getattr(chat, "model", None)
    return f"{provider}:{model}" if provider and model else str(model or type(chat).__name__)
