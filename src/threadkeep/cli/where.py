"""Filters as people type them: `price<500`, `brand=Samsung`, `in_stock=true`."""

import json
import re
from typing import cast

from threadkeep.errors import InvalidValue
from threadkeep.retrieval.base import Filter, Operator, Scalar

_FILTER = re.compile(r"\s*(?P<field>[^<>=!]+?)\s*(?P<operator><=|>=|!=|<|>|=)\s*(?P<value>.*?)\s*", re.DOTALL)


def parse_filter(text: str) -> Filter:
    """Return the filter. A value that looks like a number, true or false is one; quoted, it is text."""
    match = _FILTER.fullmatch(text)
    if match is None:
        raise InvalidValue(
            f"{text!r} is no filter: write a field, one of = != < <= > >=, and a value, as in 'price<500'."
        )
    return Filter(match["field"], cast(Operator, match["operator"]), _value(match["value"]))


def _value(text: str) -> Scalar:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, str | int | float) else text
