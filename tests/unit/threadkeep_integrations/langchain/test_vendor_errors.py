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


@pytest.mark.parametrize(("status", "kind"), [(400, ModelRefused), (413, ContextTooLong), (503, ModelUnavailable)])
def test_an_error_with_a_status_is_known_by_it(status: int, kind: type[ModelError]) -> None:
    assert type(mapped(AnsweredError(status))) is kind


def test_a_rate_limit_tells_how_long_to_wait() -> None:
    error = mapped(AnsweredError(429, {"Retry-After": "Thu, 01 Jan 2026 12:00:30 GMT"}))
    assert type(error) is ModelRateLimited
    assert error.retry_after == 30


def test_the_words_of_the_provider_count() -> None:
    error = mapped(AnsweredError(429, body={"error": {"code": "insufficient_quota"}}))
    assert type(error) is ModelRefused
    assert isinstance(mapped(ValueError("the input length exceeds the context length")), ContextTooLong)


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
