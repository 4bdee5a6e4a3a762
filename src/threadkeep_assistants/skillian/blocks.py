"""What an answer shows besides its words: budgets, comparisons and accounts as blocks."""

from collections.abc import Iterable, Sequence
from typing import Any

from threadkeep.conversation.blocks import Block, Chart, Narrative, RankedList, SplitCompare, Table
from threadkeep_assistants.skillian.comparison import CAUSES, Balance, Comparison
from threadkeep_assistants.skillian.ledger import Company, CostCentre

TOP = 5
"""How many differences are shown where nobody says how many."""


def budget_blocks(centre: CostCentre, company: Company) -> tuple[Block, ...]:
    """Show a budget, and what is spent of it."""
    columns = ["cost centre", "name", "owner", "budget", "spent", "left", "currency"]
    left = centre.budget - centre.spent
    row = [centre.code, centre.name, centre.owner, centre.budget, centre.spent, left, company.currency]
    return (Table(columns=columns, rows=[row]),)


def comparison_blocks(comparison: Comparison) -> tuple[Block, ...]:
    """Show the totals, both sources side by side, the largest differences and a chart of them."""
    totals = [[group, left, right, left - right] for group, (left, right) in comparison.groups.items()]
    largest = comparison.differences[:TOP]
    sides = SplitCompare(
        leftTitle=comparison.left,
        rightTitle=comparison.right,
        left={balance.account.name: balance.left for balance in largest},
        right={balance.account.name: balance.right for balance in largest},
    )
    shown = (Table(columns=["group", comparison.left, comparison.right, "difference"], rows=totals),)
    return (*shown, sides, ranked(largest), _chart(comparison, largest)) if largest else shown


def ranked(balances: Sequence[Balance]) -> RankedList:
    """Show differences in their order."""
    return RankedList(
        rows=[
            {"id": balance.account.number, "name": balance.account.name, "score": balance.difference}
            | {"group": balance.account.group, "cause": ", ".join(balance.causes)}
            for balance in balances
        ]
    )


def account_blocks(comparison: Comparison, balance: Balance) -> tuple[Block, ...]:
    """Show why the sources differ on an account, and the postings that only one of them has."""
    reasons = "; ".join(CAUSES[cause] for cause in balance.causes) or "both sources say the same"
    text = f"{balance.account.number} {balance.account.name}: {balance.account.meaning}. Why: {reasons}."
    postings = [
        [posting.sources[0], posting.document, posting.date, posting.amount, posting.text]
        for posting in balance.one_sided
    ]
    sides = SplitCompare(leftTitle=comparison.left, rightTitle=comparison.right, left=balance.left, right=balance.right)
    table = Table(columns=["only in", "document", "date", "amount", "text"], rows=postings)
    return (Narrative(text=text), sides, *([table] if postings else []))


def _chart(comparison: Comparison, balances: Iterable[Balance]) -> Chart:
    points = [{"x": balance.account.name, "y": balance.difference} for balance in balances]
    title = f"{comparison.left} minus {comparison.right}"
    extra: dict[str, Any] = {"title": title, "unit": comparison.company.currency}
    return Chart(chart="bar", series=[{"name": title, "points": points}], **extra)
