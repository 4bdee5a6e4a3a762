"""The companies that the market assistant knows: real tickers, invented figures. `data.json` says so as well.

The file is read when something is first asked of it, never at import.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal

FICTION = "All figures are invented for demonstration."
"""Said in every answer."""

Metric = Literal["revenue", "gross_margin", "operating_margin", "eps"]
SectorKey = Literal[
    "banks",
    "utilities",
    "reits",
    "homebuilders",
    "semiconductors",
    "software",
    "hardware",
    "energy",
    "consumer",
    "health",
    "industrials",
    "autos",
    "payments",
    "telecom",
    "materials",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Sector:
    """A group of companies; `also` are other words for it, `rates` is what interest rates do to it."""

    key: SectorKey
    name: str
    also: tuple[str, ...]
    rates: str


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Company:
    """A company with one figure of each metric for each quarter, oldest first. Each exists once.

    `rate_sensitivity` goes from -100 (gains from rate hikes) to 100 (gains from cuts), `supply_risk` from 1 to 5.
    """

    ticker: str
    name: str
    aliases: tuple[str, ...]
    sector: Sector
    industry: str
    description: str
    rate_sensitivity: int
    supply_risk: int
    suppliers: tuple[str, ...]
    regions: tuple[str, ...]
    supply_note: str
    price: float
    dividend_yield: float
    figures: Mapping[Metric, tuple[float, ...]]

    def __str__(self) -> str:
        return f"{self.name} ({self.ticker})"

    def newest(self, metric: Metric) -> float:
        """Return the figure of the newest quarter."""
        return self.figures[metric][-1]

    @property
    def growth(self) -> float:
        """How much revenue grew in the newest quarter over the same one a year before, in percent."""
        revenue = self.figures["revenue"]
        return round((revenue[-1] / revenue[-5] - 1) * 100, 1)

    @property
    def price_to_earnings(self) -> float | None:
        """The price over the earnings of four quarters; None where there were losses."""
        earned = sum(self.figures["eps"][-4:])
        return round(self.price / earned, 1) if earned > 0 else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Market:
    """Everything in the data file, by ticker and by the key of a sector."""

    note: str
    quarters: tuple[str, ...]
    sectors: Mapping[SectorKey, Sector]
    companies: Mapping[str, Company]


@cache
def market() -> Market:
    """Return the data set; it is read once."""
    data = json.loads(files(__package__).joinpath("data.json").read_text("utf-8"))
    sectors = {key: Sector(key=key, **_frozen(fields)) for key, fields in data["sectors"].items()}
    companies = [_company(fields, sectors) for fields in data["companies"]]
    return Market(
        note=data["note"],
        quarters=tuple(data["quarters"]),
        sectors=sectors,
        companies={company.ticker: company for company in companies},
    )


def _company(fields: dict[str, Any], sectors: Mapping[SectorKey, Sector]) -> Company:
    metrics: tuple[Metric, ...] = ("revenue", "gross_margin", "operating_margin", "eps")
    figures = {metric: tuple(fields.pop(metric)) for metric in metrics}
    return Company(figures=figures, sector=sectors[fields.pop("sector")], **_frozen(fields))


def _frozen(fields: dict[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in fields.items()}
