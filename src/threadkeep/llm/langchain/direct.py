"""Streaming past LangChain: it prepares a request, the vendor's client sends it, and the answer is read as bytes.

LangChain and the vendors build several objects for each token, which costs more than all that Threadkeep does with it.
Some of what is used of LangChain here is not public: where that is missing, or a feature is set up that only LangChain
has, the answer is streamed through LangChain as with any other provider. Why is logged once, and told as `detour`.
"""

import logging
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, NamedTuple

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
_ONLY_LANGCHAIN = ("callbacks", "rate_limiter", "cache", "disable_streaming")
_OWN_CLIENT = ("http_async_client", "http_socket_options", "openai_proxy", "anthropic_proxy", "client_args")
_log = logging.getLogger(__name__)


class DirectChat:
    """A chat model of LangChain whose provider is asked without it."""

    def __init__(self, chat: BaseChatModel, vendor: "Vendor") -> None:
        self._chat = chat
        self._vendor = vendor
        self._http: Any = None
        self._failure = ""
        self._told = set[str]()

    @property
    def detour(self) -> str:
        """Why answers take a slower way, as far as it is known before one is asked for; empty if they do not."""
        try:
            return self._only_langchain or self._failure or self._own_client
        except Exception as error:
            return f"the vendor's client has changed ({type(error).__name__})"

    @property
    def _only_langchain(self) -> str:
        if tracing_is_enabled():
            return "LangSmith traces the calls"
        return next((f"only LangChain knows {name}" for name in _ONLY_LANGCHAIN if getattr(self._chat, name, None)), "")

    @property
    def _own_client(self) -> str:
        """Why the vendor's own HTTP client is used."""
        if name := next((name for name in _OWN_CLIENT if getattr(self._chat, name, None)), None):
            return f"{name} is set"
        http, address = self._vendor.client(self._chat)
        url = http.build_request("POST", address).url
        # The client itself knows for which addresses it uses a proxy of the environment, and for which it does not.
        return "" if http._transport_for_url(url) is http._transport else f"a proxy is set for {url.host}"

    async def prepared(self, chat: BaseChatModel, messages: list[BaseMessage], options: Arguments) -> Call | None:
        """Return a request that is ready, None if LangChain has to send it; `chat` is ours, or a copy with options."""
        call = None
        if not (reason := self._only_langchain):
            try:
                call = await self._vendor.prepare(self, chat, messages, options)
                self._failure = "" if call else "only LangChain can send such a request"
            except Exception as error:
                # LangChain takes the same steps, and raises the error if it fails there, too.
                self._failure = f"the request could not be prepared ({type(error).__name__})"
            reason = self._failure
        if reason:
            self._tell(reason)
        return call

    def lean(self) -> Any:
        """Return an HTTP client over our transport, or the vendor's own if a proxy or another option of it was set."""
        if self._http is None:
            http, _ = self._vendor.client(self._chat)
            if reason := self._own_client:
                self._tell(reason)
            self._http = http if reason else lean_client(http)
        return self._http

    def _tell(self, reason: str) -> None:
        if reason not in self._told:
            self._told.add(reason)
            _log.warning("%s is streamed in a slower way: %s", type(self._chat).__name__, reason)


class Vendor(NamedTuple):
    """How a class of LangChain prepares a request, and its HTTP client with the address that it asks."""

    prepare: Callable[[DirectChat, Any, list[BaseMessage], Arguments], Awaitable[Call | None]]
    client: Callable[[Any], tuple[Any, Any]]


def direct(chat: BaseChatModel) -> DirectChat | None:
    """Return what streams past LangChain; None for classes of which nothing is known."""
    vendor = _VENDORS.get(f"{type(chat).__module__.partition('.')[0]}.{type(chat).__name__}")
    return vendor and DirectChat(chat, vendor)


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
    http = direct.lean()
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
    client = chat._async_client.with_options(http_client=direct.lean())
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
    return posted(direct.lean(), taken.request), read_gemini


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


def _gemini_client(chat: Any) -> tuple[Any, Any]:
    api = chat.client._api_client
    return api._async_httpx_client, api._http_options.base_url


_OPENAI = Vendor(_openai, lambda chat: (chat.root_async_client._client, chat.root_async_client.base_url))
_VENDORS = {
    "langchain_openai.ChatOpenAI": _OPENAI,
    "langchain_openai.AzureChatOpenAI": _OPENAI,
    "langchain_deepseek.ChatDeepSeek": _OPENAI,
    "langchain_xai.ChatXAI": _OPENAI,
    "langchain_anthropic.ChatAnthropic": Vendor(
        _anthropic, lambda chat: (chat._async_client._client, chat._async_client.base_url)
    ),
    "langchain_google_genai.ChatGoogleGenerativeAI": Vendor(_gemini, _gemini_client),
}
