"""The table `[budgets]` of the settings: what users and tenants may use of models in a day and in a month (UTC)."""

import re
from decimal import Decimal
from typing import Annotated

from pydantic import AfterValidator, Field

from threadkeep.conversation.scope import Scope
from threadkeep.conversation.value import Value

Money = Annotated[Decimal, Field(ge=0, le=10**12, allow_inf_nan=False)]
Tokens = Annotated[int, Field(ge=0, le=10**15)]
_USER = re.compile(r"[^/]+/[^/]+")


def _check_user(name: str) -> str:
    if not _USER.fullmatch(name):
        raise ValueError('a user is written with its tenant: "acme/ada"')
    return name


class Budget(Value):
    """Money, in the currency of the table, and tokens, read and written. What is not set is not limited."""

    day: Money | None = None
    month: Money | None = None
    day_tokens: Tokens | None = None
    month_tokens: Tokens | None = None


NO_BUDGET = Budget()


class BudgetsTable(Value):
    """The budget of each user and of each tenant, and those of some (`users` as "tenant/user") in their place."""

    currency: str = Field(default="USD", pattern=r"^[A-Z]{3}$")
    user: Budget = NO_BUDGET
    tenant: Budget = NO_BUDGET
    users: dict[Annotated[str, AfterValidator(_check_user)], Budget] = Field(default_factory=dict)
    tenants: dict[str, Budget] = Field(default_factory=dict)

    def of(self, scope: Scope) -> tuple[Budget, Budget]:
        """Return the budgets of a user and of the tenant."""
        return self.users.get(f"{scope.tenant}/{scope.user}", self.user), self.tenants.get(scope.tenant, self.tenant)
