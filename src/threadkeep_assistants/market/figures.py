"""Figures of a company in words, as facts for a model, and as a chart."""

from collections.abc import Sequence
from typing import Any

from threadkeep.conversation.blocks import Chart
from threadkeep_assistants.market.companies import Company, Metric, market

LABELS: dict[Metric, str] = {
    "revenue": "revenue",
    "gross_margin": "gross margin",
    "operating_margin": "operating margin",
    "eps": "earnings per share",
}
_UNITS: dict[Metric, str] = {
    "revenue": "billion dollars",
    "gross_margin": "%",
    "operating_margin": "%",
    "eps": "dollars",
}


def figure(company: Company, metric: Metric, place: int = -1) -> str:
    """Return a figure with its unit, of the newest quarter unless another place is given."""
    value, unit = company.figures[metric][place], _UNITS[metric]
    return f"{number(value)}{unit}" if unit == "%" else f"{number(value)} {unit}"


def facts_of(company: Company) -> dict[str, Any]:
    """Return what a model needs to know to speak about a company."""
    return {
        "sector": company.sector.key,
        "rate_sensitivity": company.rate_sensitivity,
        "supply_risk": company.supply_risk,
        "gross_margin": company.newest("gross_margin"),
        "operating_margin": company.newest("operating_margin"),
        "growth": company.growth,
        "price": company.price,
        "price_to_earnings": company.price_to_earnings,
        "dividend_yield": company.dividend_yield,
    }


def number(value: float) -> str:
    """Return a figure as it is written: 94, 16.1."""
    return f"{value:g}"


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence: a, b and c."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def chart_of(company: Company, metrics: tuple[Metric, ...], quarters: int) -> Chart:
    """Return a line for each metric over the newest quarters."""
    names = market().quarters[-quarters:]
    series: list[dict[str, Any]] = [
        {
            "name": f"{company.ticker} {LABELS[metric]}",
            "unit": _UNITS[metric],
            "points": [
                {"x": name, "y": value} for name, value in zip(names, company.figures[metric][-quarters:], strict=True)
            ],
        }
        for metric in metrics
    ]
    units = dict.fromkeys(_UNITS[metric] for metric in metrics)
    extra: dict[str, Any] = {"title": f"{company}, by quarter", "unit": ", ".join(units)}
    return Chart(chart="line", series=series, **extra)
