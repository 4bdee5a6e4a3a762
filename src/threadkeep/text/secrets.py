"""Secrets in texts: which values must not be told, and taking them out of what a vendor, a library or a log says.

The values themselves are looked for, because a key of an unknown vendor looks like any other word.
"""

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator, Mapping
from urllib.parse import parse_qsl, quote, unquote, urlsplit

HIDDEN = "[hidden]"
LEAST, LONG = 6, 12
"""A shorter value cannot be told from other words; a long one is found also within a word."""
_NAMED = re.compile(r"(?:key|token|secret|password|passwd|passphrase|authorization|cookie)$", re.IGNORECASE)


def named_secrets(values: Mapping[str, str]) -> Iterator[str]:
    """Yield the secrets among variables or headers: those that are called so, and what is in URLs."""
    for name, value in values.items():
        if _NAMED.search(name):
            yield from value_secrets(value)
        yield from url_secrets(value)


def value_secrets(value: str) -> Iterator[str]:
    """Yield a secret and, of one such as `Bearer x`, its last word."""
    yield value.strip()
    yield from value.split()[1:][-1:]


def url_secrets(text: str) -> Iterator[str]:
    """Yield what a URL has before its host and in options that are called secret; nothing if it is no URL."""
    try:
        parts = urlsplit(text.strip())
        query = dict(parse_qsl(parts.query))
    except ValueError:
        return
    if not parts.scheme or not parts.netloc:
        return
    yield from (value for name, value in query.items() if _NAMED.search(name))
    whole, at, _ = parts.netloc.rpartition("@")
    user, colon, password = whole.partition(":")
    if at:
        plain = unquote(whole)
        yield from (whole, plain, b64encode(plain.encode()).decode())
        secret = password if colon else user
        yield from (secret, unquote(secret))


def hiding(secrets: Iterable[str]) -> Callable[[str], str]:
    """Return a function that takes these secrets out of a text, also as they are written in URLs and in JSON."""
    known = {secret for secret in secrets if len(secret) >= LEAST}
    written = {form for secret in known for form in (secret, quote(secret, safe=""), json.dumps(secret)[1:-1])}
    if not written:
        return lambda text: text
    longest_first = sorted(written, key=lambda secret: (-len(secret), secret))
    found = re.compile(
        "|".join(re.escape(each) if len(each) >= LONG else rf"(?<!\w){re.escape(each)}(?!\w)" for each in longest_first)
    )
    return lambda text: found.sub(HIDDEN, text)
