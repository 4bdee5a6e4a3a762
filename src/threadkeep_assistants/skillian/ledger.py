"""The ledger: cost centres, companies, accounts and postings of two sources, read from `data/` at the first use.

Everything in it is made up. A posting is in both sources or in one only, so what the sources say about an account and
why they differ come from the same rows.
"""

import csv
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache, cached_property
from importlib.resources import files
from typing import NamedTuple

SOURCES = ("FI", "BPC")
_BOTH = "both"
_FEW = 6
"""So many are all named to somebody who asks for another one."""


class NotInLedger(LookupError):  # noqa: N818 - it says what is wrong
    """The ledger has nothing of that name; the message says what it has instead."""


class CostCentre(NamedTuple):
    """Who spends: a budget for the year and what is spent of it."""

    code: str
    name: str
    company: str
    budget: int
    spent: int
    owner: str


class Company(NamedTuple):
    """A company of the group."""

    code: str
    name: str
    currency: str


class Account(NamedTuple):
    """An account of the chart of accounts."""

    number: str
    name: str
    group: str
    meaning: str


class Posting(NamedTuple):
    """An amount on an account; `cause` says why it is in one source only."""

    company: str
    period: str
    account: str
    sources: tuple[str, ...]
    document: str
    date: str
    amount: int
    cause: str
    text: str


@dataclass(frozen=True)
class Ledger:
    """Everything that is kept, by its key."""

    cost_centres: Mapping[str, CostCentre]
    companies: Mapping[str, Company]
    accounts: Mapping[str, Account]
    postings: tuple[Posting, ...]

    @cached_property
    def periods(self) -> tuple[str, ...]:
        """The periods that have postings, oldest first."""
        return tuple(sorted({posting.period for posting in self.postings}))

    def cost_centre(self, wanted: str) -> CostCentre:
        """Return a cost centre by its code, however it is written ("cc 1001", "1001"), or by its name."""
        number = re.sub(r"(?i)^\W*(?:cost\W*cent(?:re|er)|cc)?\W*", "", wanted)
        names = {centre.name: code for code, centre in self.cost_centres.items()}
        return self.cost_centres[_found("cost centre", wanted, [f"CC-{number}", wanted], self.cost_centres, names)]

    def company(self, wanted: str) -> Company:
        """Return a company by its code or its name."""
        bare = re.sub(r"(?i)^\W*company\W*", "", wanted)
        names = {company.name: code for code, company in self.companies.items()}
        return self.companies[_found("company", wanted, [bare], self.companies, names)]

    def account(self, wanted: str) -> Account:
        """Return an account by its number or its name."""
        bare = re.sub(r"(?i)^\W*account\W*", "", wanted)
        names = {account.name: number for number, account in self.accounts.items()}
        return self.accounts[_found("account", wanted, [bare], self.accounts, names)]

    def period(self, wanted: str | None) -> str:
        """Return a period; none is the newest."""
        return self.periods[-1] if wanted is None else _found("period", wanted, [wanted], self.periods, {})

    def postings_of(self, company: str, period: str) -> list[Posting]:
        """Return what was posted in a company and a period."""
        return [posting for posting in self.postings if (posting.company, posting.period) == (company, period)]


def source(wanted: str) -> str:
    """Return the name of a source as it is written here."""
    return _found("source", wanted, [wanted], SOURCES, {})


@cache
def ledger() -> Ledger:
    """Read the ledger, once."""
    return Ledger(
        cost_centres={row["code"]: _cost_centre(row) for row in _rows("cost_centres")},
        companies={row["code"]: Company(**row) for row in _rows("companies")},
        accounts={row["number"]: Account(**row) for row in _rows("accounts")},
        postings=tuple(_posting(row) for row in _rows("postings")),
    )


def _rows(table: str) -> Iterable[dict[str, str]]:
    text = files(__package__).joinpath("data", f"{table}.csv").read_text(encoding="utf-8")
    return csv.DictReader(text.splitlines())


def _cost_centre(row: Mapping[str, str]) -> CostCentre:
    return CostCentre(**{**row, "budget": int(row["budget"]), "spent": int(row["spent"])})  # type: ignore[arg-type]


def _posting(row: Mapping[str, str]) -> Posting:
    sources = SOURCES if row["sources"] == _BOTH else (row["sources"],)
    return Posting(**{**row, "sources": sources, "amount": int(row["amount"])})  # type: ignore[arg-type]


def _found(kind: str, wanted: str, tries: Iterable[str], keys: Iterable[str], names: Mapping[str, str]) -> str:
    """Return the key that is meant. Raises NotInLedger with those that come close, or with all."""
    wanted, tries = wanted[:80], [one[:80] for one in tries]
    known = {key.lower(): key for key in keys} | {name.lower(): key for name, key in names.items()}
    tried = [one.strip().lower() for one in tries]
    for one in tried:
        if one in known:
            return known[one]
    shown = {key: name for name, key in names.items()}
    every = list(dict.fromkeys(known.values()))
    near = [known[word] for one in tried for word in get_close_matches(one, known, n=3, cutoff=0.7)]
    close = list(dict.fromkeys(near)) if len(every) > _FEW else []
    listed = ", ".join(f"{key} ({shown[key]})" if key in shown else key for key in close or every)
    raise NotInLedger(f"There is no {kind} {wanted!r}. {'Close ones are' if close else 'There are'}: {listed}.")
