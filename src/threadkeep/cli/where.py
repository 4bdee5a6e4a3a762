"""Filters as people type them: `price<500`, `brand=Samsung`, `in_stock=true`."""

import json
import re
from typing import cast

from threadkeep.errors import InvalidValue
from threadkeep.retrieval.base import Filter, Operator, Scalar

_OPERATOR = re.compile("[<>!]=|[<>=]")


def parse_filter(text: str) -> Filter:
    """Return the filter. A value that looks like a number, true or false is one; quoted, it is text."""
    match = _OPERATOR.search(text)
    field = text[: match.start()].strip() if match else ""
    if match is None or not field or "!" in field:
        raise InvalidValue(
            f"{text!r} is no filter: write a field, one of = != < <= > >=, and a value, as in 'price<500'."
        )
    return Filter(field, cast(Operator, match[0]), _value(text[match.end() :].strip()))


def _value(text: str) -> Scalar:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str | int | float) else text
