"""Budgets: what users and tenants may use of models in a day and in a month, and how much of it is left.

What was used is read from the sums of the store, which follow the log: so a budget holds for all servers together, over
restarts, and whatever is deleted. A turn that runs is finished: what was used may be a little more than a budget. While
the database is away, what was last known counts.
"""

import asyncio
import time
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Literal, NamedTuple

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.scope import Scope
from threadkeep.errors import StoreError
from threadkeep.store.usage import UsageSum, UsageTables
from threadkeep.turn.admission import Budgets
from threadkeep_usage.errors import BudgetExhausted
from threadkeep_usage.tables import NO_BUDGET, Budget, BudgetsTable

REMEMBERED = 10_000

Whose = Literal["user", "tenant"]


class Left(NamedTuple):
    """What is left of one limit: `unit` is a currency, or `tokens`."""

    whose: Whose
    period: Literal["day", "month"]
    unit: str
    limit: Decimal
    used: Decimal
    resets_at: datetime

    @property
    def remaining(self) -> Decimal:
        """How much may still be used."""
        return max(self.limit - self.used, Decimal())

    def shown(self) -> dict[str, str]:
        """Return it as JSON has it, numbers as text."""
        numbers = {"limit": self.limit, "used": self.used, "remaining": self.remaining}
        told = {"whose": self.whose, "period": self.period, "unit": self.unit}
        return {**told, **{name: plain(number) for name, number in numbers.items()}, "resets_at": _text(self.resets_at)}


def plain(number: Decimal) -> str:
    """Return a number without an exponent and without zeros at its end."""
    return f"{number.normalize():f}"


def _text(moment: datetime) -> str:
    return moment.isoformat().replace("+00:00", "Z")


class SpentBudgets(Budgets):
    """The budgets of a table, over the sums of a store."""

    def __init__(
        self, usage: UsageTables, table: BudgetsTable, clock: Clock, steady: Callable[[], float] = time.monotonic
    ) -> None:
        self._usage = usage
        self._table = table
        self._clock = clock
        self._steady = steady
        self._known: dict[tuple[str, str | None], tuple[float, list[UsageSum]]] = {}
        self._reading: dict[str, asyncio.Lock] = {}

    async def check(self, scope: Scope) -> None:
        for left in await self.left(scope):
            if left.used >= left.limit:
                owner = "Your" if left.whose == "user" else "The tenant's"
                refused = BudgetExhausted(
                    f"{owner} budget for this {left.period}, {plain(left.limit)} {left.unit}, is used up. "
                    f"It begins anew at {_text(left.resets_at)}.",
                    retry_after=max(1, int((left.resets_at - self._clock()).total_seconds())),
                )
                refused.budget = left.shown()
                raise refused

    async def left(self, scope: Scope) -> list[Left]:
        """Return what is left of each limit that a user and the tenant have; without what cannot be known now."""
        of_user, of_tenant = self._table.of(scope)
        found: list[Left] = []
        if of_user != NO_BUDGET:
            found += self._left("user", of_user, await self._used(scope.tenant, scope.user))
        if of_tenant != NO_BUDGET:
            found += self._left("tenant", of_tenant, await self._used(scope.tenant, None))
        return found

    async def _used(self, tenant: str, user: str | None) -> list[UsageSum]:
        """Return the sums of this month; in an outage those that were last read. Who asks for a tenant while it is
        read waits for the next time, together with all others who do."""
        if user is not None:
            return await self._read(tenant, user)
        asked_at = self._steady()
        async with self._reading.setdefault(tenant, asyncio.Lock()):
            began, known = self._known.get((tenant, None), (float("-inf"), []))
            return known if began > asked_at else await self._read(tenant, None)

    async def _read(self, tenant: str, user: str | None) -> list[UsageSum]:
        today, now = _day(self._clock()), self._steady()
        _, known = self._known.get((tenant, user), (now, []))
        try:
            known = await self._usage.of(tenant, user, today.replace(day=1), today)
        except StoreError:
            return known
        if len(self._known) >= REMEMBERED:
            self._known.clear()
            self._reading = {name: lock for name, lock in self._reading.items() if lock.locked()}
        self._known[tenant, user] = now, known
        return known

    def _left(self, whose: Whose, budget: Budget, sums: list[UsageSum]) -> list[Left]:
        today = _day(self._clock())
        month = [each for each in sums if each.day >= today.replace(day=1)]
        tomorrow, next_month = today + timedelta(days=1), (today.replace(day=28) + timedelta(days=4)).replace(day=1)
        found = []
        for period, resets_on, spent, money, tokens in (
            ("day", tomorrow, [each for each in month if each.day == today], budget.day, budget.day_tokens),
            ("month", next_month, month, budget.month, budget.month_tokens),
        ):
            resets_at = datetime(resets_on.year, resets_on.month, resets_on.day, tzinfo=UTC)
            kind: Literal["day", "month"] = "day" if period == "day" else "month"
            if money is not None:
                cost = sum((each.cost for each in spent if each.currency == self._table.currency), Decimal())
                found.append(Left(whose, kind, self._table.currency, money, cost, resets_at))
            if tokens is not None:
                used = Decimal(sum(each.input_tokens + each.output_tokens for each in spent))
                found.append(Left(whose, kind, "tokens", Decimal(tokens), used, resets_at))
        return found


def _day(moment: datetime) -> date:
    return moment.astimezone(UTC).date()
