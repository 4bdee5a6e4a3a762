"""LangChain chat models by name, set up as we need them: no retries, usage while streaming, a window that is known."""

from typing import Any

from langchain_core.language_models import BaseChatModel

from threadkeep.errors import UnknownModel
from threadkeep.llm.providers import pip_line
from threadkeep.llm.vendor_errors import missing_key

OLLAMA_WINDOW = 8_192
"""Ollama silently drops the beginning of a request beyond its window, so the window is set, not hoped for."""


def chat_model_named(name: str, **options: Any) -> BaseChatModel:
    """Return the chat model of a name such as `openai:gpt-6.1-terra`. Addresses and keys are the vendor's variables."""
    first = _init(name, **options)
    wanted = {key: value for key, value in _wishes(first).items() if key in type(first).model_fields}
    return _init(name, **(wanted | options))


def window_of(chat: BaseChatModel) -> int | None:
    """Return how many tokens a request may have, if the class knows it."""
    if isinstance(size := getattr(chat, "num_ctx", None), int):
        return size
    size = (chat.profile or {}).get("max_input_tokens")
    return size if isinstance(size, int) else None


def _init(name: str, **options: Any) -> BaseChatModel:
    try:
        # Not every user of this folder has the whole of LangChain: a graph needs its messages only.
        from langchain.chat_models import init_chat_model  # noqa: PLC0415

        chat: BaseChatModel = init_chat_model(name, **options)
    except ImportError:
        raise UnknownModel(f"{name} needs a package: {pip_line(name.partition(':')[0])}") from None
    except Exception as error:
        if "model provider" in str(error):
            raise UnknownModel(f"LangChain knows no provider of the name {name.partition(':')[0]!r}.") from None
        raise missing_key(name, error) from None
    return chat


def _wishes(chat: BaseChatModel) -> dict[str, Any]:
    """Return the options that we want of a class, if it has them."""
    # Google's client takes 0 as "the default" and 1 as "no second try".
    retries = 1 if type(chat).__module__.startswith("langchain_google") else 0
    wishes: dict[str, Any] = {"max_retries": retries, "stream_usage": True, "num_ctx": OLLAMA_WINDOW}
    if _is_at_openai(chat):
        # OpenAI's newer models take tools there only; nothing of it is to be kept beside our log.
        wishes |= {"use_responses_api": True, "store": False}
    return wishes


def _is_at_openai(chat: BaseChatModel) -> bool:
    """Return whether requests go to OpenAI itself and not to a server that is compatible with it."""
    address = getattr(getattr(chat, "root_async_client", None), "base_url", None)
    return getattr(address, "host", None) == "api.openai.com"
