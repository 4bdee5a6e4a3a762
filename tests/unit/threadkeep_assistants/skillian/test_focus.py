"""What a conversation is about, after what tools gave back."""

import json
from typing import Any

from threadkeep.llm.script import Result
from threadkeep_assistants.skillian.focus import Focus
from threadkeep_assistants.skillian.ledger import ledger

ROW = {"account": "120000", "name": "Trade receivables", "difference": 5}


def result(tool: str, value: object, error: str | None = None, **args: Any) -> Result:
    return Result(tool=tool, args=args, content=json.dumps(value), error=error)


def test_a_budget_is_kept_under_the_code_of_its_cost_centre() -> None:
    focus = Focus(ledger=ledger()).take(result("get_budget", {"budget": 2, "spent": 1}, cost_center="cc 1001"))
    assert (focus.topic, focus.centres, dict(focus.budgets)) == (
        "budget",
        ("CC-1001",),
        {"CC-1001": {"budget": 2, "spent": 1}},
    )


def test_a_cost_centre_that_is_gone_since_is_kept_as_it_was_named() -> None:
    focus = Focus(ledger=ledger()).take(result("get_budget", {"budget": 2, "spent": 1}, cost_center="CC-0"))
    assert focus.centres == ("CC-0",)


def test_what_a_call_leaves_out_is_the_default_of_the_tool() -> None:
    focus = Focus(ledger=ledger()).take(result("compare_sources", {"differences": [ROW]}))
    assert focus.place == {"left": "FI", "right": "BPC", "company": "1000", "period": "2025-06"}
    assert (focus.rows, focus.shown, focus.has_all) == ((ROW,), (ROW,), True)


def test_a_call_that_failed_changes_nothing() -> None:
    before = Focus(ledger=ledger()).take(result("compare_sources", {"differences": [ROW]}))
    for tool in ("get_budget", "compare_sources", "list_differences", "explain_account", "another"):
        assert before.take(result(tool, "no", "no", company="9")) == before


def test_a_list_that_is_not_whole_says_so() -> None:
    focus = Focus(ledger=ledger()).take(result("list_differences", {"differences": [ROW], "found": 9}, group="tax"))
    assert (focus.has_all, focus.rows_group) == (False, "tax")


def test_an_account_explained_elsewhere_leaves_the_list_behind() -> None:
    focus = Focus(ledger=ledger()).take(result("compare_sources", {"differences": [ROW]}))
    same = focus.take(result("explain_account", {"account": "120000"}, account="120000"))
    assert (same.account, same.rows) == ("120000", (ROW,))
    elsewhere = focus.take(result("explain_account", {"account": "120000"}, account="120000", company="2000"))
    assert (elsewhere.company, elsewhere.rows, elsewhere.currency) == ("2000", None, "USD")
