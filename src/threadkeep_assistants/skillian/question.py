"""What a question names: cost centres, companies, sources, accounts, groups, causes, a month, and which differences of
a list it means. It is read word by word with the shared vocabulary."""

import re
from calendar import month_name
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from threadkeep_assistants.skillian.comparison import CAUSES
from threadkeep_assistants.skillian.ledger import SOURCES, Ledger
from threadkeep_assistants.vocabulary.references import references
from threadkeep_assistants.vocabulary.words import Text

BUDGET = "budget*|spent|spend*|overspen*|cost centre*|cost center*|cc"
LEFT = "left|remain*|available|used|percent*|over|afford|still"
COMPARE = "compare*|reconcil*|differ|differs|differences|difference|discrepanc*|agree|vs|versus|against"
LISTED = (
    "top|biggest|largest|greatest|highest|smallest|lowest|bottom|only|just|all of|list|show|which|sum|total|add|count"
    "|net|how many|next|rest|others|more|negative|positive|give"
)
WHY = "why|explain|reason*|how come|cause*|posting*|detail*|tell me about|more about|behind"
MOST_LISTED = 100
_MONTHS = [name.lower() for name in month_name[1:]]
_CAUSES = {cause: cause for cause in CAUSES} | {"exchange rate": "fx", "exchange rates": "fx", "currency": "fx"}
_ISO = re.compile(r"\b(\d{4})-(\d\d)\b")


@dataclass(frozen=True)
class Question:
    """A question about the ledger."""

    said: str
    ledger: Ledger

    @cached_property
    def text(self) -> Text:
        """Its words."""
        return Text(self.said)

    def has(self, phrases: str) -> bool:
        """Whether it has one of these phrases."""
        return self.text.has(phrases)

    def _named(self, names: dict[str, str]) -> list[str]:
        """Return what is named by its name, in the order of the ledger; a longer name hides those in it."""
        line, found = self.text.line, list[str]()
        for name in sorted(names, key=len, reverse=True):
            if f" {name} " in line:
                found.append(names[name])
                line = line.replace(f" {name} ", " ")
        return list(dict.fromkeys(found))

    def _numbers_behind(self, *leads: str) -> list[str]:
        words = self.text.words
        return [
            word.written for at, word in enumerate(words) if word.number is not None and self.text.at(at - 1) in leads
        ]

    @cached_property
    def centres(self) -> tuple[str, ...]:
        """Cost centres by code or name; one that is not in the ledger is named all the same, for the tool to tell."""
        joined = [word.text[2:] for word in self.text.words if word.text.startswith("cc") and word.text[2:].isdigit()]
        known = [word.written for word in self.text.words if f"CC-{word.written}" in self.ledger.cost_centres]
        numbers = [*self._numbers_behind("cc", "centre", "center"), *joined, *known]
        names = self._named({one.name.lower(): code for code, one in self.ledger.cost_centres.items()})
        return tuple(dict.fromkeys([*(f"CC-{number}" for number in numbers), *names]))

    @cached_property
    def companies(self) -> tuple[str, ...]:
        """Companies by code or name; a limit is none ("under 3000")."""
        limits = {limit.number.at for limit in self.text.limits}
        codes = [
            word.text
            for at, word in enumerate(self.text.words)
            if word.text in self.ledger.companies and at not in limits
        ]
        names = {one.name.lower(): code for code, one in self.ledger.companies.items()}
        names |= {name.split()[0]: code for name, code in names.items()}
        return tuple(dict.fromkeys([*self._numbers_behind("company"), *codes, *self._named(names)]))

    @cached_property
    def sources(self) -> tuple[str, ...]:
        """The sources that are named, also one that is not known but stands beside a known one."""
        words = self.text.words
        known = [at for at, word in enumerate(words) if word.text.upper() in SOURCES]
        beside = [at for at in range(2, len(words)) if known and words[at].written.isupper() and at - 2 in known]
        return tuple(words[at].text.upper() for at in sorted({*known, *beside}))[:2]

    @cached_property
    def account(self) -> str | None:
        """An account by its number or name."""
        numbers = [word.written for word in self.text.words if word.number is not None and len(word.written) == 6]
        names = self._named({one.name.lower(): number for number, one in self.ledger.accounts.items()})
        return next(iter([*numbers, *names]), None)

    @cached_property
    def group(self) -> str | None:
        """A group of accounts, however it ends."""
        groups = dict.fromkeys(one.group for one in self.ledger.accounts.values())
        found = [] if self.account else [group for group in groups if self.has(f"{group.removesuffix('s')}*")]
        return next(iter(found), None)

    @cached_property
    def cause(self) -> str | None:
        """Why sources differ."""
        return next(iter(self._named(_CAUSES)), None)

    def periods(self, now: str) -> list[str]:
        """Return the months that are named, from the one that is spoken of."""
        found = [iso[0] for iso in _ISO.finditer(self.said[:500])]
        if step := self.has("next month") - self.has("previous month|last month|month before"):
            months = 12 * int(now[:4]) + int(now[5:]) - 1 + step
            found.append(f"{months // 12}-{months % 12 + 1:02}")
        for at, word in enumerate(self.text.words):
            is_meant = word.text != "may" or self.text.at(at - 1) in ("in", "for", "of", "and", "about")
            if word.text in _MONTHS and is_meant:
                behind = self.text.at(at + 1)
                year = behind if len(behind) == 4 and behind.isdigit() else now[:4]
                found.append(f"{year}-{_MONTHS.index(word.text) + 1:02}")
        return found

    @cached_property
    def position(self) -> int | None:
        """The line of a list that is meant: "the second one"."""
        return next((each.value for each in references(self.text) if each.kind == "place"), None)

    @cached_property
    def is_next(self) -> bool:
        """Whether the one behind the last is meant: "the next one"."""
        return any(each.kind == "next" for each in references(self.text))

    @cached_property
    def span(self) -> tuple[int, int] | None:
        """Lines from one to another: "show 4 to 6"."""
        pairs = zip(self.text.numbers, self.text.numbers[1:], strict=False)
        ranges = [(low, high) for low, high in pairs if self.text.at(low.end) == "to" and high.at == low.end + 1]
        found = [
            (int(low.value), int(high.value)) for low, high in ranges if 0 < low.value <= high.value <= MOST_LISTED
        ]
        return next(iter(found), None)

    @cached_property
    def count(self) -> int | None:
        """How many are wanted; "the biggest one" is one, "the top differences" are five."""
        degree = self.has("top|biggest|largest|greatest|highest|smallest|lowest|bottom|most")
        numbers = [int(number.value) for number in self.text.numbers if 0 < number.value <= MOST_LISTED]
        if numbers and (degree or self.text.count or self.has("next|more")):
            return numbers[0]
        return None if not degree else 5 if self.has("differences|top") and not self.has("one") else 1

    @cached_property
    def limits(self) -> list[tuple[str, float]]:
        """What amounts must stay within: a sign, and the bound; "10k" is ten thousand."""
        bounds = [(limit.operator[0], limit.number) for limit in self.text.limits if not self.span]
        return [(sign, number.value * (1_000 if number.unit == "k" else 1)) for sign, number in bounds]

    @cached_property
    def is_narrowed(self) -> bool:
        """Whether it names some of the differences by what they are."""
        return bool(self.group or self.cause or self.limits or self.has("negative|positive"))

    def fits(self, row: dict[str, Any]) -> bool:
        """Whether a difference is one of those that are meant."""
        amount = abs(int(row["difference"]))
        if not all(amount <= bound if sign == "<" else amount >= bound for sign, bound in self.limits):
            return False
        is_signed = not self.has("negative|positive") or (row["difference"] < 0) == self.has("negative")
        return is_signed and self.group in (None, row.get("group")) and (self.cause or "") in str(row.get("cause"))

    @property
    def kind(self) -> str:
        """The differences that are meant, in words."""
        sign = "negative " if self.has("negative") else "positive " if self.has("positive") else ""
        limits = [f"{bound:,.0f} or {'less' if sign == '<' else 'more'}" for sign, bound in self.limits]
        cause, group = f"{self.cause} " if self.cause else "", f" of {self.group}" if self.group else ""
        return f"{sign}{cause}differences{group}" + (f" of {' and '.join(limits)}" if limits else "")
