"""The tools of the market assistant: compact JSON for a model, blocks for people, and what is kept for later turns.

The JSON begins with `shown`, the tickers in order, so that they are still there when an old result is shortened. What
was listed is kept in the state of the conversation too, because a context of 2,000 tokens does not reach back for ever.
"""

import json
from collections.abc import Sequence
from statistics import fmean
from typing import Annotated, Any

from pydantic import Field

from threadkeep.conversation.blocks import Block, Chart, Narrative, RankedList, SplitCompare, Table
from threadkeep.tools.base import ToolContext, ToolOutcome
from threadkeep.tools.decorator import tool
from threadkeep.tools.outcome import failure
from threadkeep_assistants.market import companies
from threadkeep_assistants.market.companies import FICTION, Company, Metric, Sector, SectorKey, company_of, market
from threadkeep_assistants.market.ranking import YARDSTICKS, Bounds, Ranked, Theme, ranked
from threadkeep_assistants.vocabulary.words import Text

_LIST, _COMPANY = "list ", "company"
"""Keys of the state: lists, with turn and call behind so that they are in order, and the company of the last call."""
_RISKS = {1: "low", 2: "modest", 3: "medium", 4: "high", 5: "very high"}
_LABELS: dict[Metric, tuple[str, str]] = {
    "revenue": ("revenue", " billion dollars"),
    "gross_margin": ("gross margin", "%"),
    "operating_margin": ("operating margin", "%"),
    "eps": ("earnings per share", " dollars"),
}


@tool(repeatable=True)
def describe_company(ticker: str) -> ToolOutcome:
    """Tell what a company does, what interest rates do to it, how it is priced and how its revenue went. Shows a chart.

    Args:
        ticker: Its ticker or its exact name.
    """
    company = company_of(ticker)
    if company is None:
        return _unknown(ticker)
    priced, strength = company.price_to_earnings, company.rate_sensitivity
    price = f"{priced:g} times its earnings" if priced else "while it makes losses"
    summary = (
        f"{company} belongs to {company.sector.name} ({company.industry}). {company.description} "
        f"It gains from rate {'cuts' if strength > 0 else 'hikes'} ({abs(strength)} of 100). {company.sector.rates} "
        f"It trades at {company.price:g} dollars, {price}, and pays {company.dividend_yield:g}% in dividends. "
        f"Revenue was {_figure(company, 'revenue')} in {market().quarters[-1]}, {company.growth:+g}% over a year."
    )
    caption = f"{company}, {company.sector.name}: {company.description}"
    return _told(summary, [company], caption, _chart(company, ["revenue"], market().quarters), facts=_facts(company))


@tool(repeatable=True)
def supply_chain(ticker: str) -> ToolOutcome:
    """Tell whom and which regions a company depends on for its supplies, and how risky that is.

    Args:
        ticker: Its ticker or its exact name.
    """
    company = company_of(ticker)
    if company is None:
        return _unknown(ticker)
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
def quarterly_figures(
    ticker: str,
    metrics: Annotated[list[Metric], Field(min_length=1)],
    quarters: Annotated[int, Field(ge=1, le=16)] = 12,
    period: str | None = None,
) -> ToolOutcome:
    """Tell quarterly figures of a company and show them as a chart: revenue, gross and operating margin, earnings per
    share.

    Args:
        ticker: Its ticker or its exact name.
        metrics: Which figures.
        quarters: How many quarters, the newest last.
        period: One quarter such as 2024-Q3, or one year such as 2024, instead of the newest quarters.
    """
    company, wanted, every = company_of(ticker), list(dict.fromkeys(metrics)), market().quarters
    if company is None:
        return _unknown(ticker)
    chosen = [each for each in every if each.startswith(period.upper())] if period else list(every[-quarters:])
    if not chosen:
        return failure(f"The data has no quarter {period!r}; it goes from {every[0]} to {every[-1]}.")
    first, last, is_one = every.index(chosen[0]), every.index(chosen[-1]), len(chosen) == 1
    told = []
    for metric in wanted:
        begin, end = _figure(company, metric, first), _figure(company, metric, last)
        told.append(f"its {_LABELS[metric][0]} {f'was {begin}' if is_one else f'went from {begin} to {end}'}")
    when = f"in {chosen[0]}" if is_one else f"between {chosen[0]} and {chosen[-1]}"
    caption = f"Quarterly {_listed([_LABELS[metric][0] for metric in wanted])} of {company}."
    facts: dict[str, Any] = {
        "first": chosen[0],
        **{metric: company.figures[metric][first : last + 1] for metric in wanted},
    }
    summary, chart = f"{company}: {when} {_listed(told)}.", _chart(company, wanted, chosen)
    return _told(summary, [company], caption, chart, facts=facts)


@tool(repeatable=True)
def compare_companies(left: str, right: str) -> ToolOutcome:
    """Compare two companies side by side: rates, supply chain, margins, growth, price.

    Args:
        left: Ticker or exact name of the company that the conversation is about.
        right: Ticker or exact name of the other one.
    """
    one, other = company_of(left), company_of(right)
    if one is None or other is None:
        return _unknown(left if one is None else right)
    if one is other:
        return failure(f"{one} cannot be compared with itself; name another company.")
    sides = _facts(one), _facts(other)
    parts = [f"{name.lower()} {sides[0][name]} against {sides[1][name]}" for name in sides[0] if name != "Sector"]
    block = SplitCompare(leftTitle=str(one), rightTitle=str(other), left=sides[0], right=sides[1])
    facts: dict[str, Any] = {one.ticker: sides[0], other.ticker: sides[1]}
    summary = f"Compared {one} vs {other}: {_listed(parts)}."
    return _told(summary, [one, other], f"{one.name} beside {other.name}.", block, facts=facts, is_first=True)


@tool(repeatable=True)
def rank_stocks(
    context: ToolContext,
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
        bounds: Which of them count: by the figure that is ranked, by a region that they depend on, without a sector.
        limit: How many to show.
        reverse: Worst first, for example the lowest margins or the most expensive stocks.
    """
    if strange := next((text for text in tickers or () if company_of(text) is None), None):
        return _unknown(strange)
    chosen = [company_of(text) for text in tickers] if tickers else list(market().companies.values())
    kept = [each for each in chosen if each and sector in (None, each.sector.key)]
    best = [each for each in ranked(kept, theme, reverse=reverse) if bounds is None or bounds.hold(each)][:limit]
    if not best:
        return _told("No company in the data fits.", [])
    title = _title(theme, best, reverse=reverse)
    title += f" among {market().sectors[sector].name}" if sector else ""
    title += f" of those that depend on {bounds.region}" if bounds and bounds.region else ""
    asked: dict[str, Any] = {"theme": theme, "sector": sector, "tickers": tickers, "limit": limit, "reverse": reverse}
    asked["bounds"] = bounds.model_dump(exclude_none=True) if bounds else None
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
        state=_kept(context, {name: value for name, value in asked.items() if value}, shown),
        is_first=True,
    )


@tool(repeatable=True)
def rank_sectors(context: ToolContext, theme: Theme, reverse: bool = False) -> ToolOutcome:
    """Rank whole sectors by the average of their companies, and name the first company of each. Shows a table.

    Args:
        theme: What to rank by.
        reverse: Worst first.
    """
    groups = [ranked(_companies_of(sector), theme, reverse=reverse) for sector in market().sectors.values()]
    means = [Ranked(group[0].company, round(fmean(each.score for each in group), 1)) for group in groups if group]
    means.sort(key=lambda each: each.score if YARDSTICKS[theme].lowest_first != reverse else -each.score)
    shown, measure = [each.company for each in means[:5]], f"average {YARDSTICKS[theme].measure}"
    listed = _numbered([f"{each.company.sector.name} ({each.score:g})" for each in means[:5]])
    rows = [[each.company.sector.name, each.score, str(each.company)] for each in means]
    table = Table(columns=["Sector", measure.capitalize(), "First of it"], rows=rows)
    summary = f"Sectors by their {measure}{', worst first' if reverse else ''}: {listed}. {shown[0].sector.rates}"
    state = _kept(context, {"text": "sectors"}, shown)
    return _told(summary, shown, f"Sectors ordered by their {measure}.", table, state=state)


@tool(repeatable=True)
def find_companies(context: ToolContext, text: str = "") -> ToolOutcome:
    """Find companies in the data by name, ticker, sector or industry, also with a slip in the name. An empty text lists
    the sectors with all their companies.

    Args:
        text: A name, a ticker, a sector or an industry.
    """
    words, asked, sectors = Text(text), text.strip()[:100], market().sectors.values()
    if not asked:
        rows = [[each.name, ", ".join(company.ticker for company in _companies_of(each))] for each in sectors]
        count = f"{len(market().companies)} companies in {len(rows)} sectors"
        summary = f"I know {count}: {', '.join(each.name for each in sectors)}."
        return _told(summary, [], f"{count}.", Table(columns=["Sector", "Tickers"], rows=rows))
    found = [company for _, company in companies.companies_in(words)]
    found = found or [company for _, sector in companies.sectors_in(words)[:1] for company in _companies_of(sector)]
    industry = words.line.strip()
    found = found or [each for each in market().companies.values() if industry and industry in each.industry]
    found = found or companies.close_to(text)
    if not found:
        return _told(f"Nothing in the data is called {asked!r}. Ask for the sectors to see what there is.", [])
    known = _numbered(list(map(str, found))) if len(found) > 1 else f"{found[0]}: {found[0].description.rstrip('.')}"
    rows = [[each.ticker, each.name, each.sector.name, each.industry] for each in found]
    caption = f"Found for {asked!r}: {', '.join(str(each) for each in found[:5])}."
    table = Table(columns=["Ticker", "Name", "Sector", "Industry"], rows=rows)
    return _told(f"I know {known}.", found, caption, table, state=_kept(context, {"text": asked}, found))


@tool(repeatable=True)
def earlier_lists(context: ToolContext) -> ToolOutcome:
    """Every list that was shown in this conversation, oldest first, and the company that was looked at last. Use it
    when the person refers to a list or a company that you do not see any more."""
    values = context.state.values
    lists = [values[key] for key in sorted(values) if key.startswith(_LIST)]
    named = "; ".join(f"{place}. {', '.join(each['shown'])}" for place, each in enumerate(lists, 1))
    summary = f"The lists of this conversation: {named}." if lists else "No list was shown yet."
    return _told(summary, [], facts={"lists": lists, _COMPANY: values.get(_COMPANY)})


def _told(
    summary: str,
    shown: Sequence[Company],
    caption: str = "",
    block: Block | None = None,
    *,
    facts: dict[str, Any] | None = None,
    state: dict[str, Any] | None = None,
    is_first: bool = False,
) -> ToolOutcome:
    """Return what a tool found. `summary` can be read out; the caption stands for an old answer, behind the block or
    before it."""
    value = {"shown": [company.ticker for company in shown], "summary": summary, **(facts or {}), "note": FICTION}
    content = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    blocks: list[Block] = [Narrative(text=f"{caption} {FICTION}"), block] if block else []
    looked_at = {_COMPANY: shown[0].ticker} if shown else {}
    return ToolOutcome(
        content=content, blocks=tuple(blocks[::-1] if is_first else blocks), state=looked_at | (state or {})
    )


def _kept(context: ToolContext, args: dict[str, Any], shown: Sequence[Company]) -> dict[str, Any]:
    """Return what the state keeps of a list."""
    key = f"{_LIST}{context.turn:09d} {context.call_id}"
    return {key: {"args": args, "shown": [each.ticker for each in shown]}}


def _unknown(text: str) -> ToolOutcome:
    """Return the failure of a call that names a company which is not in the data, with the closest ones that are."""
    close = " or ".join(str(each) for each in companies.close_to(text))
    meant = f"Did you mean {close}?" if close else "find_companies lists those that are."
    return failure(f"{text.strip()[:100]!r} is not in the data. {meant}")


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
    equals = [each.company.name for each in best if each.score == best[0].score]
    place = f"{first.name} comes first" if len(equals) == 1 else f"{_listed(equals)} share the first place"
    listed = _numbered([str(each.company) for each in best])
    return f"{title}: {listed}. {place} with {best[0].score:g}{yardstick.unit}.{why}"


def _facts(company: Company) -> dict[str, str]:
    """Return what matters of a company, in words that people and models read."""
    priced = company.price_to_earnings
    return {
        "Sector": company.sector.name,
        "Rate sensitivity": f"{company.rate_sensitivity} of 100",
        "Supply chain risk": f"{company.supply_risk} of 5",
        "Gross margin": _figure(company, "gross_margin"),
        "Operating margin": _figure(company, "operating_margin"),
        "Revenue growth": f"{company.growth:+g}%",
        "Price to earnings": f"{priced:g}" if priced else "no earnings",
        "Dividend yield": f"{company.dividend_yield:g}%",
    }


def _figure(company: Company, metric: Metric, place: int = -1) -> str:
    """Return a figure with its unit, of the newest quarter unless another place is given."""
    return f"{company.figures[metric][place]:g}{_LABELS[metric][1]}"


def _listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence: a, b and c."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def _numbered(words: Sequence[str]) -> str:
    return ", ".join(f"{place}. {word}" for place, word in enumerate(words, 1))


def _chart(company: Company, metrics: Sequence[Metric], quarters: Sequence[str]) -> Chart:
    """Return a line for each metric over some quarters."""
    series: list[dict[str, Any]] = []
    for metric in metrics:
        figures = dict(zip(market().quarters, company.figures[metric], strict=True))
        points = [{"x": name, "y": figures[name]} for name in quarters]
        name, unit = f"{company.ticker} {_LABELS[metric][0]}", _LABELS[metric][1].strip()
        series.append({"name": name, "unit": unit, "points": points})
    units = ", ".join(dict.fromkeys(each["unit"] for each in series))
    extra: dict[str, Any] = {"title": f"{company}, by quarter", "unit": units}
    return Chart(chart="line", series=series, **extra)
