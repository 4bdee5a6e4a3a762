"""What is left of a budget, and when it begins anew."""

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from threadkeep.errors import StoreUnavailable
from threadkeep.runtime import open_store
from threadkeep.store.usage import UsageSum, UsageTables
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, BOB, EVE
from threadkeep_usage.budgets import SpentBudgets
from threadkeep_usage.errors import BudgetExhausted
from threadkeep_usage.tables import Budget, BudgetsTable

DAY = 86_400


def spent(day: date, tokens: int = 10, cost: str = "0", currency: str = "USD") -> UsageSum:
    return UsageSum(day, "m", currency, 1, tokens, 0, 0, Decimal(cost))


async def refused(budgets: SpentBudgets) -> dict[str, str]:
    with pytest.raises(BudgetExhausted) as caught:
        await budgets.check(ADA)
    return dict(caught.value.budget)


async def test_a_budget_ends_at_its_limit_and_begins_anew_the_next_day_and_month() -> None:
    store, clock = await open_store("memory:"), FakeClock(datetime(2026, 11, 30, 23, 0, tzinfo=UTC))
    usage, table = store.operations.usage, BudgetsTable(user=Budget(day_tokens=20, month=Decimal("1.5")))
    budgets = SpentBudgets(usage, table, clock)
    await usage.add(
        ADA, [spent(date(2026, 11, 30), 19), spent(date(2026, 11, 2), 500, "1.4"), spent(date(2026, 10, 31), 500)]
    )
    await usage.add(BOB, [spent(date(2026, 11, 30), 500)])
    await budgets.check(ADA)
    await usage.add(ADA, [spent(date(2026, 11, 30), 1)])
    day = await refused(budgets)
    assert day == {
        "whose": "user",
        "period": "day",
        "unit": "tokens",
        "limit": "20",
        "used": "20",
        "remaining": "0",
        "resets_at": "2026-12-01T00:00:00Z",
    }
    clock.advance(-DAY)
    await budgets.check(ADA)
    await usage.add(ADA, [spent(date(2026, 11, 3), 1, "0.1"), spent(date(2026, 11, 3), 1, "90", "EUR")])
    month = await refused(budgets)
    assert (month["period"], month["used"], month["resets_at"]) == ("month", "1.5", "2026-12-01T00:00:00Z")
    clock.advance(2 * DAY)
    await budgets.check(ADA)
    await store.close()


async def test_a_tenants_budget_is_of_all_its_users_and_of_nobody_elses() -> None:
    store, clock = await open_store("memory:"), FakeClock(datetime(2026, 2, 1, tzinfo=UTC))
    usage = store.operations.usage
    budgets = SpentBudgets(usage, BudgetsTable(tenant=Budget(month_tokens=15)), clock)
    await usage.add(BOB, [spent(date(2026, 2, 1))])
    await usage.add(EVE, [spent(date(2026, 2, 1), 500)])
    await budgets.check(ADA)
    await usage.add(BOB, [spent(date(2026, 2, 1))])
    assert (await refused(budgets))["whose"] == "tenant"
    await store.close()


class _Away(UsageTables):
    """Sums that can be read once."""

    def __init__(self, tables: UsageTables) -> None:
        self.of_before, self.reads = tables.of, 0

    async def of(self, tenant: str, user: str | None, since: date, until: date) -> list[UsageSum]:
        self.reads += 1
        if self.reads > 1:
            raise StoreUnavailable
        return await self.of_before(tenant, user, since, until)

    users = add = None  # type: ignore[assignment]


async def test_in_an_outage_what_was_last_known_counts_and_who_is_not_known_is_let_in() -> None:
    store, clock = await open_store("memory:"), FakeClock(datetime(2026, 2, 1, tzinfo=UTC))
    await store.operations.usage.add(ADA, [spent(date(2026, 2, 1))])
    budgets = SpentBudgets(_Away(store.operations.usage), BudgetsTable(user=Budget(day_tokens=5)), clock)
    for _ in range(2):
        await refused(budgets)
    await budgets.check(BOB)
    await store.close()
