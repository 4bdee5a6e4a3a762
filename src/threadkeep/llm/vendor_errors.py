"""Vendors' errors as errors of our own tree, recognised by status code, class names and headers, not by import.

So no vendor's package is needed, and errors of unknown vendors are mapped as well. Messages say what to do and never
contain a key: neither one that the environment or the caller has, nor what looks like one.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any

from threadkeep.errors import ContextTooLong, ModelError, ModelRateLimited, ModelRefused, ModelTimeout, ModelUnavailable
from threadkeep.text.secrets import HIDDEN, hiding, named_secrets

_SECRET = re.compile(
    r"(?i:(?:bearer|basic)\s+\S+|\b(?:api[-_ ]?)?key[=:]\s*\S+)"
    r"|\b(?:sk|pk|rk|gsk|xai|hf|key)[-_][\w*.-]{4,}|\bAIza[\w-]{8,}|\S*\*{3,}\S*"
)
_TIMEOUT = re.compile(r"Timeout|TimedOut|DeadlineExceeded")
_UNREACHABLE = re.compile(
    r"Connect|Network|ProtocolError|ReadError|WriteError|CloseError|TransportError|OSError|gaierror"
)
_UNREADABLE = re.compile(r"Decod|UnicodeError|Validation|JSON")
_REFUSED = re.compile(r"Authentication|PermissionDenied|InvalidRequest|NotFound|ContextOverflow|Credentials|BadRequest")
_TOO_LONG = re.compile(
    r"context[ _](?:length|window|size|limit)|(?:prompt|input) (?:is )?too long|ContextOverflow|input length"
    r"|(?:prompt|inputs?)`? tokens? (?:count|\+)|maximum (?:prompt|input) length|too large for|answered 413"
    r"|too many tokens|reduce the length|request(?:_| is | )too[_ ]large|exceeds the maximum size",
    re.IGNORECASE,
)
_LIMIT = re.compile(
    r"(?:length is|length of|window is|window of|size \(|allowed \(|only supports up to|model with|cannot exceed|<=|>"
    r"|Limit) ?([1-9]\d{3,7})\b"
)
_UNKNOWN_OPTION = re.compile(r"unexpected keyword argument '(\w+)'")
_SHOWN = 300


def as_model_error(
    error: Exception, model: str, now: datetime | None = None, secrets: Iterable[str] = ()
) -> ModelError:
    """Return what a vendor raised as one of our errors, without the `secrets` that the model was set up with; `now` is
    for a Retry-After that is a date."""
    if isinstance(error, ModelError):
        return error
    causes = list(_causes(error))
    status = next((status for cause in causes if (status := _http_status(cause))), None)
    retry_after = next((wait for cause in causes if (wait := _retry_after(cause, now)) is not None), None)
    secrets = tuple(secrets)
    text = f"{type(error).__name__}: {_without_secrets(str(error), secrets)}"
    words = _without_secrets(_provider_words(error), secrets)
    if too_long := length_refusal(f"{model} answered {status or 'an error'} ({text} {words}".rstrip() + ")"):
        return too_long
    if status is not None:
        return _by_status(status, words, f"{model} answered {status} ({text})", retry_after)
    return _by_name(error, causes, model, text)


def length_refusal(said: str) -> ContextTooLong | None:
    """Return the error for a request that is too long, with the limit if the provider names it; None for any other."""
    if not _TOO_LONG.search(said):
        return None
    limit = _LIMIT.search(said.replace(",", ""))
    return ContextTooLong(f"{said}. The request is too long for this model.", limit=int(limit[1]) if limit else None)


def missing_key(model: str, error: Exception) -> ModelRefused:
    """Return the error for a model that could not be set up."""
    return ModelRefused(f"{model} cannot be set up: {_without_secrets(str(error))}")


def _by_status(status: int, words: str, said: str, retry_after: float | None) -> ModelError:
    if "insufficient_quota" in words:
        return ModelRefused(f"{said}. The account has no credit left: see the provider's billing page.")
    if status == 429 or "rate_limit" in words:
        return ModelRateLimited(f"{said}. The provider asks us to slow down.", retry_after=retry_after)
    is_in_stream = status < 400 and re.search("overloaded|api_error|server_error", words)
    if status in (408, 409, 425) or status >= 500 or is_in_stream:
        return ModelUnavailable(f"{said}. The provider failed on its side.", retry_after=retry_after)
    return ModelRefused(f"{said}. {_ADVICE.get(status, 'The provider does not accept the request.')}")


_ADVICE = {
    401: "Check the provider's API key.",
    403: "Check that the API key may use this model.",
    404: "Check the model's name and the base URL.",
}


def _by_name(error: Exception, causes: list[BaseException], model: str, said: str) -> ModelError:
    """Map an error without a status by the names of its classes and those of its causes."""
    names = " ".join(kind.__name__ for cause in causes for kind in type(cause).__mro__)
    words = _provider_words(error)
    if unknown := isinstance(error, TypeError) and _UNKNOWN_OPTION.search(str(error)):
        return ModelRefused(f"{model} takes no option {unknown[1]}.")
    if isinstance(error, ValueError) and "not supported" in said:
        return ModelRefused(f"{model} does not take what is asked of it: {said}")
    if isinstance(error, NotImplementedError):
        return ModelRefused(f"{model} cannot do what is asked of it: most likely it takes no tools.")
    if _TIMEOUT.search(names):
        return ModelTimeout(f"{model} stopped answering ({said}).")
    if _REFUSED.search(names) or "invalid_request" in words:
        return ModelRefused(f"{model} does not accept the request ({said}).")
    if "rate_limit" in words:
        return ModelRateLimited(f"{model} asks us to slow down ({said}).")
    if _UNREACHABLE.search(names):
        return ModelUnavailable(f"{model} cannot be reached, or the connection broke ({said}).")
    if _UNREADABLE.search(names) or "No generation chunks" in str(error):
        return ModelUnavailable(f"{model} sent something that is no answer ({said}).")
    if "APIError" in names or "ResponseError" in names:
        return ModelUnavailable(f"{model} failed on its side ({said}).")
    return ModelError(f"{model} failed ({said}).")


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an error and what caused it, at most five."""
    current: BaseException | None = error
    for _ in range(5):
        if current is None:
            return
        yield current
        current = current.__cause__ or current.__context__


def _http_status(error: BaseException) -> int | None:
    response = getattr(error, "response", None)
    for holder, name in ((error, "status_code"), (error, "code"), (error, "status"), (response, "status_code")):
        status = getattr(holder, name, None)
        if isinstance(status, int) and not isinstance(status, bool) and 100 <= status < 600:
            return status
    return None


def _provider_words(error: BaseException) -> str:
    """Return the provider's own words for the error: its code and type."""
    body: Any = getattr(error, "body", None)
    inner = body.get("error", body) if isinstance(body, Mapping) else {}
    inner = inner if isinstance(inner, Mapping) else {}
    found = [inner.get("type"), inner.get("code"), getattr(error, "code", None), getattr(error, "type", None)]
    return " ".join(word for word in found if isinstance(word, str))


def _retry_after(error: BaseException, now: datetime | None) -> float | None:
    headers = getattr(getattr(error, "response", None), "headers", None)
    if not isinstance(headers, Mapping):
        return None
    if milliseconds := headers.get("retry-after-ms"):
        return _seconds(milliseconds, 1000, now)
    return _seconds(headers.get("retry-after"), 1, now)


def _seconds(text: str | None, divisor: int, now: datetime | None) -> float | None:
    """Return the seconds that a header asks us to wait: a number, or a date that may lie in the past."""
    if not text:
        return None
    try:
        wait = float(text) / divisor
    except ValueError:
        try:
            moment = parsedate_to_datetime(text)
        except ValueError:
            return None
        moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        wait = (moment - (now or datetime.now(UTC))).total_seconds()
    return max(0.0, wait) if isfinite(wait) else None


def _without_secrets(text: str, secrets: Iterable[str] = ()) -> str:
    hide = hiding([*named_secrets(os.environ), *secrets])
    # Cut before it is searched as well: a provider may send megabytes.
    shown = _SECRET.sub(HIDDEN, " ".join(hide(text)[: 2 * _SHOWN].split()))
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
