"""Rankings: by what themes companies can be put in order, how each of them is scored, and what limits a list."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from threadkeep_assistants.market.companies import Company, SectorKey

Theme = Literal[
    "rate_cuts", "rate_hikes", "margins", "growth", "value", "size", "dividends", "supply_chain_risk",
    "supply_chain_safety",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Yardstick:
    """How a theme is measured. With two sides a score below zero means the opposite."""

    measure: str
    unit: str
    score: Callable[[Company], float | None]
    lowest_first: bool = False
    has_two_sides: bool = False


YARDSTICKS: dict[Theme, Yardstick] = {
    "rate_cuts": Yardstick("gain from rate cuts", " of 100", lambda it: it.rate_sensitivity, has_two_sides=True),
    "rate_hikes": Yardstick("gain from rate hikes", " of 100", lambda it: -it.rate_sensitivity, has_two_sides=True),
    "margins": Yardstick("operating margin", "%", lambda it: it.newest("operating_margin")),
    "growth": Yardstick("revenue growth over a year", "%", lambda it: it.growth),
    "value": Yardstick("price to earnings", " times earnings", lambda it: it.price_to_earnings, lowest_first=True),
    "size": Yardstick("revenue of the newest quarter", " billion dollars", lambda it: it.newest("revenue")),
    "dividends": Yardstick("dividend yield", "%", lambda it: it.dividend_yield),
    "supply_chain_risk": Yardstick("supply chain risk", " of 5", lambda it: it.supply_risk),
    "supply_chain_safety": Yardstick("supply chain risk", " of 5", lambda it: it.supply_risk, lowest_first=True),
}


@dataclass(frozen=True, slots=True)
class Ranked:
    """A company and its score."""

    company: Company
    score: float


class Bounds(BaseModel):
    """What a company must meet to be listed: its score, and a sector that it is not of."""

    above: float | None = None
    below: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    without: SectorKey | None = None

    def hold(self, found: Ranked) -> bool:
        """Whether a company meets all of it."""
        return (
            (self.above is None or found.score > self.above)
            and (self.below is None or found.score < self.below)
            and (self.at_least is None or found.score >= self.at_least)
            and (self.at_most is None or found.score <= self.at_most)
            and found.company.sector.key != self.without
        )


def ranked(companies: Iterable[Company], theme: Theme, *, reverse: bool = False) -> list[Ranked]:
    """Return companies in order of a theme, best first; without a score they are left out, equals are by ticker."""
    yardstick = YARDSTICKS[theme]
    sign = 1 if yardstick.lowest_first != reverse else -1
    scored = [Ranked(company, score) for company in companies if (score := yardstick.score(company)) is not None]
    return sorted(scored, key=lambda each: (sign * each.score, each.company.ticker))
