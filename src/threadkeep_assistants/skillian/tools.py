"""The tools: what the assistant can look up in the ledger. They only read, so every call may run again."""

from collections.abc import Callable, Sequence
from typing import Annotated, Any

from pydantic import Field

from threadkeep.conversation.blocks import Block
from threadkeep.tools.base import ToolOutcome
from threadkeep.tools.decorator import tool
from threadkeep.tools.outcome import canonical, failure
from threadkeep_assistants.skillian.blocks import account_blocks, budget_blocks, comparison_blocks, ranked
from threadkeep_assistants.skillian.comparison import CAUSES, Balance, Comparison, compare
from threadkeep_assistants.skillian.ledger import NotInLedger, ledger

Source = Annotated[str, Field(description="FI (the ledger of the company) or BPC (the consolidation of the group)")]
CompanyCode = Annotated[str, Field(description="The code of a company, such as 1000", coerce_numbers_to_str=True)]
Period = Annotated[str | None, Field(description="A month, such as 2025-06; none is the newest")]
AccountNumber = Annotated[
    str, Field(description="The number of an account, such as 120000, or its name", coerce_numbers_to_str=True)
]
CostCentreCode = Annotated[
    str, Field(description="The code of a cost centre, such as CC-1001", coerce_numbers_to_str=True)
]
Limit = Annotated[int, Field(ge=1, le=100, description="How many at most")]
Group = Annotated[str | None, Field(description="Only accounts of this group, such as receivables")]


@tool(repeatable=True)
def get_budget(cost_center: CostCentreCode) -> ToolOutcome:
    """The budget of a cost centre for the year, and what is spent of it."""

    def found() -> ToolOutcome:
        centre = ledger().cost_centre(cost_center)
        blocks = budget_blocks(centre, ledger().company(centre.company))
        return _outcome({"budget": centre.budget, "spent": centre.spent}, blocks)

    return _told(found)


@tool(repeatable=True)
def compare_sources(
    left: Source = "FI", right: Source = "BPC", company: CompanyCode = "1000", period: Period = None
) -> ToolOutcome:
    """Compare what two sources say about every account of a company: all differences, the largest first."""

    def found() -> ToolOutcome:
        compared = compare(ledger(), left, right, company, period)
        rows = [_row(compared, balance) for balance in compared.differences]
        return _outcome({"differences": rows, "summary": _summary(compared)}, comparison_blocks(compared))

    return _told(found)


@tool(repeatable=True)
def list_differences(
    company: CompanyCode = "1000",
    limit: Limit = 10,
    group: Group = None,
    left: Source = "FI",
    right: Source = "BPC",
    period: Period = None,
) -> ToolOutcome:
    """List the largest differences between two sources, of all accounts or of one group of them."""

    def found() -> ToolOutcome:
        compared = compare(ledger(), left, right, company, period)
        fitting = _in_group(compared, group)
        listed = fitting[:limit]
        rows = [_row(compared, balance) for balance in listed]
        return _outcome({"differences": rows, "found": len(fitting)}, (ranked(listed),) if listed else ())

    return _told(found)


@tool(repeatable=True)
def explain_account(
    account: AccountNumber,
    company: CompanyCode = "1000",
    left: Source = "FI",
    right: Source = "BPC",
    period: Period = None,
) -> ToolOutcome:
    """What an account is, what two sources say about it, why they differ, and the postings that only one has."""

    def found() -> ToolOutcome:
        wanted, compared = ledger().account(account), compare(ledger(), left, right, company, period)
        balance = next(balance for balance in compared.balances if balance.account == wanted)
        return _outcome(_explanation(compared, balance), account_blocks(compared, balance))

    return _told(found)


def money(amount: int, currency: str = "") -> str:
    """Return an amount with separators, and its currency if there is one: "-4,200 EUR"."""
    return f"{amount:,} {currency}".rstrip()


def _told(found: Callable[[], ToolOutcome]) -> ToolOutcome:
    """Return what was found; what is not in the ledger is told with what is."""
    try:
        return found()
    except NotInLedger as missing:
        return failure(str(missing))


def _outcome(value: dict[str, Any], blocks: Sequence[Block]) -> ToolOutcome:
    return ToolOutcome(content=canonical(value), blocks=tuple(blocks))


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


def _in_group(compared: Comparison, group: str | None) -> Sequence[Balance]:
    if group is None:
        return compared.differences
    wanted = group.strip().lower()
    if wanted not in compared.groups:
        raise NotInLedger(f"There is no group {group!r}. There are: {', '.join(compared.groups)}.")
    return [balance for balance in compared.differences if balance.account.group == wanted]


def _explanation(compared: Comparison, balance: Balance) -> dict[str, Any]:
    return {
        **_row(compared, balance),
        "meaning": balance.account.meaning,
        "company": compared.company.code,
        "period": compared.period,
        "currency": compared.company.currency,
        "why": [CAUSES[cause] for cause in balance.causes],
        "postings": [
            {
                "only_in": posting.sources[0],
                "document": posting.document,
                "date": posting.date,
                "amount": posting.amount,
                "text": posting.text,
            }
            for posting in balance.one_sided
        ],
    }
