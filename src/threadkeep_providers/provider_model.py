"""A model of a provider that we ask ourselves, in one of four forms: OpenAI's two, Anthropic's, Gemini's."""

import os
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, Self
from urllib.parse import quote

from aiohttp import ClientError

from threadkeep.errors import (
    ContextTooLong,
    ModelError,
    ModelRefused,
    ModelTimeout,
    ModelUnavailable,
    UnknownModel,
)
from threadkeep.llm.base import Delta, Model, ModelOptions, Request, ToolSpec, loaded_files
from threadkeep.llm.providers import Provider, provider_named
from threadkeep_providers.anthropic import Messages
from threadkeep_providers.deltas import DeltaBuffer, Events
from threadkeep_providers.endpoint import SILENCE, Endpoint
from threadkeep_providers.form import Form, WrittenMessages, dumps
from threadkeep_providers.gemini import Contents
from threadkeep_providers.openai import ChatCompletions, Responses
from threadkeep_providers.think_tags import ThinkTags
from threadkeep_providers.vendor_errors import ProviderError, failure_told, retry_after_in, without_secrets


class ProviderModel(Model):
    """A model of a provider whose form we know. It keeps connections until it is closed."""

    def __init__(self, name: str, form: Form, endpoint: Endpoint) -> None:
        self.name = name
        self._model = name.partition(":")[2] or name
        self._path = form.path.format(model=quote(self._model, safe=""))
        self._form = form
        self._endpoint = endpoint
        traits = form.traits(self._model)
        self.window, self.accepts, self.cached_from = traits.window, traits.accepts, form.cached_from
        self._written = WrittenMessages(form)
        self._tools: tuple[tuple[ToolSpec, ...], bytes] = ((), b"")

    @classmethod
    def named(
        cls,
        name: str,
        environment: Mapping[str, str] | None = None,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        headers: Mapping[str, str] | None = None,
        form: Form | None = None,
        silence: float = SILENCE,
    ) -> Self:
        """Return the model of a name such as `openai:gpt-6.1-terra`. The key and the address are in the environment,
        unless they are given; `headers` are sent besides, and `silence` is for how many seconds nothing may come."""
        provider = provider_named(name.partition(":")[0])
        if provider is None or not provider.form:
            raise UnknownModel(f"{name} is of no provider that is asked without LangChain.")
        environment = os.environ if environment is None else environment
        url, key = base_url or provider.url(environment), api_key or provider.key(environment)
        if not key and url == provider.api:
            raise ModelRefused(f"{name} cannot be set up: {provider.keys[0]} is not set.")
        endpoint = Endpoint(url, {**provider.headers(key, environment), **(headers or {})}, silence)
        return cls(name, form or _form(provider, endpoint), endpoint)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        body = await self._body(request)
        buffer, events, read = DeltaBuffer(), Events(), self._form.reader()
        tags = ThinkTags() if self._form.may_write_tags else None
        try:
            async with aclosing(self._endpoint.post(self._path, body)) as pieces:
                async for piece in pieces:
                    for event in events.feed(piece):
                        read(_checked(event), buffer)
                    for delta in tags.sift(buffer.drain()) if tags else buffer.drain():
                        yield delta
            if not events.count:
                raise ModelUnavailable(f"{self.name} sent something that is no answer.")
            for delta in tags.sift(buffer.end()) if tags else buffer.end():
                yield delta
        except Exception as error:
            failure = self._as_model_error(error)
            if isinstance(failure, ContextTooLong):
                self.window = min(self.window, failure.limit or self.window)
            # The traceback of a library may contain a key.
            raise failure from None

    async def close(self) -> None:
        await self._endpoint.close()

    async def _body(self, request: Request) -> bytes:
        options, files = self._form_options(request.options), await loaded_files(request)
        if request.tools != self._tools[0]:
            self._tools = request.tools, dumps([self._form.tool(tool) for tool in request.tools])[1:-1].encode()
        return self._form.body(self._model, options, self._written.of(request.messages, files), self._tools[1])

    def _form_options(self, options: ModelOptions) -> dict[str, Any]:
        """Return the options that were given by the names of the form."""
        given = options.given
        if unknown := given.keys() - self._form.options.keys():
            raise ModelRefused(f"{self.name} takes no option {min(unknown)}.")
        return {self._form.options[name]: value for name, value in given.items()}

    def _as_model_error(self, error: Exception) -> ModelError:
        said = f"{type(error).__name__}: {without_secrets(str(error), self._endpoint.secrets)}"
        match error:
            case ModelError():
                return error
            case ProviderError():
                words = without_secrets(error.words, self._endpoint.secrets)
                return failure_told(self.name, error.status, said, words, retry_after_in(error.headers))
            case TimeoutError():
                return ModelTimeout(f"{self.name} stopped answering ({said}).")
            case ClientError() | OSError():
                return ModelUnavailable(f"{self.name} cannot be reached, or the connection broke ({said}).")
            case ValueError() | LookupError() | TypeError() | AttributeError() | RecursionError():
                return ModelUnavailable(f"{self.name} sent something that is no answer ({said}).")
            case _:
                return ModelError(f"{self.name} failed ({said}).")


def _checked(event: Any) -> Mapping[str, Any]:
    if not isinstance(event, dict):
        raise ProviderError("an event is no object")
    if event.get("error"):
        raise ProviderError(event["error"])
    return event


def _form(provider: Provider, endpoint: Endpoint) -> Form:
    if provider.form == "anthropic":
        return Messages()
    if provider.form == "gemini":
        return Contents()
    if endpoint.host.endswith("api.openai.com"):
        return Responses()  # OpenAI's newer models take tools there only; other servers seldom have it
    return ChatCompletions("max_tokens" if provider.name == "deepseek" else "max_completion_tokens")
