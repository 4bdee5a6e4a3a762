"""What a provider told instead of an answer, as an error of our own tree: by status, and by its own words for it.

Messages say what to do and never contain a key: neither one that the environment or the caller has, nor what looks like
one.
"""

import os
import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite
from typing import Any

from threadkeep.errors import ContextTooLong, ModelError, ModelRateLimited, ModelRefused, ModelUnavailable
from threadkeep.text.secrets import HIDDEN, hiding, named_secrets

_SECRET = re.compile(
    r"(?i:(?:bearer|basic)\s+\S+|\b(?:api[-_ ]?)?key[=:]\s*\S+)"
    r"|\b(?:sk|pk|rk|gsk|xai|hf|key)[-_][\w*.-]{4,}|\bAIza[\w-]{8,}|\S*\*{3,}\S*"
)
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
_ADVICE = {
    401: "Check the provider's API key.",
    403: "Check that the API key may use this model.",
    404: "Check the model's name and the base URL.",
    **dict.fromkeys((301, 302, 303, 307, 308), "Set the base URL to the address that it redirects to."),
}
_SHOWN = 300


class ProviderError(Exception):
    """An error that a provider sent instead of an answer, or instead of the rest of one."""

    def __init__(self, error: Any, status: int | None = None, headers: Mapping[str, str] | None = None) -> None:
        details = error if isinstance(error, Mapping) else {"message": error}
        super().__init__(str(details.get("message") or details))
        told = (details.get(name) for name in ("type", "code", "status"))
        self.words = " ".join(word for word in told if isinstance(word, str))
        self.headers = headers or {}
        code = details.get("code")
        # Some gateways send the status of the server behind them in the event.
        self.status = status or (code if isinstance(code, int) and code >= 400 else None)


def failure_told(model: str, status: int | None, text: str, words: str, retry_after: float | None) -> ModelError:
    """Return the error for what a provider told: its `text`, and its `words` for the kind, both without secrets."""
    said = f"{model} answered {status or 'an error'} ({text})"
    if too_long := length_refusal(f"{said[:-1]} {words}".rstrip() + ")"):
        return too_long
    if "insufficient_quota" in words:
        return ModelRefused(f"{said}. The account has no credit left: see the provider's billing page.")
    if status == 429 or "rate_limit" in words:
        return ModelRateLimited(f"{said}. The provider asks us to slow down.", retry_after=retry_after)
    is_refused = "invalid_request" in words if status is None else _is_refusal(status, words)
    if is_refused:
        return ModelRefused(f"{said}. {_ADVICE.get(status or 0, 'The provider does not accept the request.')}")
    return ModelUnavailable(f"{said}. The provider failed on its side.", retry_after=retry_after)


def _is_refusal(status: int, words: str) -> bool:
    is_in_stream = status < 400 and re.search("overloaded|api_error|server_error", words)
    return status not in (408, 409, 425) and status < 500 and not is_in_stream


def length_refusal(said: str) -> ContextTooLong | None:
    """Return the error for a request that is too long, with the limit if the provider names it; None for any other."""
    if not _TOO_LONG.search(said):
        return None
    limit = _LIMIT.search(said.replace(",", ""))
    return ContextTooLong(f"{said}. The request is too long for this model.", limit=int(limit[1]) if limit else None)


def retry_after_in(headers: Mapping[str, str], now: datetime | None = None) -> float | None:
    """Return the seconds that headers ask us to wait; `now` is for a date."""
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


def without_secrets(text: str, secrets: Iterable[str] = ()) -> str:
    """Return what a provider said, shortened, without the secrets of the environment and these."""
    hide = hiding([*named_secrets(os.environ), *secrets])
    # Cut before it is searched as well: a provider may send megabytes.
    shown = _SECRET.sub(HIDDEN, " ".join(hide(text)[: 2 * _SHOWN].split()))
    return shown if len(shown) <= _SHOWN else f"{shown[:_SHOWN]}…"
