"""What answers cost, by prices that the operator sets, who alone knows the contract with a provider.

The cost is stored with the answer: prices change, and the name of a model may mean another one later.
"""

from collections.abc import Mapping
from decimal import Decimal
from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from threadkeep.conversation.message import Cost, Usage

Amount = Annotated[Decimal, Field(ge=0, le=1_000_000, allow_inf_nan=False)]


class Price(BaseModel):
    """Prices of a million tokens: read by the model, read from its cache (none: as any other), and written."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    input: Amount
    cached: Amount | None = None
    output: Amount
    currency: str = Field(default="USD", pattern=r"^[A-Z]{3}$")

    def cost(self, usage: Usage) -> Cost:
        """Return the cost of some tokens; `cached_tokens` are included in `input_tokens`."""
        cached = min(usage.cached_tokens, usage.input_tokens)
        cached_price = self.input if self.cached is None else self.cached
        read = (usage.input_tokens - cached) * self.input + cached * cached_price
        amount = (read + usage.output_tokens * self.output).scaleb(-6).normalize()
        return Cost(amount=amount, currency=self.currency)


def priced(prices: Mapping[str, Price], model: str, usage: Usage | None) -> Usage | None:
    """Return the usage with its cost, by the first pattern that fits the model's name, if any does."""
    if usage is None:
        return None
    price = next((price for pattern, price in prices.items() if fnmatchcase(model, pattern)), None)
    return usage if price is None else usage.model_copy(update={"cost": price.cost(usage)})
