"""The wishes that a question can be: the few things that this assistant does, as values."""

from dataclasses import dataclass
from typing import Literal

How = Literal["list", "sum", "count", "causes"]
Kind = Literal["cost centres", "companies", "accounts", "periods", "sources"]


@dataclass(frozen=True)
class Budgets:
    """The budgets of some cost centres; the question itself names those in `named`. `together` wants their sum,
    `exceeded` only those that are spent, and `period` is one for which there is none."""

    centres: tuple[str, ...]
    named: tuple[str, ...] = ()
    together: bool = False
    exceeded: bool = False
    period: str | None = None


@dataclass(frozen=True)
class Compare:
    """A comparison at a place; `again` is content with one that was made before."""

    place: dict[str, str]
    again: bool = False


@dataclass(frozen=True, kw_only=True)
class Show:
    """Some of the differences that were found: listed, added up, counted or put together by their causes. `of_shown`
    takes those listed last, `sign` only those above (1) or below (-1) zero, `by_account` puts them in that order."""

    how: How = "list"
    count: int | None = None
    group: str | None = None
    cause: str | None = None
    over: int = 0
    under: int | None = None
    sign: int = 0
    smallest: bool = False
    further: Literal["", "next", "rest"] = ""
    of_shown: bool = False
    by_account: bool = False
    place: dict[str, str]

    @property
    def is_top(self) -> bool:
        """Whether these are simply the largest, of all or of a group."""
        narrowed = self.further or self.smallest or self.cause or self.over or self.sign
        return self.how == "list" and not narrowed and self.under is None


@dataclass(frozen=True)
class Explain:
    """Why the sources differ on an account."""

    account: str
    place: dict[str, str]


@dataclass(frozen=True)
class Ask:
    """Something that only a question back can settle, or that the ledger does not tell."""

    missing: Literal["cost centre", "comparison", "position", "one company", "one period", "topic", "reason", "reality"]


@dataclass(frozen=True)
class Catalogue:
    """What the ledger has; cost centres of one company, if it is named."""

    kind: Kind
    company: str | None = None


@dataclass(frozen=True)
class Owners:
    """Who answers for some cost centres."""

    centres: tuple[str, ...]


Wish = Owners | Budgets | Compare | Show | Explain | Ask | Catalogue
