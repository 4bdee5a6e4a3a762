"""What answers have used, added up by user, day, model and currency: the contract, and what an entry adds.

The sums are derived from the log with the words for search: in batches, in the commit that says how far they follow,
so that each entry counts once, whatever process counts it. They stay when a conversation is deleted.
"""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime
from decimal import Decimal
from operator import add
from typing import NamedTuple

from threadkeep.conversation.message import MAX_TOKENS, Usage
from threadkeep.conversation.scope import Scope
from threadkeep.store.codec import STATE, Row

MOST_MODELS = 100
"""How many models and currencies one user, and a tenant, has sums for in a day; what comes then has no name."""
MOST_NAME, MOST_COST = 100, Decimal(10**12)
_EXACT = Decimal("1e-12")


class UsageSum(NamedTuple):
    """What some answers of a day (UTC) by one model have used together; without prices there is no currency."""

    day: date
    model: str
    currency: str
    answers: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int
    cost: Decimal

    def plus(self, other: "UsageSum") -> "UsageSum":
        """Return both together, as of this day, model and currency."""
        return UsageSum._make((*self[:3], *map(add, self[3:], other[3:])))


def used(row: Row, said_at: datetime) -> UsageSum | None:
    """Return what an entry adds; none if it used nothing."""
    if row.kind >= STATE or not row.parts or '"usage"' not in row.parts:
        return None
    try:
        parts = json.loads(row.parts)
        if parts.get("usage") is None:
            return None
        usage = Usage.model_validate(parts["usage"])
    except ValueError:
        return None  # it is damaged, and refused to who reads it
    tokens = [min(count, MAX_TOKENS) for count in (usage.input_tokens, usage.output_tokens, usage.cached_tokens)]
    cost, currency = Decimal(), ""
    if usage.cost is not None:
        cost, currency = min(usage.cost.amount, MOST_COST).quantize(_EXACT), _named(usage.cost.currency)
    return UsageSum._make((said_at.astimezone(UTC).date(), _named(parts.get("model")), currency, 1, *tokens, cost))


def _named(name: str | None) -> str:
    return (name or "")[:MOST_NAME].replace("\x00", "")


def added_up(sums: Iterable[UsageSum]) -> list[UsageSum]:
    """Return one sum for each day, model and currency, in their order."""
    found: dict[tuple[date, str, str], UsageSum] = {}
    for each in sums:
        key = each[:3]
        found[key] = found[key].plus(each) if key in found else each
    return [found[key] for key in sorted(found)]


class UsageTables(ABC):
    """The sums of a store. What is read is complete: the log is caught up with before."""

    @abstractmethod
    async def of(self, tenant: str, user: str | None, since: date, until: date) -> list[UsageSum]:
        """Return what a user, or all of a tenant, has used from a day to a day, both included."""

    @abstractmethod
    async def users(
        self, tenant: str, since: date, until: date, *, limit: int = 100, after: str = ""
    ) -> list[tuple[str, UsageSum]]:
        """Return the sums of the first users behind a name, by name. Of whom nothing is left that has a name, and who
        was erased, the tenant's sums alone tell."""

    @abstractmethod
    async def add(self, scope: Scope, sums: Sequence[UsageSum]) -> None:
        """Add what a user has used in a log that this store does not keep."""
