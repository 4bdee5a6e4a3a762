"""What budgets refuse."""

from collections.abc import Mapping

from threadkeep.errors import LimitReached


class BudgetExhausted(LimitReached, code="budget_exhausted"):
    """The budget for models is used up."""

    budget: Mapping[str, str]
    """Which one, how much of it is left, and when it begins anew."""
