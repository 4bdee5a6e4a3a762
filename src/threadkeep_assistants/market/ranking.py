"""Rankings: by what themes companies can be put in order, and how each of them is scored."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from threadkeep_assistants.market.companies import Company, SectorKey

Theme = Literal[
    "rate_cuts",
    "rate_hikes",
    "margins",
    "growth",
    "value",
    "size",
    "dividends",
    "supply_chain_risk",
    "supply_chain_safety",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Yardstick:
    """How a theme is measured. `lead` and `reverse_lead` begin the sentence about a list; `unit` follows a score."""

    lead: str
    reverse_lead: str
    measure: str
    unit: str
    score: Callable[[Company], float | None]
    lowest_first: bool = False
    has_two_sides: bool = False
    """Whether a score below zero means the opposite."""


YARDSTICKS: dict[Theme, Yardstick] = {
    "rate_cuts": Yardstick(
        lead="These benefit most from rate cuts",
        reverse_lead="These benefit least from rate cuts",
        measure="gain from rate cuts",
        unit=" of 100",
        score=lambda company: company.rate_sensitivity,
        has_two_sides=True,
    ),
    "rate_hikes": Yardstick(
        lead="These benefit most from rate hikes",
        reverse_lead="These benefit least from rate hikes",
        measure="gain from rate hikes",
        unit=" of 100",
        score=lambda company: -company.rate_sensitivity,
        has_two_sides=True,
    ),
    "margins": Yardstick(
        lead="These have the highest operating margins",
        reverse_lead="These have the lowest operating margins",
        measure="operating margin",
        unit="%",
        score=lambda company: company.newest("operating_margin"),
    ),
    "growth": Yardstick(
        lead="These grow fastest",
        reverse_lead="These grow slowest",
        measure="revenue growth over a year",
        unit="%",
        score=lambda company: company.growth,
    ),
    "value": Yardstick(
        lead="These are cheapest for what they earn",
        reverse_lead="These are the most expensive for what they earn",
        measure="price to earnings",
        unit=" times earnings",
        score=lambda company: company.price_to_earnings,
        lowest_first=True,
    ),
    "size": Yardstick(
        lead="These have the highest revenue",
        reverse_lead="These have the lowest revenue",
        measure="revenue of the newest quarter",
        unit=" billion dollars",
        score=lambda company: company.newest("revenue"),
    ),
    "dividends": Yardstick(
        lead="These pay the highest dividends",
        reverse_lead="These pay the lowest dividends",
        measure="dividend yield",
        unit="%",
        score=lambda company: company.dividend_yield,
    ),
    "supply_chain_risk": Yardstick(
        lead="These have the riskiest supply chains",
        reverse_lead="These have the safest supply chains",
        measure="supply chain risk",
        unit=" of 5",
        score=lambda company: company.supply_risk,
    ),
    "supply_chain_safety": Yardstick(
        lead="These have the safest supply chains",
        reverse_lead="These have the riskiest supply chains",
        measure="supply chain risk",
        unit=" of 5",
        score=lambda company: company.supply_risk,
        lowest_first=True,
    ),
}


@dataclass(frozen=True, slots=True)
class Ranked:
    """A company and its score."""

    company: Company
    score: float


class Bounds(BaseModel):
    """What a company must meet to be listed: its score, a region that it depends on, and a sector that it is not of."""

    above: float | None = None
    below: float | None = None
    region: str | None = None
    without: SectorKey | None = None

    def hold(self, found: Ranked) -> bool:
        """Whether a company meets all of it."""
        regions = [region.lower() for region in found.company.regions]
        return (
            (self.above is None or found.score > self.above)
            and (self.below is None or found.score < self.below)
            and (self.region is None or self.region.lower() in regions)
            and found.company.sector.key != self.without
        )


def ranked(companies: Iterable[Company], theme: Theme, *, reverse: bool = False) -> list[Ranked]:
    """Return companies in order of a theme, best first; without a score they are left out, equals are by ticker."""
    yardstick = YARDSTICKS[theme]
    sign = 1 if yardstick.lowest_first != reverse else -1
    scored = [Ranked(company, score) for company in companies if (score := yardstick.score(company)) is not None]
    return sorted(scored, key=lambda each: (sign * each.score, each.company.ticker))
