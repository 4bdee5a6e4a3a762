"""The tools of the market assistant: compact JSON for a model, blocks for people, and what is kept for later turns.

The JSON begins with `shown`, the tickers in order, so that they are still there when an old result is shortened. What
was listed is kept in the state of the conversation too, because a context of 2,000 tokens does not reach back for ever.
"""

import json
from collections.abc import Iterable, Sequence
from statistics import fmean
from typing import Annotated, Any

from pydantic import Field

from threadkeep.conversation.blocks import Block, Chart, Narrative, RankedList, SplitCompare, Table
from threadkeep.tools.base import ToolContext, ToolOutcome
from threadkeep.tools.decorator import tool
from threadkeep.tools.outcome import failure
from threadkeep_assistants.market.companies import (
    FICTION,
    Company,
    Metric,
    Sector,
    SectorKey,
    close_to,
    companies_in,
    company_of,
    market,
    sectors_in,
)
from threadkeep_assistants.market.ranking import YARDSTICKS, Bounds, Ranked, Theme, Yardstick, ranked
from threadkeep_assistants.vocabulary.words import Text

_LIST = "list "
"""How the keys of kept lists begin; turn and call follow, so that they are in order and never the same."""
_COMPANY = "company"
"""The key of the company that was looked at last."""
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
    return _told(
        summary,
        (company,),
        _caption(f"{company}, {company.sector.name}: {company.description}"),
        _chart(company, ("revenue",), market().quarters),
        facts=_facts(company),
        state={_COMPANY: company.ticker},
    )


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
    rows = [["Risk", risk], ["Suppliers", ", ".join(company.suppliers)], ["Regions", ", ".join(company.regions)]]
    return _told(
        f"The supply chain risk of {company} is {risk}. It depends on {_listed(company.suppliers)}, "
        f"mostly in {_listed(company.regions)}. {company.supply_note}",
        (company,),
        _caption(f"Supply chain of {company}: risk {risk}. {company.supply_note}"),
        Table(columns=["Supply chain", company.ticker], rows=rows),
        facts={"risk": company.supply_risk, "suppliers": company.suppliers, "regions": company.regions},
        state={_COMPANY: company.ticker},
    )


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
    company, wanted, every = company_of(ticker), tuple(dict.fromkeys(metrics)), market().quarters
    if company is None:
        return _unknown(ticker)
    chosen = [each for each in every if each.startswith(period.upper())] if period else list(every[-quarters:])
    if not chosen:
        return failure(f"The data has no quarter {period!r}; it goes from {every[0]} to {every[-1]}.")
    first, last = every.index(chosen[0]), every.index(chosen[-1])
    if len(chosen) == 1:
        parts = [f"its {_LABELS[metric][0]} was {_figure(company, metric, first)}" for metric in wanted]
        summary = f"{company}: in {chosen[0]} {_listed(parts)}."
    else:
        parts = [
            f"its {_LABELS[metric][0]} went from {_figure(company, metric, first)} to {_figure(company, metric, last)}"
            for metric in wanted
        ]
        summary = f"{company}: between {chosen[0]} and {chosen[-1]} {_listed(parts)}."
    return _told(
        summary,
        (company,),
        _caption(f"Quarterly {_listed([_LABELS[metric][0] for metric in wanted])} of {company}."),
        _chart(company, wanted, chosen),
        facts={"first": chosen[0], **{metric: company.figures[metric][first : last + 1] for metric in wanted}},
        state={_COMPANY: company.ticker},
    )


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
    left_facts, right_facts = _facts(one), _facts(other)
    parts = [
        f"{name.lower()} {left_facts[name]} against {right_facts[name]}" for name in left_facts if name != "Sector"
    ]
    return _told(
        f"Compared {one} vs {other}: {_listed(parts)}.",
        (one, other),
        SplitCompare(leftTitle=str(one), rightTitle=str(other), left=left_facts, right=right_facts),
        _caption(f"{one.name} beside {other.name}."),
        facts={one.ticker: left_facts, other.ticker: right_facts},
        state={_COMPANY: one.ticker},
    )


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
        return _told("No company in the data fits.", ())
    yardstick = YARDSTICKS[theme]
    title = _title(yardstick, market().sectors[sector] if sector else None, best, reverse=reverse)
    title += f" of those that depend on {bounds.region}" if bounds and bounds.region else ""
    asked: dict[str, Any] = {"theme": theme, "sector": sector, "tickers": tickers, "limit": limit, "reverse": reverse}
    asked["bounds"] = bounds.model_dump(exclude_none=True) if bounds else None
    rows: list[dict[str, Any]] = [
        {"rank": place, "ticker": each.company.ticker, "name": each.company.name, "score": each.score}
        | {"sector": each.company.sector.name, "industry": each.company.industry}
        for place, each in enumerate(best, 1)
    ]
    extra: dict[str, Any] = {"title": title, "measure": yardstick.measure, "unit": yardstick.unit.strip()}
    return _told(
        _sentence(title, yardstick, best),
        [each.company for each in best],
        RankedList(rows=rows, **extra),
        _caption(f"Ordered by {yardstick.measure}."),
        facts={"rows": [[each.company.ticker, each.company.name, each.score] for each in best]},
        state=_kept(context, {name: value for name, value in asked.items() if value}, [e.company for e in best]),
    )


@tool(repeatable=True)
def rank_sectors(context: ToolContext, theme: Theme, reverse: bool = False) -> ToolOutcome:
    """Rank whole sectors by the average of their companies, and name the best company of each. Shows a table.

    Args:
        theme: What to rank by.
        reverse: Worst first.
    """
    yardstick, sign = YARDSTICKS[theme], 1 if YARDSTICKS[theme].lowest_first != reverse else -1
    groups = [ranked(_companies_of(sector), theme, reverse=reverse) for sector in market().sectors.values()]
    means = sorted(((round(fmean(e.score for e in group), 1), group[0].company) for group in groups if group),
                   key=lambda pair: sign * pair[0])  # fmt: skip
    best, first = [company for _, company in means], means[0][1].sector
    listed = ", ".join(
        f"{place}. {company.sector.name} ({mean:g})" for place, (mean, company) in enumerate(means[:5], 1)
    )
    return _told(
        f"Sectors by their average {yardstick.measure}{' (worst first)' if reverse else ''}: {listed}. {first.rates}",
        best[:5],
        _caption(f"Sectors ordered by their average {yardstick.measure}."),
        Table(
            columns=["Sector", f"Average {yardstick.measure}", "First of it"],
            rows=[[company.sector.name, mean, str(company)] for mean, company in means],
        ),
        state=_kept(context, {"text": "sectors"}, best[:5]),
    )


@tool(repeatable=True)
def find_companies(context: ToolContext, text: str = "") -> ToolOutcome:
    """Find companies in the data by name, ticker, sector or industry, also with a slip in the name. An empty text lists
    the sectors with all their companies.

    Args:
        text: A name, a ticker, a sector or an industry.
    """
    if not text.strip():
        return _catalogue()
    found, asked = _found(text), text.strip()[:100]
    if not found:
        return _told(f"Nothing in the data is called {asked!r}. Ask for the sectors to see what there is.", ())
    listed = ", ".join(f"{place}. {company}" for place, company in enumerate(found, 1))
    return _told(
        f"I know {listed}." if len(found) > 1 else f"I know {found[0]}: {found[0].description}",
        found,
        _caption(f"Found for {asked!r}: {', '.join(str(each) for each in found[:5])}."),
        Table(
            columns=["Ticker", "Name", "Sector", "Industry"],
            rows=[[each.ticker, each.name, each.sector.name, each.industry] for each in found],
        ),
        state=_kept(context, {"text": asked}, found),
    )


@tool(repeatable=True)
def earlier_lists(context: ToolContext) -> ToolOutcome:
    """Every list that was shown in this conversation, oldest first, and the company that was looked at last. Use it
    when the person refers to a list or a company that you do not see any more."""
    values = context.state.values
    lists = [values[key] for key in sorted(values) if key.startswith(_LIST)]
    named = "; ".join(f"{place}. {', '.join(each['shown'])}" for place, each in enumerate(lists, 1))
    summary = f"The lists of this conversation: {named}." if lists else "No list was shown yet."
    return _told(summary, (), facts={"lists": lists, _COMPANY: values.get(_COMPANY)})


def _told(
    summary: str,
    shown: Iterable[Company],
    *blocks: Block,
    facts: dict[str, Any] | None = None,
    state: dict[str, Any] | None = None,
) -> ToolOutcome:
    """Return what a tool found; `summary` can be read out as it is."""
    value = {"shown": [company.ticker for company in shown], "summary": summary, **(facts or {}), "note": FICTION}
    content = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return ToolOutcome(content=content, blocks=blocks, state=state or {})


def _kept(context: ToolContext, args: dict[str, Any], shown: Sequence[Company]) -> dict[str, Any]:
    """Return what the state keeps of a list."""
    entry = {"args": args, "shown": [each.ticker for each in shown]}
    return {f"{_LIST}{context.turn:09d} {context.call_id}": entry, _COMPANY: shown[0].ticker}


def _caption(text: str) -> Narrative:
    """Return the words beside lists and charts: they stand for an old answer, and say what the figures are."""
    return Narrative(text=f"{text} {FICTION}")


def _unknown(text: str) -> ToolOutcome:
    """Return the failure of a call that names a company which is not in the data, with the closest ones that are."""
    close = " or ".join(str(each) for each in close_to(text))
    meant = f"Did you mean {close}?" if close else "find_companies lists those that are."
    return failure(f"{text.strip()[:100]!r} is not in the data. {meant}")


def _found(text: str) -> list[Company]:
    words = Text(text)
    if named := [company for _, company in companies_in(words)]:
        return named
    if sectors := sectors_in(words):
        return _companies_of(sectors[0][1])
    industry = words.line.strip()
    return [e for e in market().companies.values() if industry and industry in e.industry] or close_to(text)


def _catalogue() -> ToolOutcome:
    sectors, count = market().sectors.values(), len(market().companies)
    rows = [[sector.name, ", ".join(company.ticker for company in _companies_of(sector))] for sector in sectors]
    return _told(
        f"I know {count} companies in {len(rows)} sectors: {', '.join(sector.name for sector in sectors)}.",
        (),
        _caption(f"{count} companies in {len(rows)} sectors."),
        Table(columns=["Sector", "Tickers"], rows=rows),
    )


def _companies_of(sector: Sector) -> list[Company]:
    return [company for company in market().companies.values() if company.sector == sector]


def _title(yardstick: Yardstick, sector: Sector | None, best: list[Ranked], *, reverse: bool) -> str:
    lead = yardstick.reverse_lead if reverse else yardstick.lead
    if yardstick.has_two_sides and not reverse and best[0].score <= 0:
        lead = f"None has a {yardstick.measure}; these lose least"
    return f"{lead} among {sector.name}" if sector else lead


def _sentence(title: str, yardstick: Yardstick, best: list[Ranked]) -> str:
    listed = ", ".join(f"{place}. {each.company}" for place, each in enumerate(best, 1))
    first = best[0].company
    why = f" {first.sector.rates}" if yardstick.has_two_sides else ""
    why = f" {first.supply_note}" if "supply chain" in yardstick.measure else why
    equals = [each.company.name for each in best if each.score == best[0].score]
    place = f"{first.name} comes first" if len(equals) == 1 else f"{_listed(equals)} share the first place"
    return f"{title}: {listed}. {place} with {best[0].score:g}{yardstick.unit} ({yardstick.measure}).{why}"


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


def _chart(company: Company, metrics: tuple[Metric, ...], quarters: Sequence[str]) -> Chart:
    """Return a line for each metric over some quarters."""
    figures = {metric: dict(zip(market().quarters, company.figures[metric], strict=True)) for metric in metrics}
    series: list[dict[str, Any]] = [
        {
            "name": f"{company.ticker} {_LABELS[metric][0]}",
            "unit": _LABELS[metric][1].strip(),
            "points": [{"x": name, "y": figures[metric][name]} for name in quarters],
        }
        for metric in metrics
    ]
    units = dict.fromkeys(_LABELS[metric][1].strip() for metric in metrics)
    extra: dict[str, Any] = {"title": f"{company}, by quarter", "unit": ", ".join(units)}
    return Chart(chart="line", series=series, **extra)
