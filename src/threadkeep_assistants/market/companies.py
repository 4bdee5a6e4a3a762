"""The companies that the market assistant knows, and their names, sectors and regions in what people write.

Tickers are real, figures are invented; `data.json` says so as well. It is read when something is first asked of it.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from threadkeep_assistants.vocabulary.scanning import word_set
from threadkeep_assistants.vocabulary.words import Text

FICTION = "All figures are invented for demonstration."
"""Said in every answer."""

Metric = Literal["revenue", "gross_margin", "operating_margin", "eps"]
SectorKey = Literal[
    "banks", "utilities", "reits", "homebuilders", "semiconductors", "software", "hardware", "energy", "consumer",
    "health", "industrials", "autos", "payments", "telecom", "materials",
]  # fmt: skip

_LONGEST = 5
"""Words in the longest name that is looked for."""
_WORDS = word_set("c cat cost de f low ma mu now o so t v")
"""Tickers that are words or letters too: they count in capitals only."""


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


def company_of(name: str) -> Company | None:
    """Return the company with exactly this ticker or name, in any case; None if there is none."""
    return market().companies.get(name.strip().lstrip("$").upper()) or _by_name().get(_key(Text(name)))


def close_to(name: str, most: int = 3) -> list[Company]:
    """Return companies whose ticker or name looks like a text, the likeliest first."""
    known = {ticker.lower(): company for ticker, company in market().companies.items()} | _by_name()
    found = [known[each] for each in get_close_matches(_key(Text(name)), known, n=most * 2, cutoff=0.72)]
    return list(dict.fromkeys(found))[:most]


def companies_in(text: Text) -> list[tuple[int, Company]]:
    """Return the companies that a text names and where, in order, each once. The longest name wins."""
    found, at = dict[Company, int](), 0
    is_shouted = all(word.written.isupper() for word in text.words if word.text.isalpha())
    while at < len(text.words):
        keys = [(_key(text, at, at + length), length) for length in range(min(_LONGEST, len(text.words) - at), 0, -1)]
        named = next(((_by_name()[key], length) for key, length in keys if key in _by_name()), None)
        ticker = _by_ticker(text, at, is_shouted=is_shouted)
        company, length = named or (ticker, 1)
        if company:
            found.setdefault(company, at)
        at += length
    return [(at, company) for company, at in found.items()]


def sectors_in(text: Text) -> list[tuple[int, Sector]]:
    """Return the sectors that a text names and where, in order; a central bank is no bank."""
    line, found = text.line.replace(" central bank", " central_bank"), dict[str, tuple[int, Sector]]()
    for word, sector in _sector_words():
        if (place := line.find(word)) >= 0:
            found.setdefault(sector.key, (line.count(" ", 0, place), sector))
            line = line.replace(word, f" {'_ ' * (word.count(' ') - 1)}")
    return sorted(found.values(), key=lambda pair: pair[0])


def _by_ticker(text: Text, at: int, *, is_shouted: bool) -> Company | None:
    word = text.words[at]
    is_capital = word.sign == "$" or (word.text.upper() in word.written and not is_shouted)
    return None if word.text in _WORDS and not is_capital else market().companies.get(word.text.upper())


def _key(text: Text, start: int = 0, end: int | None = None) -> str:
    """Return words as names are compared: without spaces and signs, so that "J.P. Morgan" is "JPMorgan"."""
    return "".join(word.text for word in text.words[start:end]).replace("&", "").replace("'", "")


@cache
def _by_name() -> dict[str, Company]:
    return {_key(Text(name)): each for each in market().companies.values() for name in (each.name, *each.aliases)}


@cache
def _sector_words() -> tuple[tuple[str, Sector], ...]:
    words = [
        (Text(word).line, each) for each in market().sectors.values() for word in (each.key, each.name, *each.also)
    ]
    return tuple(sorted(words, key=lambda pair: -len(pair[0])))
