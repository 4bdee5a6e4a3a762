"""The tools of the market assistant: compact JSON for a model, and blocks for people.

The JSON begins with `shown`, the tickers in order, so that they are still there when an old result is shortened.
"""

import json
from collections.abc import Sequence
from typing import Annotated, Any

from pydantic import Field

from threadkeep.conversation.blocks import Block, Chart, Narrative, RankedList, SplitCompare, Table
from threadkeep.errors import InvalidValue
from threadkeep.tools.base import ToolOutcome
from threadkeep.tools.decorator import tool
from threadkeep_assistants.market import companies
from threadkeep_assistants.market.companies import FICTION, Company, Sector, SectorKey, company_of, market
from threadkeep_assistants.market.ranking import YARDSTICKS, Bounds, Ranked, Theme, ranked
from threadkeep_assistants.vocabulary.words import Text

_LEADING = ("ranked_list", "split_compare")
_RISKS = {1: "low", 2: "modest", 3: "medium", 4: "high", 5: "very high"}


@tool(repeatable=True)
def describe_company(ticker: str) -> ToolOutcome:
    """Tell what a company does, what interest rates do to it, its price, revenue, margins and earnings.

    Args:
        ticker: Its ticker or its exact name.
    """
    company = _known(ticker)
    priced, strength = company.price_to_earnings, company.rate_sensitivity
    price = f"{priced:g} times its earnings" if priced else "while it makes losses"
    summary = (
        f"{company} belongs to {company.sector.name} ({company.industry}). {company.description} "
        f"It gains from rate {'cuts' if strength > 0 else 'hikes'} ({abs(strength)} of 100). {company.sector.rates} "
        f"It trades at {company.price:g} dollars, {price}, and pays {company.dividend_yield:g}% in dividends. "
        f"In {market().quarters[-1]} its revenue was {company.newest('revenue'):g} billion dollars, "
        f"{company.growth:+g}% over a year, its gross margin {company.newest('gross_margin'):g}%, its operating margin "
        f"{company.newest('operating_margin'):g}%, and it earned {company.newest('eps'):g} dollars a share."
    )
    caption = f"{company}, {company.sector.name}: {company.description}"
    return _told(summary, [company], caption, _chart(company), facts=_facts(company))


@tool(repeatable=True)
def supply_chain(ticker: str) -> ToolOutcome:
    """Tell whom and which regions a company depends on for its supplies, and how risky that is.

    Args:
        ticker: Its ticker or its exact name.
    """
    company = _known(ticker)
    risk = f"{_RISKS[company.supply_risk]}, {company.supply_risk} of 5"
    summary = (
        f"The supply chain risk of {company} is {risk}. It depends on {_listed(company.suppliers)}, "
        f"mostly in {_listed(company.regions)}. {company.supply_note}"
    )
    rows = [["Risk", risk], ["Suppliers", ", ".join(company.suppliers)], ["Regions", ", ".join(company.regions)]]
    table = Table(columns=["Supply chain", company.ticker], rows=rows)
    facts: dict[str, Any] = {"risk": company.supply_risk, "suppliers": company.suppliers, "regions": company.regions}
    return _told(summary, [company], f"Supply chain of {company}: risk {risk}.", table, facts=facts)


@tool(repeatable=True)
def compare_companies(left: str, right: str) -> ToolOutcome:
    """Compare two companies side by side: rates, supply chain, margins, growth, price.

    Args:
        left: Ticker or exact name of the company that the conversation is about.
        right: Ticker or exact name of the other one.
    """
    one, other = _known(left), _known(right)
    if one is other:
        raise InvalidValue(f"{one} cannot be compared with itself; name another company.")
    sides = _facts(one), _facts(other)
    parts = [f"{name.lower()} {sides[0][name]} against {sides[1][name]}" for name in sides[0] if name != "Sector"]
    block = SplitCompare(leftTitle=str(one), rightTitle=str(other), left=sides[0], right=sides[1])
    facts: dict[str, Any] = {one.ticker: sides[0], other.ticker: sides[1]}
    summary = f"Compared {one} vs {other}: {_listed(parts)}."
    return _told(summary, [one, other], f"{one.name} beside {other.name}.", block, facts=facts)


@tool(repeatable=True)
def rank_stocks(
    theme: Theme,
    sector: SectorKey | None = None,
    tickers: list[str] | None = None,
    bounds: Bounds | None = None,
    limit: Annotated[int, Field(ge=1, le=20)] = 5,
    reverse: bool = False,
) -> ToolOutcome:
    """Rank stocks by a theme, best first: who benefits from rate cuts or hikes, who has high margins, growth or
    dividends, who is cheap (value) or large (size), whose supply chain is risky or safe. Shows a ranked list.

    Args:
        theme: What to rank by.
        sector: Rank only this sector.
        tickers: Rank only these companies, for example those of an earlier list.
        bounds: Which of them count: by the figure that is ranked, without a sector.
        limit: How many to show.
        reverse: Worst first, for example the lowest margins or the most expensive stocks.
    """
    chosen = list(map(_known, tickers)) if tickers else list(market().companies.values())
    kept = [each for each in chosen if sector in (None, each.sector.key)]
    best = [each for each in ranked(kept, theme, reverse=reverse) if bounds is None or bounds.hold(each)][:limit]
    if not best:
        return _told("No company in the data fits.", [])
    title = _title(theme, best, reverse=reverse)
    title += f" among {market().sectors[sector].name}" if sector else ""
    rows = [
        {"rank": place, "ticker": each.company.ticker, "name": each.company.name, "score": each.score}
        | {"sector": each.company.sector.name, "industry": each.company.industry}
        for place, each in enumerate(best, 1)
    ]
    measure, shown = YARDSTICKS[theme].measure, [each.company for each in best]
    extra: dict[str, Any] = {"title": title, "measure": measure, "unit": YARDSTICKS[theme].unit.strip()}
    return _told(
        _sentence(title, theme, best),
        shown,
        f"Ordered by {measure}.",
        RankedList(rows=rows, **extra),
        facts={"rows": [[each.company.ticker, each.company.name, each.score] for each in best]},
    )


@tool(repeatable=True)
def find_companies(text: str = "") -> ToolOutcome:
    """Find companies in the data by name, ticker or sector, also with a slip in the name. An empty text lists the
    sectors with all their companies.

    Args:
        text: A name, a ticker or a sector.
    """
    words, asked, sectors = Text(text), text.strip()[:100], market().sectors.values()
    if not asked:
        rows = [[each.name, ", ".join(company.ticker for company in _companies_of(each))] for each in sectors]
        count = f"{len(market().companies)} companies in {len(rows)} sectors"
        summary = f"I know {count}: {', '.join(each.name for each in sectors)}."
        return _told(summary, [], f"{count}.", Table(columns=["Sector", "Tickers"], rows=rows))
    found = [company for _, company in companies.companies_in(words)]
    found = found or [company for _, sector in companies.sectors_in(words)[:1] for company in _companies_of(sector)]
    found = found or companies.close_to(text)
    if not found:
        return _told(f"Nothing in the data is called {asked!r}. Ask for the sectors to see what there is.", [])
    known = _numbered(list(map(str, found))) if len(found) > 1 else f"{found[0]}: {found[0].description.rstrip('.')}"
    return _told(f"I know {known}.", found)


def _told(
    summary: str,
    shown: Sequence[Company],
    caption: str = "",
    block: Block | None = None,
    *,
    facts: dict[str, Any] | None = None,
) -> ToolOutcome:
    """Return what a tool found. `summary` can be read out; the caption stands for an old answer, behind a list or a
    comparison and before anything else."""
    value = {"shown": [company.ticker for company in shown], "summary": summary, **(facts or {}), "note": FICTION}
    content = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    blocks: list[Block] = [Narrative(text=f"{caption} {FICTION}"), block] if block else []
    return ToolOutcome(content=content, blocks=tuple(sorted(blocks, key=lambda each: each.type not in _LEADING)))


def _known(text: str) -> Company:
    """Return the company of that ticker or name. Raises InvalidValue with the closest ones where there is none."""
    if company := company_of(text):
        return company
    close = " or ".join(str(each) for each in companies.close_to(text))
    meant = f"Did you mean {close}?" if close else "find_companies lists those that are."
    raise InvalidValue(f"{text.strip()[:100]!r} is not in the data. {meant}")


def _companies_of(sector: Sector) -> list[Company]:
    return [company for company in market().companies.values() if company.sector == sector]


def _title(theme: Theme, best: list[Ranked], *, reverse: bool) -> str:
    yardstick = YARDSTICKS[theme]
    if yardstick.has_two_sides and not reverse and best[0].score <= 0:
        return f"None has a {yardstick.measure}; these lose least"
    return f"The {'lowest' if yardstick.lowest_first != reverse else 'highest'} {yardstick.measure}"


def _sentence(title: str, theme: Theme, best: list[Ranked]) -> str:
    yardstick, first = YARDSTICKS[theme], best[0].company
    why = f" {first.sector.rates}" if yardstick.has_two_sides else ""
    why = f" {first.supply_note}" if "supply chain" in yardstick.measure else why
    listed = _numbered([str(each.company) for each in best])
    return f"{title}: {listed}. {first.name} comes first with {best[0].score:g}{yardstick.unit}.{why}"


def _facts(company: Company) -> dict[str, str]:
    """Return what matters of a company, in words that people and models read."""
    priced = company.price_to_earnings
    return {
        "Sector": company.sector.name,
        "Rate sensitivity": f"{company.rate_sensitivity} of 100",
        "Supply chain risk": f"{company.supply_risk} of 5",
        "Gross margin": f"{company.newest('gross_margin'):g}%",
        "Operating margin": f"{company.newest('operating_margin'):g}%",
        "Revenue growth": f"{company.growth:+g}%",
        "Price to earnings": f"{priced:g}" if priced else "no earnings",
        "Dividend yield": f"{company.dividend_yield:g}%",
    }


def _listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence: a, b and c."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def _numbered(words: Sequence[str]) -> str:
    return ", ".join(f"{place}. {word}" for place, word in enumerate(words, 1))


def _chart(company: Company) -> Chart:
    """Return the revenue of a company as a line."""
    pairs = zip(market().quarters, company.figures["revenue"], strict=True)
    points = [{"x": quarter, "y": figure} for quarter, figure in pairs]
    extra: dict[str, Any] = {"title": f"{company}, by quarter", "unit": "billion dollars"}
    return Chart(chart="line", series=[{"name": f"{company.ticker} revenue", "points": points}], **extra)
