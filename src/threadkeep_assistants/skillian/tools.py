"""The tools: what the assistant can look up in the ledger, and the blocks that show it. They only read, so every call
may run again."""

from typing import Annotated, Any

from pydantic import Field

from threadkeep.conversation.blocks import Block, Chart, RankedList, SplitCompare, Table
from threadkeep.tools.base import ToolOutcome
from threadkeep.tools.decorator import tool
from threadkeep.tools.outcome import canonical
from threadkeep_assistants.skillian.comparison import CAUSES, Balance, Comparison, compare
from threadkeep_assistants.skillian.ledger import ledger

TOP = 5
"""How many differences are shown where nobody says how many."""
Source = Annotated[str, Field(description="FI (the ledger of the company) or BPC (the consolidation of the group)")]
CompanyCode = Annotated[str, Field(description="The code of a company, such as 1000", coerce_numbers_to_str=True)]
Period = Annotated[str | None, Field(description="A month, such as 2025-06; none is the newest")]
AccountNumber = Annotated[
    str, Field(description="The number of an account, such as 120000, or its name", coerce_numbers_to_str=True)
]
CostCentreCode = Annotated[
    str, Field(description="The code of a cost centre, such as CC-1001", coerce_numbers_to_str=True)
]


@tool(repeatable=True)
def get_budget(cost_center: CostCentreCode) -> ToolOutcome:
    """The budget of a cost centre for the year, and what is spent of it."""
    centre = ledger().cost_centre(cost_center)
    columns = ["cost centre", "name", "owner", "budget", "spent", "left", "currency"]
    currency, left = ledger().company(centre.company).currency, centre.budget - centre.spent
    row = [centre.code, centre.name, centre.owner, centre.budget, centre.spent, left, currency]
    content = canonical({"budget": centre.budget, "spent": centre.spent})
    return ToolOutcome(content=content, blocks=(Table(columns=columns, rows=[row]),))


@tool(repeatable=True)
def compare_sources(
    left: Source = "FI", right: Source = "BPC", company: CompanyCode = "1000", period: Period = None
) -> ToolOutcome:
    """Compare what two sources say about every account of a company: all differences, the largest first."""
    compared = compare(ledger(), left, right, company, period)
    rows = [_row(compared, balance) for balance in compared.differences]
    content = canonical({"differences": rows, "summary": _summary(compared)})
    return ToolOutcome(content=content, blocks=_comparison_blocks(compared))


@tool(repeatable=True)
def explain_account(
    account: AccountNumber,
    company: CompanyCode = "1000",
    left: Source = "FI",
    right: Source = "BPC",
    period: Period = None,
) -> ToolOutcome:
    """What an account is, what two sources say about it, why they differ, and the postings that only one has."""
    wanted, compared = ledger().account(account), compare(ledger(), left, right, company, period)
    balance = next(balance for balance in compared.balances if balance.account == wanted)
    return ToolOutcome(content=canonical(_explanation(compared, balance)))


def money(amount: int, currency: str = "") -> str:
    """Return an amount with separators, and its currency if there is one: "-4,200 EUR"."""
    return f"{amount:,} {currency}".rstrip()


def _row(compared: Comparison, balance: Balance) -> dict[str, Any]:
    return {
        "account": balance.account.number,
        "name": balance.account.name,
        "group": balance.account.group,
        compared.left: balance.left,
        compared.right: balance.right,
        "difference": balance.difference,
        "cause": ", ".join(balance.causes),
    }


def _summary(compared: Comparison) -> str:
    company, differences = compared.company, compared.differences
    where = f"company {company.code} ({company.name}) in {compared.period}"
    if not differences:
        return f"{compared.left} and {compared.right} agree on all {len(compared.balances)} accounts of {where}."
    net = sum(balance.difference for balance in differences)
    gross = sum(abs(balance.difference) for balance in differences)
    return (
        f"{compared.left} and {compared.right} differ on {len(differences)} of {len(compared.balances)} accounts of "
        f"{where}: {money(net, company.currency)} net, {money(gross, company.currency)} in all."
    )


def _explanation(compared: Comparison, balance: Balance) -> dict[str, Any]:
    parts = ("document", "date", "amount", "text")
    postings = [(one.sources[0], {part: getattr(one, part) for part in parts}) for one in balance.one_sided]
    return {
        **_row(compared, balance),
        "meaning": balance.account.meaning,
        "company": compared.company.code,
        "period": compared.period,
        "currency": compared.company.currency,
        "why": [CAUSES[cause] for cause in balance.causes],
        "postings": [{"only_in": only_in, **told} for only_in, told in postings],
    }


def _comparison_blocks(comparison: Comparison) -> tuple[Block, ...]:
    """Show all differences, the largest of them side by side and in order, and a chart."""
    largest = comparison.differences[:TOP]
    sides = SplitCompare(
        leftTitle=comparison.left,
        rightTitle=comparison.right,
        left={balance.account.name: balance.left for balance in largest},
        right={balance.account.name: balance.right for balance in largest},
    )
    rows = [[one.account.name, one.left, one.right, one.difference] for one in comparison.differences]
    table = Table(columns=["account", comparison.left, comparison.right, "difference"], rows=rows)
    ranks = [{"id": one.account.number, "name": one.account.name, "score": one.difference} for one in largest]
    points = [{"x": one.account.name, "y": one.difference} for one in largest]
    title = f"{comparison.left} minus {comparison.right}"
    extra: dict[str, Any] = {"title": title, "unit": comparison.company.currency}
    chart = Chart(chart="bar", series=[{"name": title, "points": points}], **extra)
    return (table, sides, RankedList(rows=ranks), chart) if largest else ()
