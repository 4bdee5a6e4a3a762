"""What a conversation is about at a moment: which budgets, which comparison, what was listed, which account.

A value that is made anew from the messages of each request, so nothing is kept and nothing is lost by a restart.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from threadkeep.llm.script import Result
from threadkeep_assistants.skillian.ledger import SOURCES, Ledger, NotInLedger

Row = Mapping[str, Any]
"""A difference as the tools return it."""


@dataclass(frozen=True, kw_only=True)
class Focus:
    """What was spoken of. `rows` are the differences found, none if there are none at hand, and `rows_group` and
    `has_all` say of what and whether they are all of it; `shown` are those listed last."""

    ledger: Ledger
    topic: Literal["", "budget", "differences", "account"] = ""
    budgets: Mapping[str, Row] = field(default_factory=dict)
    centres: tuple[str, ...] = ()
    left: str = SOURCES[0]
    right: str = SOURCES[1]
    company: str = "1000"
    period: str = ""
    was_compared: bool = False
    rows: tuple[Row, ...] | None = None
    rows_group: str | None = None
    has_all: bool = False
    summary: str = ""
    shown: tuple[Row, ...] = ()
    group: str | None = None
    cause: str | None = None
    smallest: bool = False
    account: str | None = None
    explained: Row | None = None

    @property
    def currency(self) -> str:
        """The currency of the company that is spoken of."""
        company = self.ledger.companies.get(self.company)
        return company.currency if company else ""

    @property
    def place(self) -> dict[str, str]:
        """The arguments that say what is compared."""
        return {"left": self.left, "right": self.right, "company": self.company, "period": self.period}

    def take(self, result: Result) -> "Focus":
        """Return the focus after a tool gave back something; what failed or was cut changes nothing but the place."""
        value: Row | None = result.value if isinstance(result.value, dict) and not result.error else None
        match result.tool:
            case "get_budget":
                return self._budget(str(result.args.get("cost_center", "")), value)
            case "compare_sources" | "list_differences":
                return self if result.error else self._differences(result.args, value)
            case "explain_account" if value is not None:
                return self._explained(result.args, value)
            case _:
                return self

    def _budget(self, wanted: str, value: Row | None) -> "Focus":
        if value is None or not all(isinstance(value.get(part), int) for part in ("budget", "spent")):
            return self
        try:
            code = self.ledger.cost_centre(wanted).code
        except NotInLedger:
            code = wanted
        return replace(self, topic="budget", budgets={**self.budgets, code: value}, centres=(code,))

    def _differences(self, args: Mapping[str, Any], value: Row | None) -> "Focus":
        found = None if value is None else value.get("differences")
        rows = tuple(row for row in found if _is_row(row)) if isinstance(found, list) else None
        there = self._at(args)
        return replace(
            there,
            topic="differences",
            was_compared=True,
            rows=rows,
            rows_group=args.get("group"),
            has_all=rows is not None and len(rows) >= (value or {}).get("found", 0),
            summary=str((value or {}).get("summary", "")),
            # The next ones of a list are those behind what was listed last.
            shown=self.shown if there.place == self.place else rows or (),
            account=None,
        )

    def _explained(self, args: Mapping[str, Any], value: Row) -> "Focus":
        there = self._at(args)
        # What was listed belongs to the place that it was found in.
        kept = there if there.place == self.place else replace(there, rows=None, shown=())
        account = str(value.get("account"))
        return replace(kept, topic="account", was_compared=True, account=account, explained=value)

    def _at(self, args: Mapping[str, Any]) -> "Focus":
        """Return the focus at the place that a call names; what it leaves out is the default of the tools."""
        given = {name: str(args[name]) for name in ("left", "right", "company", "period") if args.get(name)}
        left, right = (given.get(side, source).upper() for side, source in zip(("left", "right"), SOURCES, strict=True))
        company, period = given.get("company", "1000"), given.get("period", self.ledger.periods[-1])
        return replace(self, left=left, right=right, company=company, period=period)


def _is_row(row: object) -> bool:
    """Whether this is a difference; what another model's tools left in the history may be anything."""
    return isinstance(row, dict) and isinstance(row.get("difference"), int) and {"account", "name"} <= row.keys()
