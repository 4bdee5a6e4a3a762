"""Tools that show several companies: rankings, the catalogue, and the lists of earlier turns."""

from typing import Annotated, Any

from pydantic import Field

from threadkeep.conversation.blocks import RankedList, Table
from threadkeep.tools.base import ToolContext, ToolOutcome
from threadkeep.tools.decorator import tool
from threadkeep_assistants.market.companies import Company, Sector, SectorKey, market
from threadkeep_assistants.market.figures import listed as enumerated
from threadkeep_assistants.market.figures import number
from threadkeep_assistants.market.names import close_to, companies_in, company_of, sector_in
from threadkeep_assistants.market.outcomes import COMPANY, LIST, caption, list_key, told, unknown
from threadkeep_assistants.market.ranking import YARDSTICKS, Bounds, Ranked, Theme, Yardstick, ranked


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
        return unknown(strange)
    chosen = [company_of(text) for text in tickers] if tickers else list(market().companies.values())
    kept = [each for each in chosen if each and sector in (None, each.sector.key)]
    fitting = [each for each in ranked(kept, theme, reverse=reverse) if bounds is None or bounds.hold(each)]
    best = fitting[:limit]
    if not best:
        return told("No company in the data fits.", ())
    title = _title(YARDSTICKS[theme], market().sectors[sector] if sector else None, best, reverse=reverse)
    title += f" of those that depend on {bounds.region}" if bounds and bounds.region else ""
    shown = [each.company for each in best]
    asked = {"theme": theme, "sector": sector, "tickers": tickers, "limit": limit}
    within = bounds.model_dump(exclude_none=True) if bounds else None
    args = {name: value for name, value in (asked | {"reverse": reverse, "bounds": within}).items() if value}
    entry = {"args": args, "shown": [each.ticker for each in shown]}
    return told(
        _sentence(title, YARDSTICKS[theme], best),
        shown,
        _block(title, YARDSTICKS[theme], best),
        caption(f"Ordered by {YARDSTICKS[theme].measure}."),
        facts={"rows": [[each.company.ticker, each.company.name, each.score] for each in best]},
        state={list_key(context): entry, COMPANY: shown[0].ticker},
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
    found = _found(text)
    if not found:
        return told(f"Nothing in the data is called {text.strip()!r}. Ask for the sectors to see what there is.", ())
    listed = ", ".join(f"{place}. {company}" for place, company in enumerate(found, 1))
    rows = [[each.ticker, each.name, each.sector.name, each.industry] for each in found]
    return told(
        f"I know {listed}." if len(found) > 1 else f"I know {found[0]}: {found[0].description}",
        found,
        caption(f"Found for {text.strip()!r}: {', '.join(str(each) for each in found[:5])}."),
        Table(columns=["Ticker", "Name", "Sector", "Industry"], rows=rows),
        state={
            list_key(context): {"args": {"text": text}, "shown": [each.ticker for each in found]},
            COMPANY: found[0].ticker,
        },
    )


@tool(repeatable=True)
def earlier_lists(context: ToolContext) -> ToolOutcome:
    """Every list that was shown in this conversation, oldest first, and the company that was looked at last. Use it
    when the person refers to a list or a company that you do not see any more."""
    values = context.state.values
    lists = [values[key] for key in sorted(values) if key.startswith(LIST)]
    told_lists = "; ".join(f"{place}. {', '.join(each['shown'])}" for place, each in enumerate(lists, 1))
    summary = f"The lists of this conversation: {told_lists}." if lists else "No list was shown yet."
    return told(summary, (), facts={"lists": lists, COMPANY: values.get(COMPANY)})


def _title(yardstick: Yardstick, sector: Sector | None, best: list[Ranked], *, reverse: bool) -> str:
    lead = yardstick.reverse_lead if reverse else yardstick.lead
    if yardstick.has_two_sides and not reverse and best[0].score <= 0:
        lead = f"None has a {yardstick.measure}; these lose least"
    return f"{lead} among {sector.name}" if sector else lead


def _sentence(title: str, yardstick: Yardstick, best: list[Ranked]) -> str:
    listed = ", ".join(f"{place}. {each.company}" for place, each in enumerate(best, 1))
    first = best[0].company
    why = f" {first.sector.rates}" if yardstick.has_two_sides else ""
    if "supply chain" in yardstick.measure:
        why = f" {first.supply_note}"
    score = f"{number(best[0].score)}{yardstick.unit}"
    equals = [each.company.name for each in best if each.score == best[0].score]
    place = f"{first.name} comes first" if len(equals) == 1 else f"{enumerated(equals)} share the first place"
    return f"{title}: {listed}. {place} with {score} ({yardstick.measure}).{why}"


def _block(title: str, yardstick: Yardstick, best: list[Ranked]) -> RankedList:
    rows: list[dict[str, Any]] = [
        {"rank": place, "ticker": each.company.ticker, "name": each.company.name, "score": each.score}
        | {"sector": each.company.sector.name, "industry": each.company.industry}
        for place, each in enumerate(best, 1)
    ]
    extra: dict[str, Any] = {"title": title, "measure": yardstick.measure, "unit": yardstick.unit.strip()}
    return RankedList(rows=rows, **extra)


def _found(text: str) -> list[Company]:
    named = [each.company for each in companies_in(text)]
    if named:
        return named
    sector, word = sector_in(text), text.strip().lower()
    every = market().companies.values()
    fitting = [each for each in every if each.sector == sector] if sector else [e for e in every if word in e.industry]
    return fitting or close_to(text)


def _catalogue() -> ToolOutcome:
    rows = [[sector.name, ", ".join(_tickers(sector))] for sector in market().sectors.values()]
    count = len(market().companies)
    names = ", ".join(sector.name for sector in market().sectors.values())
    return told(
        f"I know {count} companies in {len(rows)} sectors: {names}.",
        (),
        caption(f"{count} companies in {len(rows)} sectors."),
        Table(columns=["Sector", "Tickers"], rows=rows),
    )


def _tickers(sector: Sector) -> list[str]:
    return [company.ticker for company in market().companies.values() if company.sector == sector]
