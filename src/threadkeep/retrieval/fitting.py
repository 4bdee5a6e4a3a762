"""Filters on metadata, applied to documents that are at hand. An index applies the same ones in SQL."""

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from threadkeep.retrieval.base import Filter

_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def fits(metadata: Mapping[str, object], where: Iterable[Filter]) -> bool:
    """Whether a document with this metadata meets every filter. Text and numbers are different, and have no order."""
    return all(_fits(metadata.get(each.field), each) for each in where)


def _fits(value: object, each: Filter) -> bool:
    if not isinstance(value, str | int | float):
        return False
    if isinstance(value, str) != isinstance(each.value, str):
        return each.operator == "!="
    return _COMPARE[each.operator](value, each.value)
