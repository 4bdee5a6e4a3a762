"""What LangChain's classes raise as errors of our own tree: by status code, class names and headers, not by import.

So no vendor's package is needed, and errors of unknown vendors are mapped as well.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any

from threadkeep.errors import ContextTooLong, ModelError, ModelRateLimited, ModelRefused, ModelTimeout, ModelUnavailable
from threadkeep_providers.vendor_errors import failure_told, retry_after_in, without_secrets

_TIMEOUT = re.compile(r"Timeout|TimedOut|DeadlineExceeded")
_UNREACHABLE = re.compile(
    r"Connect|Network|ProtocolError|ReadError|WriteError|CloseError|TransportError|OSError|gaierror"
)
_UNREADABLE = re.compile(r"Decod|UnicodeError|Validation|JSON")
_REFUSED = re.compile(r"Authentication|PermissionDenied|InvalidRequest|NotFound|ContextOverflow|Credentials|BadRequest")
_UNKNOWN_OPTION = re.compile(r"unexpected keyword argument '(\w+)'")


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
    text = f"{type(error).__name__}: {without_secrets(str(error), secrets)}"
    words = without_secrets(_provider_words(error), secrets)
    told = failure_told(model, status, text, words, retry_after)
    return told if status is not None or isinstance(told, ContextTooLong) else _by_name(error, causes, model, text)


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
    return retry_after_in(headers, now) if isinstance(headers, Mapping) else None
