"""Filters on metadata as SQL. Names and values are bound, never written into a statement."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from threadkeep.errors import InvalidValue
from threadkeep.retrieval.base import Filter, Scalar


class Condition(NamedTuple):
    """What the `document` of a row must meet, and what to bind for it."""

    sql: str
    bindings: Sequence[Scalar]


# To SQLite every text is greater than every number; to a person the two have no order.
_ALIKE = "AND (typeof(value) = 'text') = (typeof(?) = 'text')"
_COMPARED = {
    "=": "value = ?",
    "!=": "value <> ?",
    "<": f"value < ? {_ALIKE}",
    "<=": f"value <= ? {_ALIKE}",
    ">": f"value > ? {_ALIKE}",
    ">=": f"value >= ? {_ALIKE}",
}


def condition(where: Iterable[Filter]) -> Condition:
    """Return the filters as one condition; without any it is met by all."""
    parts = ["true"]
    bindings: list[Scalar] = []
    for each in where:
        compared = _COMPARED.get(each.operator)
        if compared is None:
            raise InvalidValue(f"A filter compares with one of {' '.join(_COMPARED)}, not with {each.operator!r}.")
        parts.append(f"document IN (SELECT document FROM field WHERE name = ? AND {compared})")
        bindings += [each.field, *[each.value] * (compared.count("?"))]
    return Condition(" AND ".join(parts), bindings)
