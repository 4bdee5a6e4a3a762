"""Streaming past LangChain: it prepares a request, the vendor's client sends it, and the answer is read as bytes.

LangChain and the vendors build several objects for each token, which costs more than all that Threadkeep does with it.
Some of what is used of LangChain here is not public: where that is missing, or a feature is set up that only LangChain
has, the answer is streamed through LangChain as with any other provider.
"""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any
from urllib.request import getproxies

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langsmith.utils import tracing_is_enabled

from threadkeep.errors import ModelUnavailable
from threadkeep.llm.base import Delta
from threadkeep.llm.langchain.transport import CONNECTION, lean_client
from threadkeep.llm.langchain.wire import (
    AnthropicReader,
    DeltaBuffer,
    Events,
    Reader,
    StreamedAPIError,
    read_gemini,
    read_openai_chat,
    read_openai_response,
)

Call = tuple[AbstractAsyncContextManager[Any], Reader]
"""A request that is ready to be sent: opening it gives the HTTP response, and the reader reads its events."""
Arguments = dict[str, Any]


class DirectChat:
    """A chat model of LangChain whose provider is asked without it."""

    def __init__(self, chat: BaseChatModel, prepare: "Prepare") -> None:
        self._chat = chat
        self._prepare = prepare
        self._http: Any = None

    async def prepared(self, chat: BaseChatModel, messages: list[BaseMessage], options: Arguments) -> Call | None:
        """Return a request that is ready, None if LangChain has to send it; `chat` is ours, or a copy with options."""
        if tracing_is_enabled():
            return None
        try:
            return await self._prepare(self, chat, messages, options)
        except Exception:
            # LangChain takes the same steps, and raises the error if it fails there, too.
            return None

    def lean(self, http: Any) -> Any:
        """Return an HTTP client over our transport, or the vendor's own if a proxy or another option of it was set."""
        if self._http is None:
            own = ("http_async_client", "http_socket_options", "openai_proxy", "anthropic_proxy", "client_args")
            is_own = any(getattr(self._chat, name, None) for name in own) or getproxies()
            self._http = http if is_own else lean_client(http)
        return self._http


Prepare = Callable[[DirectChat, Any, list[BaseMessage], Arguments], Awaitable[Call | None]]


def direct(chat: BaseChatModel) -> DirectChat | None:
    """Return what streams past LangChain; None for other classes, and if a feature is set that only LangChain has."""
    prepare = _PREPARE.get(f"{type(chat).__module__.partition('.')[0]}.{type(chat).__name__}")
    if prepare is None or chat.callbacks or chat.rate_limiter or chat.cache or chat.disable_streaming:
        return None
    return DirectChat(chat, prepare)


async def deltas(call: Call, name: str) -> AsyncGenerator[Delta, None]:
    """Send a request and yield the deltas of the answer. Closing the generator closes the connection."""
    opening, read = call
    buffer, events, has_events = DeltaBuffer(), Events(), False
    async with opening as response:
        async for data in _body_of(response):
            for event in events.feed(data):
                has_events = True
                read(event, buffer)
            for delta in buffer.drain():
                yield delta
    if not has_events:
        raise ModelUnavailable(f"{name} sent something that is no answer.")
    for stopped in buffer.end():
        yield stopped


def _body_of(response: Any) -> AsyncIterator[bytes]:
    """Return the body of a response: straight from our connection, unless there is something to decompress."""
    connection: AsyncIterator[bytes] | None = response.extensions.get(CONNECTION)
    return response.aiter_bytes() if connection is None or "content-encoding" in response.headers else connection


async def _openai(direct: DirectChat, chat: Any, messages: list[BaseMessage], options: Arguments) -> Call | None:
    has_responses = chat._use_responses_api({**options, **chat.model_kwargs})
    if not has_responses and chat._should_stream_usage(**options):
        options = {**options, "stream_options": {"include_usage": True}}
    payload = chat._get_request_payload(messages, stream=True, **options)
    if "response_format" in payload:
        return None
    http = direct.lean(chat.root_async_client._client)
    client = chat.root_async_client.with_options(http_client=http)
    if chat.stream_chunk_timeout:
        limits = http.timeout
        payload["timeout"] = type(limits)(**{**limits.as_dict(), "read": chat.stream_chunk_timeout})
    api = client.responses if has_responses else client.chat.completions
    return _raw(
        api.with_streaming_response.create(**_past_checks(payload))
    ), read_openai_response if has_responses else read_openai_chat


async def _anthropic(direct: DirectChat, chat: Any, messages: list[BaseMessage], options: Arguments) -> Call | None:
    payload = chat._get_request_payload(messages, stream=True, **options)
    client = chat._async_client.with_options(http_client=direct.lean(chat._async_client._client))
    api = client.beta.messages if "betas" in payload else client.messages
    return _raw(api.with_streaming_response.create(**_past_checks(payload))), AnthropicReader()


def _past_checks(payload: Arguments) -> Arguments:
    """Return the arguments of a vendor's call, with the large ones put into the body as they are.

    They are plain JSON already; the vendor's client would check each message of the history to find that out.
    """
    large = {name: payload[name] for name in ("messages", "input", "tools") if name in payload}
    rest = {name: [] if name in large else value for name, value in payload.items() if name != "tools"}
    return {**rest, "extra_body": large | (payload.get("extra_body") or {})}


@asynccontextmanager
async def _raw(sending: AbstractAsyncContextManager[Any]) -> AsyncIterator[Any]:
    """Send a request with the vendor's client, which raises its own error for one that is refused."""
    async with sending as response:
        yield response.http_response


async def _gemini(direct: DirectChat, chat: Any, messages: list[BaseMessage], options: Arguments) -> Call | None:
    api = chat.client._api_client
    if api.vertexai:
        return None  # where tokens of an account have to be renewed
    taken = _RequestRecorder(api)
    stream = await type(chat.async_client.models)(taken).generate_content_stream(
        **chat._prepare_request(messages, **options)
    )
    async for _ in stream:
        pass
    return posted(direct.lean(api._async_httpx_client), taken.request), read_gemini


class _RequestRecorder:
    """A client of Google's that sends nothing: it keeps the request that would be sent, and the stream is empty."""

    def __init__(self, api: Any) -> None:
        self._api = api
        self.request: Any = None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._api, name)

    async def async_request_streamed(self, method: str, path: str, body: Any, options: Any = None) -> Any:
        self.request = self._api._build_request(method, path, body, options)

        return _no_events()


async def _no_events() -> AsyncIterator[Any]:
    events: tuple[Any, ...] = ()
    for event in events:
        yield event


@asynccontextmanager
async def posted(http: Any, request: Any) -> AsyncIterator[Any]:
    """Send a request that a vendor's client has prepared, and raise the provider's error if it is refused."""
    limits = {"timeout": request.timeout} if request.timeout else {}
    async with http.stream("POST", request.url, headers=request.headers, json=request.data, **limits) as response:
        if response.status_code >= 400:
            raise StreamedAPIError((await response.aread()).decode(errors="replace"), response.status_code, response)
        yield response


_PREPARE: dict[str, Prepare] = {
    "langchain_openai.ChatOpenAI": _openai,
    "langchain_openai.AzureChatOpenAI": _openai,
    "langchain_deepseek.ChatDeepSeek": _openai,
    "langchain_xai.ChatXAI": _openai,
    "langchain_anthropic.ChatAnthropic": _anthropic,
    "langchain_google_genai.ChatGoogleGenerativeAI": _gemini,
}
