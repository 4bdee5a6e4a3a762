"""What two sources say about the accounts of a company, and why they differ. Computed from the ledger, never stored."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from threadkeep_assistants.skillian.ledger import Account, Company, Ledger, NotInLedger, Posting, source

CAUSES = {
    "timing": "booked at the end of the period, after the upload to BPC; it will be there in the next period",
    "fx": "FI translates at the rate of the day, BPC at the average of the month",
    "mapping": "FI and BPC map the same document to different accounts",
    "manual": "a journal was entered in one source only",
    "elimination": "BPC eliminates business within the group, FI does not",
    "upload": "the document is missing in the file that was loaded into BPC",
    "rounding": "amounts were rounded at the upload",
}
"""Why sources differ, as it is told."""


@dataclass(frozen=True)
class Balance:
    """What two sources say about an account, and the postings that only one of them has."""

    account: Account
    left: int
    right: int
    one_sided: tuple[Posting, ...]

    @property
    def difference(self) -> int:
        """How much more the left source has."""
        return self.left - self.right

    @property
    def causes(self) -> list[str]:
        """Why they differ, each cause once."""
        return list(dict.fromkeys(posting.cause for posting in self.one_sided))


@dataclass(frozen=True)
class Comparison:
    """Two sources side by side, for a company and a period."""

    left: str
    right: str
    company: Company
    period: str
    balances: tuple[Balance, ...]

    @cached_property
    def differences(self) -> tuple[Balance, ...]:
        """The accounts that differ, the largest difference first."""
        differing = [balance for balance in self.balances if balance.difference]
        return tuple(sorted(differing, key=lambda balance: (-abs(balance.difference), balance.account.number)))


def compare(ledger: Ledger, left: str, right: str, company: str, period: str | None = None) -> Comparison:
    """Compare two sources. Raises NotInLedger for a source, a company or a period that is not there."""
    left, right = source(left), source(right)
    if left == right:
        raise NotInLedger(f"{left} cannot be compared with itself: name two different sources.")
    where, when = ledger.company(company), ledger.period(period)
    postings = [posting for posting in ledger.postings if (posting.company, posting.period) == (where.code, when)]
    balances = (_balance(account, postings, left, right) for account in ledger.accounts.values())
    return Comparison(left, right, where, when, tuple(balances))


def _balance(account: Account, postings: Iterable[Posting], left: str, right: str) -> Balance:
    own = [posting for posting in postings if posting.account == account.number]
    return Balance(
        account,
        left=sum(posting.amount for posting in own if left in posting.sources),
        right=sum(posting.amount for posting in own if right in posting.sources),
        one_sided=tuple(posting for posting in own if len(posting.sources) == 1),
    )
