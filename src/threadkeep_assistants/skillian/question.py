"""What a question names: cost centres, companies, sources, accounts, months, and which differences of a list it means.
It is read word by word with the shared vocabulary."""

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
LARGEST = "top|biggest|largest|greatest|highest|most"
LISTED = f"{LARGEST}|only|just|all of|list|show|which|sum|total|add|count|net|how many|give"
WHY = "why|explain|reason*|how come|cause*|detail*|tell me about|more about|behind"
BEYOND = "|".join(["smallest|lowest|bottom|next|previous|before|rest|others|negative|positive|exchange rate*", *CAUSES])
"""What is said of a list and not understood here."""
MOST_LISTED = 100
_MONTHS = [name.lower() for name in month_name[1:]]
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

    def periods(self, now: str) -> list[str]:
        """Return the months that are named, from the one that is spoken of."""
        found = [iso[0] for iso in _ISO.finditer(self.said[:500])]
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
    def count(self) -> int | None:
        """How many are wanted; "the biggest one" is one, "the top differences" are five."""
        is_largest = self.has(LARGEST)
        numbers = [int(number.value) for number in self.text.numbers if 0 < number.value <= MOST_LISTED]
        if numbers and (is_largest or self.text.count):
            return numbers[0]
        return None if not is_largest else 5 if self.has("differences|top") and not self.has("one") else 1

    @cached_property
    def limits(self) -> list[tuple[str, float]]:
        """What amounts must stay within: a sign, and the bound; "10k" is ten thousand."""
        bounds = [(limit.operator[0], limit.number) for limit in self.text.limits]
        return [(sign, number.value * (1_000 if number.unit == "k" else 1)) for sign, number in bounds]

    @property
    def is_narrowed(self) -> bool:
        """Whether it names some of the differences by what they are."""
        return bool(self.group or self.limits)

    def fits(self, row: dict[str, Any]) -> bool:
        """Whether a difference is one of those that are meant."""
        amount = abs(int(row["difference"]))
        is_within = all(amount <= bound if sign == "<" else amount >= bound for sign, bound in self.limits)
        return is_within and self.group in (None, row.get("group"))

    @property
    def kind(self) -> str:
        """The differences that are meant, in words."""
        limits = [f"{bound:,.0f} or {'less' if sign == '<' else 'more'}" for sign, bound in self.limits]
        group = f" of {self.group}" if self.group else ""
        return f"differences{group}" + (f" of {' and '.join(limits)}" if limits else "")
