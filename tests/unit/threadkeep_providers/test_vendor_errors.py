"""What a provider tells instead of an answer becomes one of our errors, says what to do, and holds no key."""

from datetime import UTC, datetime
from typing import Any

import pytest
from multidict import CIMultiDict

from threadkeep.errors import ContextTooLong, ModelError, ModelRateLimited, ModelRefused, ModelUnavailable
from threadkeep_providers.vendor_errors import ProviderError, failure_told, retry_after_in, without_secrets

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)


def told(status: int | None, headers: dict[str, str] | None = None, error: Any = None, text: str = "") -> ModelError:
    failed = ProviderError(error or text, status, CIMultiDict(headers or {}))
    wait = retry_after_in(failed.headers, NOW)
    return failure_told("openai:gpt", failed.status, without_secrets(str(failed)), failed.words, wait)


@pytest.mark.parametrize("status", [400, 401, 402, 403, 404, 405, 418, 422])
def test_what_is_our_fault_is_refused_and_not_tried_again(status: int) -> None:
    error = told(status)
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
    error = told(status, text=said)
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
    assert type(told(400, text=said)) is ModelRefused


@pytest.mark.parametrize("status", [408, 409, 425, 500, 502, 503, 504, 529])
def test_what_is_the_providers_fault_may_be_tried_again(status: int) -> None:
    error = told(status)
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
    error = told(429, headers)
    assert type(error) is ModelRateLimited
    assert error.retry_after == wait


def test_an_account_without_credit_is_not_asked_again() -> None:
    error = told(429, error={"code": "insufficient_quota"})
    assert type(error) is ModelRefused
    assert "credit" in str(error)


def test_an_error_in_the_middle_of_a_stream_is_known_by_its_type() -> None:
    assert type(told(200, error={"type": "overloaded_error"})) is ModelUnavailable
    assert type(told(200, error={"type": "rate_limit_error"})) is ModelRateLimited
    assert type(told(200, error={"type": "invalid_request_error"})) is ModelRefused


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
    message = str(told(401, text=text))
    assert "mnop" not in message
    assert "[hidden]" in message


def test_a_long_message_is_cut() -> None:
    assert len(str(told(400, text="x" * 100_000))) < 600
