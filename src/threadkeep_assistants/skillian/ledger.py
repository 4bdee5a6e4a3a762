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
from typing import Any, NamedTuple

from threadkeep.errors import InvalidValue

SOURCES = ("FI", "BPC")
_LEAD = re.compile(r"^\W*(?:cost\W*cent(?:re|er)|cc|company|account)?\W*", re.IGNORECASE)
_BOTH = "both"
_FEW = 6
"""So many are all named to somebody who asks for another one."""


class NotInLedger(InvalidValue):
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
        return self.cost_centres[_found("cost centre", wanted, self.cost_centres)]

    def company(self, wanted: str) -> Company:
        """Return a company by its code or its name."""
        return self.companies[_found("company", wanted, self.companies)]

    def account(self, wanted: str) -> Account:
        """Return an account by its number or its name."""
        return self.accounts[_found("account", wanted, self.accounts)]

    def period(self, wanted: str | None) -> str:
        """Return a period; none is the newest."""
        return self.periods[-1] if wanted is None else _found("period", wanted, dict.fromkeys(self.periods))


def source(wanted: str) -> str:
    """Return the name of a source as it is written here."""
    return _found("source", wanted, dict.fromkeys(SOURCES))


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


def _found(kind: str, wanted: str, table: Mapping[str, Any]) -> str:
    """Return the key that is meant, by itself or by a name. Raises NotInLedger with those that come close, or all."""
    wanted = wanted[:80]
    bare = _LEAD.sub("", wanted).strip().lower()
    names = {key: str(row.name) if row else "" for key, row in table.items()}
    known = {key.lower(): key for key in table} | {name.lower(): key for key, name in names.items() if name}
    tried = [wanted.strip().lower(), bare, f"cc-{bare}"]
    for one in tried:
        if one in known:
            return known[one]
    near = [known[word] for one in tried for word in get_close_matches(one, known, n=3, cutoff=0.7)]
    close = list(dict.fromkeys(near)) if len(table) > _FEW else []
    listed = ", ".join(f"{key} ({names[key]})" if names[key] else key for key in close or table)
    raise NotInLedger(f"There is no {kind} {wanted!r}. {'Close ones are' if close else 'There are'}: {listed}.")
