"""The four tools, called as a model calls them."""

import json
from typing import Any

import pytest

from threadkeep.conversation.scope import Scope
from threadkeep.tools.base import ToolContext, ToolOutcome
from threadkeep_assistants.skillian import ASSISTANT

CONTEXT = ToolContext(scope=Scope(tenant="local", user="local"), conversation="c", turn=1, call_id="call_1")


async def called(name: str, **args: Any) -> ToolOutcome:
    tool = ASSISTANT.tools.get(name)
    assert tool is not None
    return await tool.run(args, CONTEXT)


async def found(name: str, **args: Any) -> Any:
    outcome = await called(name, **args)
    assert outcome.error is None, outcome.error
    return json.loads(outcome.content)


async def blocks(name: str, **args: Any) -> dict[str, Any]:
    return {block.type: block.model_dump() for block in (await called(name, **args)).blocks}


def test_all_of_them_only_read_and_may_run_again() -> None:
    assert [tool.spec.name for tool in ASSISTANT.tools] == [
        "get_budget",
        "compare_sources",
        "explain_account",
    ]
    assert all(tool.repeatable and not tool.needs_approval for tool in ASSISTANT.tools)


async def test_a_budget_has_the_shape_of_the_worked_example() -> None:
    assert await found("get_budget", cost_center="CC-1001") == {"budget": 50000, "spent": 35000}
    shown = (await blocks("get_budget", cost_center="1001"))["table"]
    assert shown["rows"] == [["CC-1001", "Marketing", "L. Amsel", 50000, 35000, 15000, "EUR"]]


async def test_a_comparison_has_the_shape_of_the_worked_example() -> None:
    value = await found("compare_sources", left="FI", right="BPC", company="1000")
    assert value.keys() == {"differences", "summary"}
    assert len(value["differences"]) == 15
    assert value["differences"][0] == {
        "account": "120000",
        "name": "Trade receivables",
        "group": "receivables",
        "FI": 1277150,
        "BPC": 1211300,
        "difference": 65850,
        "cause": "timing",
    }
    assert value["summary"].startswith(
        "FI and BPC differ on 15 of 27 accounts of company 1000 (Alder Works) in 2025-06:"
    )
    assert value == await found("compare_sources")


async def test_a_comparison_is_shown_with_all_differences_the_largest_and_a_chart() -> None:
    shown = await blocks("compare_sources", company="1000")
    assert list(shown) == ["table", "split_compare", "ranked_list", "chart"]
    assert shown["table"]["columns"] == ["account", "FI", "BPC", "difference"]
    assert (shown["split_compare"]["leftTitle"], shown["split_compare"]["rightTitle"]) == ("FI", "BPC")
    names = [row["name"] for row in shown["ranked_list"]["rows"]]
    assert names[:2] == ["Trade receivables", "Product revenue"]
    [series] = shown["chart"]["series"]
    assert [point["x"] for point in series["points"]] == names == list(shown["split_compare"]["left"])


async def test_sources_that_agree_are_told_so_without_a_list_of_nothing() -> None:
    value = await found("compare_sources", company="4000", period="2025-04")
    assert value["differences"] == []
    assert value["summary"] == "FI and BPC agree on all 27 accounts of company 4000 (Dogwood Logistics) in 2025-04."
    assert await blocks("compare_sources", company="4000", period="2025-04") == {}


async def test_an_account_is_explained_with_its_postings() -> None:
    value = await found("explain_account", account="trade payables", company="1000")
    assert (value["account"], value["difference"], value["cause"]) == ("200000", 12300, "upload")
    assert value["why"] == ["the document is missing in the file that was loaded into BPC"]
    assert sum(posting["amount"] for posting in value["postings"]) == 12300


async def test_an_account_without_a_difference_is_explained_too() -> None:
    value = await found("explain_account", account="300000")
    assert (value["difference"], value["why"], value["postings"]) == (0, [], [])


async def test_a_code_may_come_as_a_number() -> None:
    assert await found("get_budget", cost_center=1001) == {"budget": 50000, "spent": 35000}
    assert (await found("explain_account", account=300000, company=2000))["company"] == "2000"


@pytest.mark.parametrize(
    ("name", "args", "told"),
    [
        ("get_budget", {"cost_center": "CC-101"}, "Close ones are: CC-1001"),
        ("compare_sources", {"company": "9"}, "There are: 1000 (Alder Works)"),
        ("compare_sources", {"left": "SAP"}, "There are: FI, BPC"),
        ("compare_sources", {"period": "2031-01"}, "There are: 2025-04, 2025-05, 2025-06"),
        ("compare_sources", {"right": "FI"}, "name two different sources"),
        ("explain_account", {"account": "12000"}, "120000 (Trade receivables)."),
        ("explain_account", {}, "account: this argument is missing"),
        ("get_budget", {"cost_center": ["CC-1001"]}, "should be a valid string"),
    ],
)
async def test_what_is_not_there_is_an_error_that_helps(name: str, args: dict[str, Any], told: str) -> None:
    outcome = await called(name, **args)
    assert outcome.error is not None
    assert told in outcome.error
    assert outcome.content == outcome.error
