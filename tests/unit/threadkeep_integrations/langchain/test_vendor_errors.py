"""Every error of a vendor becomes one of ours, says what to do, and holds no key."""

import json
from datetime import UTC, datetime
from typing import Any

import httpx
import ollama
import openai
import pytest

from threadkeep.errors import ContextTooLong, ModelError, ModelRateLimited, ModelRefused, ModelTimeout, ModelUnavailable
from threadkeep_integrations.langchain.vendor_errors import as_model_error

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


class AnsweredError(Exception):
    """An error of a vendor that nobody here knows, with a response."""

    def __init__(self, status: int, headers: dict[str, str] | None = None, body: Any = None, text: str = "") -> None:
        super().__init__(text)
        self.response = httpx.Response(status, headers=headers or {})
        self.body = body


def mapped(error: Exception) -> ModelError:
    return as_model_error(error, "openai:gpt", NOW)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 418, 422])
def test_what_is_our_fault_is_refused_and_not_tried_again(status: int) -> None:
    error = mapped(AnsweredError(status))
    assert type(error) is ModelRefused
    assert not error.can_retry
    assert str(status) in str(error)


@pytest.mark.parametrize(
    ("status", "said", "limit"),
    [
        (
            400,
            "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
            8192,
        ),
        (
            400,
            "maximum context length is 16384 tokens. However, you requested 20000 tokens (19000 in the messages",
            16384,
        ),
        (400, "Your input exceeds the context window of this model. Please adjust your input and try again.", None),
        (400, "context_length_exceeded", None),
        (429, "Request too large for gpt on tokens per min (TPM): Limit 30000, Requested 40212.", 30000),
        (400, "prompt is too long: 215,000 tokens > 200,000 maximum", 200000),
        (400, "input length and `max_tokens` exceed context limit: 198000 + 8192 > 200000", 200000),
        (413, "Request exceeds the maximum size", None),
        (413, "", None),
        (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).", 1048576),
        (400, "because the input token count is 33000 but model only supports up to 32768.", 32768),
        (400, "Prompt contains 40000 tokens, too large for model with 32768 maximum context length", 32768),
        (400, "prompt too long; exceeded max context length by 5 tokens", None),
        (500, "the input length exceeds the context length", None),
        (None, "the input length exceeds the context length", None),
        (400, "the request exceeds the available context size (4096 tokens), try increasing it", 4096),
        (400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens.", 131072),
        (400, "too many tokens: total number of tokens in the prompt cannot exceed 4081", 4081),
        (422, "`inputs` tokens + `max_new_tokens` must be <= 4097", 4097),
        (400, "Please reduce the length of the messages or completion.", None),
        (400, "Input is too long for requested model.", None),
    ],
)
def test_a_refusal_for_length_is_told_from_others_with_the_limit_if_it_is_said(
    status: int | None, said: str, limit: int | None
) -> None:
    error = mapped(AnsweredError(status, text=said) if status else ValueError(said))
    assert isinstance(error, ContextTooLong)
    assert error.limit == limit


@pytest.mark.parametrize(
    "said",
    [
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.",
        "Incorrect API key provided",
        "Invalid schema for function 'look': too many properties",
    ],
)
def test_another_refusal_is_none_for_length(said: str) -> None:
    assert type(mapped(AnsweredError(400, text=said))) is ModelRefused


@pytest.mark.parametrize("status", [408, 409, 425, 500, 502, 503, 504, 529])
def test_what_is_the_providers_fault_may_be_tried_again(status: int) -> None:
    error = mapped(AnsweredError(status))
    assert type(error) is ModelUnavailable
    assert error.can_retry


@pytest.mark.parametrize(
    ("headers", "wait"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"Retry-After": "Thu, 01 Jan 2026 12:00:30 GMT"}, 30.0),
        ({"Retry-After": "Thu, 01 Jan 2026 11:00:00 GMT"}, 0.0),
        ({"Retry-After": "7", "retry-after-ms": "250"}, 0.25),
        ({"Retry-After": "-3"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "nan"}, None),
        ({}, None),
    ],
)
def test_a_rate_limit_tells_how_long_to_wait(headers: dict[str, str], wait: float | None) -> None:
    error = mapped(AnsweredError(429, headers))
    assert type(error) is ModelRateLimited
    assert error.retry_after == wait


def test_an_account_without_credit_is_not_asked_again() -> None:
    error = mapped(AnsweredError(429, body={"error": {"code": "insufficient_quota"}}))
    assert type(error) is ModelRefused
    assert "credit" in str(error)


def test_an_error_in_the_middle_of_a_stream_is_known_by_its_type() -> None:
    assert type(mapped(AnsweredError(200, body={"error": {"type": "overloaded_error"}}))) is ModelUnavailable
    assert type(mapped(AnsweredError(200, body={"error": {"type": "rate_limit_error"}}))) is ModelRateLimited
    assert type(mapped(AnsweredError(200, body={"error": {"type": "invalid_request_error"}}))) is ModelRefused


REQUEST = httpx.Request("POST", "http://127.0.0.1")


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (openai.APITimeoutError(request=REQUEST), ModelTimeout),  # type: ignore[arg-type]
        (openai.APIConnectionError(request=REQUEST), ModelUnavailable),  # type: ignore[arg-type]
        (openai.APIError("failed", request=REQUEST, body=None), ModelUnavailable),  # type: ignore[arg-type]
        (httpx.ReadTimeout("slow"), ModelTimeout),
        (httpx.ConnectError("refused"), ModelUnavailable),
        (httpx.RemoteProtocolError("cut"), ModelUnavailable),
        (ollama.ResponseError("no such model", 404), ModelRefused),
        (ollama.ResponseError("in the stream"), ModelUnavailable),
        (TimeoutError(), ModelTimeout),
        (ConnectionResetError(), ModelUnavailable),
        (json.JSONDecodeError("bad", "", 0), ModelUnavailable),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), ModelUnavailable),
        (ValueError("No generation chunks were returned"), ModelUnavailable),
        (NotImplementedError(), ModelRefused),
        (RuntimeError("nobody foresaw this"), ModelError),
    ],
)
def test_an_error_without_a_status_is_known_by_its_class(error: Exception, kind: type[ModelError]) -> None:
    assert type(mapped(error)) is kind


def test_the_cause_of_an_error_counts() -> None:
    outer = RuntimeError("wrapped")
    outer.__cause__ = httpx.ReadTimeout("slow")
    assert type(mapped(outer)) is ModelTimeout


def test_an_error_of_ours_stays_what_it_is() -> None:
    error = ModelRateLimited(retry_after=3)
    assert mapped(error) is error


@pytest.mark.parametrize(
    "text",
    [
        "Incorrect API key provided: sk-proj-abcdefghijklmnop",
        "Incorrect API key provided: abcdef****************mnop",
        "Authorization: Bearer abcdefghijklmnop",
        "https://host/v1?key=abcdefghijklmnop&alt=sse",
        "invalid AIzaabcdefghijklmnop",
    ],
)
def test_no_key_gets_into_the_message(text: str) -> None:
    message = str(mapped(AnsweredError(401, text=text)))
    assert "mnop" not in message
    assert "[hidden]" in message


def test_a_long_message_is_cut() -> None:
    assert len(str(mapped(AnsweredError(400, text="x" * 100_000)))) < 600
