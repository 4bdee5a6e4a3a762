"""The table of budgets."""

from decimal import Decimal

import pytest

from threadkeep.conversation.scope import Scope
from threadkeep.settings import Settings
from threadkeep_usage.tables import Budget, BudgetsTable


def test_who_has_a_budget_of_its_own_has_not_that_of_all() -> None:
    table = BudgetsTable(
        user=Budget(day=Decimal(1)),
        users={"acme/ada": Budget(month=Decimal(9))},
        tenants={"acme": Budget(month_tokens=7)},
    )
    assert table.of(Scope(tenant="acme", user="ada")) == (Budget(month=Decimal(9)), Budget(month_tokens=7))
    assert table.of(Scope(tenant="umbrella", user="ada")) == (Budget(day=Decimal(1)), Budget())


@pytest.mark.parametrize(
    ("wrong", "about"),
    [
        ({"user": {"day": -1}}, "user.day"),
        ({"user": {"week": 1}}, "user.week"),
        ({"users": {"ada": {"day": 1}}}, 'a user is written with its tenant: "acme/ada"'),
        ({"currency": "dollars"}, "currency"),
        ({"tenant": {"month_tokens": "nan"}}, "tenant.month_tokens"),
    ],
)
def test_what_is_no_budget_is_refused_by_its_name(wrong: dict[str, object], about: str) -> None:
    with pytest.raises(ValueError, match=about):
        Settings(budgets=wrong)
