"""Tools that look at one company."""

from typing import Annotated

from pydantic import Field

from threadkeep.conversation.blocks import Table
from threadkeep.tools.base import ToolOutcome
from threadkeep.tools.decorator import tool
from threadkeep_assistants.market.companies import Company, Metric, market
from threadkeep_assistants.market.figures import LABELS, chart_of, facts_of, figure, listed, number
from threadkeep_assistants.market.names import company_of
from threadkeep_assistants.market.outcomes import COMPANY, caption, told, unknown

_RISKS = {1: "low", 2: "modest", 3: "medium", 4: "high", 5: "very high"}


@tool(repeatable=True)
def describe_company(ticker: str) -> ToolOutcome:
    """Tell what a company does, what interest rates do to it, how it is priced and how its revenue went. Shows a chart.

    Args:
        ticker: Its ticker or its exact name.
    """
    company = company_of(ticker)
    if company is None:
        return unknown(ticker)
    priced = company.price_to_earnings
    price = f"{number(priced)} times its earnings" if priced else "while it makes losses"
    summary = (
        f"{company} belongs to {company.sector.name} ({company.industry}). {company.description} "
        f"{_rates(company)} It trades at {number(company.price)} dollars, {price}, and pays "
        f"{number(company.dividend_yield)}% in dividends. Revenue was {figure(company, 'revenue')} in "
        f"{market().quarters[-1]}, {company.growth:+g}% over a year."
    )
    return told(
        summary,
        (company,),
        caption(f"{company}, {company.sector.name}: {company.description}"),
        chart_of(company, ("revenue",), len(market().quarters)),
        facts=facts_of(company),
        state={COMPANY: company.ticker},
    )


@tool(repeatable=True)
def supply_chain(ticker: str) -> ToolOutcome:
    """Tell whom and which regions a company depends on for its supplies, and how risky that is.

    Args:
        ticker: Its ticker or its exact name.
    """
    company = company_of(ticker)
    if company is None:
        return unknown(ticker)
    risk = f"{_RISKS[company.supply_risk]}, {company.supply_risk} of 5"
    summary = (
        f"The supply chain risk of {company} is {risk}. It depends on {listed(company.suppliers)}, "
        f"mostly in {listed(company.regions)}. {company.supply_note}"
    )
    rows = [["Risk", risk], ["Suppliers", ", ".join(company.suppliers)], ["Regions", ", ".join(company.regions)]]
    facts = {"risk": company.supply_risk, "suppliers": company.suppliers, "regions": company.regions}
    return told(
        summary,
        (company,),
        caption(f"Supply chain of {company}: risk {risk}. {company.supply_note}"),
        Table(columns=["Supply chain", company.ticker], rows=rows),
        facts=facts,
        state={COMPANY: company.ticker},
    )


@tool(repeatable=True)
def quarterly_figures(
    ticker: str,
    metrics: Annotated[list[Metric], Field(min_length=1)],
    quarters: Annotated[int, Field(ge=1, le=16)] = 12,
) -> ToolOutcome:
    """Tell quarterly figures of a company and show them as a chart: revenue, gross and operating margin, earnings per
    share.

    Args:
        ticker: Its ticker or its exact name.
        metrics: Which figures.
        quarters: How many quarters, the newest last.
    """
    company, wanted = company_of(ticker), tuple(dict.fromkeys(metrics))
    if company is None:
        return unknown(ticker)
    first, last = market().quarters[-quarters], market().quarters[-1]
    parts = [f"its {LABELS[metric]} went from {_range(company, metric, quarters)}" for metric in wanted]
    labels = listed([LABELS[metric] for metric in wanted])
    return told(
        f"{company}: between {first} and {last} {listed(parts)}.",
        (company,),
        caption(f"Quarterly {labels} of {company}."),
        chart_of(company, wanted, quarters),
        facts={"first": first, **{metric: company.figures[metric][-quarters:] for metric in wanted}},
        state={COMPANY: company.ticker},
    )


def _rates(company: Company) -> str:
    strength = company.rate_sensitivity
    side = "cuts" if strength > 0 else "hikes"
    return f"It gains from rate {side} ({abs(strength)} of 100). {company.sector.rates}"


def _range(company: Company, metric: Metric, quarters: int) -> str:
    return f"{figure(company, metric, -quarters)} to {figure(company, metric)}"
