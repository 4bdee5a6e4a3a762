"""The data of the market assistant is whole, says that it is invented, and is not read before it is needed."""

import json
import math
import subprocess
import sys
from importlib.resources import files
from typing import get_args

import pytest

from threadkeep_assistants.market.companies import Company, SectorKey, market

COMPANIES = list(market().companies.values())
ASKED_FOR = {
    "banks",
    "utilities",
    "reits",
    "homebuilders",
    "semiconductors",
    "software",
    "energy",
    "consumer",
    "health",
}


def test_there_are_sixty_companies_or_more_in_every_sector_some() -> None:
    assert len(COMPANIES) >= 60
    assert "AAPL" in market().companies
    assert set(market().sectors) == set(get_args(SectorKey)) >= ASKED_FOR
    for sector in market().sectors.values():
        assert sum(company.sector is sector for company in COMPANIES) >= 3, sector.key
        assert sector.rates.endswith(".")


def test_no_ticker_and_no_name_is_there_twice() -> None:
    listed = json.loads(files("threadkeep_assistants.market").joinpath("data.json").read_text("utf-8"))["companies"]
    assert len(listed) == len(COMPANIES)
    names = [name.lower() for company in COMPANIES for name in (company.name, *company.aliases)]
    assert len(names) == len(set(names))


def test_there_are_three_years_of_quarters_in_order() -> None:
    assert len(market().quarters) >= 12
    assert list(market().quarters) == sorted(set(market().quarters))


def test_the_file_says_that_it_is_invented() -> None:
    data = json.loads(files("threadkeep_assistants.market").joinpath("data.json").read_text("utf-8"))
    assert "invented" in data["note"]


@pytest.mark.parametrize("company", COMPANIES, ids=lambda company: company.ticker)
def test_a_company_has_every_field(company: Company) -> None:
    assert all([company.name, company.industry, company.description, company.supply_note])
    assert company.suppliers
    assert company.regions
    assert -100 <= company.rate_sensitivity <= 100
    assert 1 <= company.supply_risk <= 5
    assert company.price > 0 <= company.dividend_yield
    for metric, values in company.figures.items():
        assert len(values) == len(market().quarters), metric
        assert all(math.isfinite(value) for value in values), metric
    assert min(company.figures["revenue"]) > 0
    both = zip(company.figures["gross_margin"], company.figures["operating_margin"], strict=True)
    assert all(gross > operating for gross, operating in both)


def test_growth_and_price_to_earnings_follow_from_the_figures() -> None:
    apple = market().companies["AAPL"]
    revenue, eps = apple.figures["revenue"], apple.figures["eps"]
    assert apple.growth == round((revenue[-1] / revenue[-5] - 1) * 100, 1)
    assert apple.price_to_earnings == round(apple.price / sum(eps[-4:]), 1)
    assert market().companies["BA"].price_to_earnings is None


def test_importing_the_assistant_reads_no_data() -> None:
    program = (
        "from threadkeep_assistants.market import ASSISTANT\n"
        "from threadkeep_assistants.market.companies import market\n"
        "print(ASSISTANT.name, market.cache_info().currsize)"
    )
    said = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert said.stdout == "market 0\n"
