"""The tool that puts two companies side by side."""

from typing import Any

from threadkeep.conversation.blocks import SplitCompare
from threadkeep.tools.base import ToolOutcome
from threadkeep.tools.decorator import tool
from threadkeep.tools.outcome import failure
from threadkeep_assistants.market.companies import Company
from threadkeep_assistants.market.figures import facts_of, figure, number
from threadkeep_assistants.market.names import company_of
from threadkeep_assistants.market.outcomes import COMPANY, caption, told, unknown


@tool(repeatable=True)
def compare_companies(left: str, right: str) -> ToolOutcome:
    """Compare two companies side by side: rates, supply chain, margins, growth, price.

    Args:
        left: Ticker or exact name of the company that the conversation is about.
        right: Ticker or exact name of the other one.
    """
    one, other = company_of(left), company_of(right)
    if one is None or other is None:
        return unknown(left if one is None else right)
    if one is other:
        return failure(f"{one} cannot be compared with itself; name another company.")
    return told(
        f"Compared {one} vs {other}: {_difference(one, other)}",
        (one, other),
        SplitCompare(leftTitle=str(one), rightTitle=str(other), left=_side(one), right=_side(other)),
        caption(f"{one.name} beside {other.name}."),
        facts={one.ticker: facts_of(one), other.ticker: facts_of(other)},
        state={COMPANY: one.ticker},
    )


def _difference(one: Company, other: Company) -> str:
    """Say in what the first differs from the second, most telling first."""
    rates, chain = one.rate_sensitivity - other.rate_sensitivity, one.supply_risk - other.supply_risk
    margin = one.newest("operating_margin") - other.newest("operating_margin")
    chains = f"its supply chain is {'riskier' if chain > 0 else 'safer'}" if chain else "the supply chains are as risky"
    return (
        f"{one.name} gains {'more' if rates > 0 else 'less'} from rate cuts "
        f"({one.rate_sensitivity} against {other.rate_sensitivity} of 100), "
        f"{chains} ({one.supply_risk} against {other.supply_risk} of 5), "
        f"its operating margin is {'higher' if margin > 0 else 'lower'} "
        f"({figure(one, 'operating_margin')} against {figure(other, 'operating_margin')}), "
        f"its revenue changed by {one.growth:+g}% against {other.growth:+g}% over a year, "
        f"and it costs {_priced(one)} against {_priced(other)} times its earnings."
    )


def _priced(company: Company) -> str:
    return number(company.price_to_earnings) if company.price_to_earnings else "no"


def _side(company: Company) -> dict[str, Any]:
    """Return one side of a comparison, with words that a person reads."""
    priced = company.price_to_earnings
    return {
        "Sector": company.sector.name,
        "Rate sensitivity": f"{company.rate_sensitivity} of 100",
        "Supply chain risk": f"{company.supply_risk} of 5",
        "Gross margin": figure(company, "gross_margin"),
        "Operating margin": figure(company, "operating_margin"),
        "Revenue growth": f"{company.growth:+g}%",
        "Price to earnings": number(priced) if priced else "no earnings",
        "Dividend yield": f"{number(company.dividend_yield)}%",
    }
