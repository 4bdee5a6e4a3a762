"""The tools of the market assistant: JSON that a model can use, blocks for people, and errors that help."""

import json
from dataclasses import replace
from typing import Any

import pytest

from threadkeep.context.blocks import text_of_block
from threadkeep.conversation.scope import LOCAL
from threadkeep.tools.base import ToolContext, ToolOutcome
from threadkeep_assistants.market import ASSISTANT
from threadkeep_assistants.market.companies import FICTION, market
from threadkeep_assistants.market.ranking import YARDSTICKS

CONTEXT = ToolContext(scope=LOCAL, conversation="c", turn=7, call_id="call_1")
GOOD: dict[str, dict[str, Any]] = {
    "rank_stocks": {"theme": "rate_cuts"},
    "describe_company": {"ticker": "AAPL"},
    "supply_chain": {"ticker": "AAPL"},
    "compare_companies": {"left": "DHI", "right": "AAPL"},
    "find_companies": {"text": "banks"},
}


async def run(name: str, context: ToolContext = CONTEXT, **args: Any) -> ToolOutcome:
    tool = ASSISTANT.tools.get(name)
    assert tool is not None
    return await tool.run(args, context)


async def value_of(name: str, **args: Any) -> dict[str, Any]:
    outcome = await run(name, **args)
    assert outcome.error is None, outcome.error
    value = json.loads(outcome.content)
    assert isinstance(value, dict)
    return value


def test_every_tool_can_run_again_and_tells_a_model_what_it_is_for() -> None:
    assert {tool.spec.name for tool in ASSISTANT.tools} == set(GOOD)
    for tool in ASSISTANT.tools:
        assert tool.repeatable
        assert len(tool.spec.description) > 40
        for name, field in tool.spec.parameters["properties"].items():
            assert field["description"], (tool.spec.name, name)


@pytest.mark.parametrize("name", GOOD)
async def test_every_result_is_small_says_that_it_is_invented_and_is_the_same_again(name: str) -> None:
    outcome = await run(name, **GOOD[name])
    assert json.loads(outcome.content)["note"] == FICTION
    assert outcome.content.startswith('{"shown":[')
    assert len(outcome.content) < 2000
    assert replace(await run(name, **GOOD[name]), duration_ms=0) == replace(outcome, duration_ms=0)
    if outcome.blocks:
        assert FICTION in " ".join(text_of_block(block) for block in outcome.blocks)


@pytest.mark.parametrize("theme", YARDSTICKS)
async def test_a_ranking_is_in_order_of_its_score(theme: str) -> None:
    rows = (await value_of("rank_stocks", theme=theme, limit=20))["rows"]
    scores = [score for _, _, score in rows]
    assert len(rows) == 20
    assert scores == sorted(scores, reverse=theme not in ("value", "supply_chain_safety"))
    worst = (await value_of("rank_stocks", theme=theme, limit=1, reverse=True))["rows"][0][2]
    assert (worst >= scores[-1]) == (theme in ("value", "supply_chain_safety"))


async def test_a_ranking_is_shown_as_a_list() -> None:
    outcome = await run("rank_stocks", theme="rate_cuts", limit=3)
    block = outcome.blocks[0].model_dump()
    assert [(row["rank"], row["ticker"], row["score"]) for row in block["rows"]] == [
        (1, "DHI", 94),
        (2, "LEN", 91),
        (3, "NEE", 89),
    ]
    assert text_of_block(outcome.blocks[0]) == "Showed ranked list: DHI, LEN, NEE"


async def test_a_ranking_can_be_of_a_sector_or_of_some_companies() -> None:
    banks = await value_of("rank_stocks", theme="rate_cuts", sector="banks")
    assert all(market().companies[ticker].sector.key == "banks" for ticker in banks["shown"])
    assert banks["summary"].startswith("None has a gain from rate cuts; these lose least among Banks: 1. ")
    others = await value_of("rank_stocks", theme="rate_cuts", bounds={"without": "homebuilders"})
    assert others["shown"] == ["NEE", "PLD", "AMT", "O", "AEP"]
    some = await value_of("rank_stocks", theme="margins", tickers=["AAPL", "Ford", "msft"])
    assert some["shown"] == ["MSFT", "AAPL", "F"]
    assert (await value_of("rank_stocks", theme="value", sector="banks", tickers=["AAPL"]))["shown"] == []


async def test_a_description_names_the_company_and_draws_its_revenue() -> None:
    outcome = await run("describe_company", ticker="apple")
    value = json.loads(outcome.content)
    assert value["summary"].startswith("Apple (AAPL) belongs to ")
    assert (value["shown"], value["Sector"]) == (["AAPL"], "Hardware and internet")
    points = outcome.blocks[1].model_dump()["series"][0]["points"]
    assert [point["x"] for point in points] == list(market().quarters)
    assert [point["y"] for point in points] == list(market().companies["AAPL"].figures["revenue"])


async def test_a_company_that_makes_losses_is_described_too() -> None:
    assert "while it makes losses" in (await value_of("describe_company", ticker="BA"))["summary"]


async def test_a_supply_chain_has_its_risk_its_suppliers_and_its_regions() -> None:
    apple = market().companies["AAPL"]
    value = await value_of("supply_chain", ticker="AAPL")
    assert (value["risk"], value["regions"]) == (apple.supply_risk, list(apple.regions))
    assert apple.supply_note in value["summary"]


async def test_a_comparison_has_two_sides_with_the_same_lines() -> None:
    outcome = await run("compare_companies", left="DHI", right="Apple")
    block = outcome.blocks[0].model_dump()
    assert text_of_block(outcome.blocks[0]) == "Compared D.R. Horton (DHI) vs Apple (AAPL)"
    assert list(block["left"]) == list(block["right"])
    assert "rate sensitivity 94 of 100 against 15 of 100" in json.loads(outcome.content)["summary"]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("apple", ["AAPL"]),
        ("Appel", ["AAPL"]),
        ("homebuilders", ["DHI", "LEN", "PHM", "TOL", "NVR"]),
        ("DHI, LEN", ["DHI", "LEN"]),
        ("zzzz", []),
        ("", []),
    ],
)
async def test_companies_are_found_by_name_and_sector(text: str, shown: list[str]) -> None:
    assert (await value_of("find_companies", text=text))["shown"] == shown


async def test_the_catalogue_has_every_company() -> None:
    table = (await run("find_companies")).blocks[1].model_dump()
    assert sum(len(tickers.split(", ")) for _, tickers in table["rows"]) == len(market().companies)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("describe_company", {"ticker": "AAPX"}),
        ("supply_chain", {"ticker": "Aple"}),
        ("compare_companies", {"left": "MSFT", "right": "AAPK"}),
        ("rank_stocks", {"theme": "value", "tickers": ["MSFT", "AAPX"]}),
    ],
)
async def test_an_unknown_company_is_an_error_with_close_names(name: str, args: dict[str, Any]) -> None:
    error = (await run(name, **args)).error
    assert error is not None
    assert "is not in the data. Did you mean Apple (AAPL)" in error


async def test_nothing_close_is_an_error_that_says_where_to_look() -> None:
    assert (await run("describe_company", ticker="zzzzzz")).error == (
        "'zzzzzz' is not in the data. find_companies lists those that are."
    )


async def test_a_company_is_not_compared_with_itself() -> None:
    assert "cannot be compared with itself" in str((await run("compare_companies", left="AAPL", right="apple")).error)


@pytest.mark.parametrize(
    ("name", "args", "complaint"),
    [
        ("rank_stocks", {"theme": "luck"}, "'rate_cuts'"),
        ("rank_stocks", {"theme": "value", "sector": "bank"}, "'banks'"),
        ("rank_stocks", {"theme": "value", "limit": 99}, "less than or equal to 20"),
        ("describe_company", {}, "missing"),
    ],
)
async def test_a_wrong_argument_is_told_with_what_is_right(name: str, args: dict[str, Any], complaint: str) -> None:
    assert complaint in str((await run(name, **args)).error)
