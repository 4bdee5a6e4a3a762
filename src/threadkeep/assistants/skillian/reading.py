"""What a question names, read by patterns: cost centres, companies, accounts, a month, how many, which one.

This is for the scripted model, which cannot think. What is meant by it all is decided in `wish`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from threadkeep.assistants.skillian.ledger import SOURCES, Ledger

PREVIOUS = "previous"
"""Stands for the month before the one that was spoken of."""

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_CAUSES = {
    "timing": r"timing|cut-?offs?|booked late",
    "fx": r"fx|currency|currencies|exchange rates?|rates?",
    "mapping": r"mapping|mapped",
    "manual": r"manual|journals?|top-?side",
    "elimination": r"eliminat\w+|intercompany",
    "upload": r"uploads?|missing",
    "rounding": r"rounding|rounded",
}
_COUNT = rf"(?P<count>\d{{1,2}}|{'|'.join(_NUMBERS[1:])})"
_SUPERLATIVE = r"top|biggest|largest|greatest|highest|smallest|lowest|worst|most important|most"
_BEFORE = _COUNT.replace("count", "before")
_COUNTED = re.compile(
    rf"\b(?:{_SUPERLATIVE}|next|(?:first|last|other)(?! one))\s+{_COUNT}\b"
    rf"|\b{_BEFORE}\s+(?:(?:are|accounts|ones|with|the)\s+){{0,3}}(?:{_SUPERLATIVE})\b"
    rf"|\b{_BEFORE.replace('before', 'of')}\s+(?:more|of them|differences|accounts|lines|rows)\b"
)
_ONE = re.compile(rf"\b(?:{_SUPERLATIVE})\b(?:\s+(?:one|difference|deviation|account|item))?(?!\s*\w)")
_POSITION = re.compile(rf"\b(?:(?P<word>{'|'.join(_ORDINALS)}|last)|(?P<digit>\d{{1,2}})(?:st|nd|rd|th))\b")
_NUMBERED = re.compile(rf"(?:#|\bnumber |\bno\.? ?)(?P<count>\d{{1,2}}|{'|'.join(_NUMBERS[1:])})\b")
_OVER = re.compile(
    r"(?:\b(?:over|above|more than|at least|exceeding|(?:larg|bigg|great|high)er than)\b|>=?)\s*(?:[a-z]{3}\s+)?"
    r"(?P<amount>\d[\d,.]*)\s*(?P<thousand>k\b|thousand\b)?"
)
_PERIODS = (
    re.compile(r"\b(?P<year>20\d\d)[-/.](?P<month>\d\d?)\b"),
    re.compile(r"\b(?P<month>\d\d?)[-/.](?P<year>20\d\d)\b"),
    re.compile(rf"\b(?P<name>{'|'.join(_MONTHS)})\s+(?P<year>20\d\d)\b"),
    re.compile(rf"\b(?:in|for|of|and|about|during|to|with|only|now)\s+(?P<name>{'|'.join(_MONTHS)})\b"),
    re.compile(rf"^\W*(?P<name>{'|'.join(_MONTHS)})\W*$"),
)
_PREVIOUS = re.compile(r"\b(?:(?:previous|last|prior) (?:month|period)|(?:month|period) (?:before|earlier))\b")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a question names; `count` is how many it wants to see, `position` which one (0 is the first, -1 the last),
    `over` the least amount."""

    text: str
    cost_centres: tuple[str, ...] = ()
    companies: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    period: str | None = None
    group: str | None = None
    cause: str | None = None
    over: int | None = None
    count: int | None = None
    position: int | None = None

    def has(self, pattern: str) -> bool:
        """Whether the words of the pattern are in the question."""
        return re.search(rf"\b(?:{pattern})\b", self.text) is not None


def read(question: str, ledger: Ledger) -> Reading:
    """Read a question. What was understood is taken out, so that no number is read twice."""
    whole = re.sub(r"\btop-?(?=\d)", "top ", " ".join(question.lower().split()))
    text, period = _period(whole)
    text, over = _over(text)
    text, accounts = _named(text, r"\baccount\W{0,2}(\d+)|\b(\d{6})\b", _names_of(ledger.accounts))
    text, cost_centres = _named(text, r"\b(?:cc|cost\W?cent(?:re|er)s?)[\s:#-]*(\d+)", _names_of(ledger.cost_centres))
    text, companies = _named(text, r"\b(?:company|companies)(?: code)?[\s:#-]*(\d+)", _companies(ledger))
    bare = re.findall(r"\b\d{4}\b", text)
    group = next((group for group in _groups(ledger) if re.search(rf"\b{group.rstrip('s')}(?:e?s)?\b", text)), None)
    return Reading(
        text=whole,
        cost_centres=tuple(dict.fromkeys([*(_code(one) for one in cost_centres), *_known(bare, ledger.cost_centres)])),
        companies=tuple(dict.fromkeys([*companies, *(number for number in bare if number in ledger.companies)])),
        accounts=tuple(accounts),
        sources=_sources(text),
        numbers=tuple(bare),
        period=period,
        group=group,
        cause=next((cause for cause, words in _CAUSES.items() if re.search(rf"\b(?:{words})\b", text)), None),
        over=over,
        count=_count(text),
        position=_position(text),
    )


def _sources(text: str) -> tuple[str, ...]:
    """Return the sources in their order; one that is named twice alone is to be compared with itself."""
    named = [word for word in re.findall(r"\w+", text.upper()) if word in SOURCES]
    return tuple(dict.fromkeys(named)) if len(set(named)) > 1 else tuple(named[:2])


def _period(text: str) -> tuple[str, str | None]:
    for pattern in _PERIODS:
        if match := pattern.search(text):
            parts = match.groupdict()
            month = _MONTHS.index(parts["name"]) + 1 if parts.get("name") else int(parts["month"])
            return pattern.sub(" ", text, 1), f"{parts.get('year') or '2025'}-{month:02}"
    return _PREVIOUS.sub(" ", text), PREVIOUS if _PREVIOUS.search(text) else None


def _over(text: str) -> tuple[str, int | None]:
    match = _OVER.search(text)
    digits = re.sub(r"\D", "", match["amount"]) if match else ""
    if match is None or not digits:
        return text, None
    return _OVER.sub(" ", text, 1), int(digits) * (1000 if match["thousand"] else 1)


def _named(text: str, pattern: str, names: Mapping[str, str]) -> tuple[str, list[str]]:
    """Return what is named by a number or by its name, and the text without it."""
    found = [next(filter(None, match.groups())) for match in re.finditer(pattern, text)]
    text = re.sub(pattern, " ", text)
    for name in sorted(names, key=len, reverse=True):
        if re.search(rf"\b{re.escape(name)}\b", text):
            found.append(names[name])
            text = re.sub(rf"\b{re.escape(name)}\b", " ", text)
    return text, list(dict.fromkeys(found))


def _names_of(kept: Mapping[str, object]) -> dict[str, str]:
    return {str(getattr(one, "name")).lower(): key for key, one in kept.items()}  # noqa: B009 - any kind of thing


def _companies(ledger: Ledger) -> dict[str, str]:
    names = _names_of(ledger.companies)
    return names | {name.split()[0]: code for name, code in names.items()}


def _groups(ledger: Ledger) -> Iterable[str]:
    return dict.fromkeys(account.group for account in ledger.accounts.values())


def _code(number: str) -> str:
    return number if number.startswith("CC-") else f"CC-{number}"


def _known(numbers: Iterable[str], cost_centres: Mapping[str, object]) -> list[str]:
    return [_code(number) for number in numbers if _code(number) in cost_centres]


def _count(text: str) -> int | None:
    match = _COUNTED.search(text)
    if match is None:
        return 1 if _ONE.search(text) else None
    return _number(match["count"] or match["before"] or match["of"])


def _position(text: str) -> int | None:
    if numbered := _NUMBERED.search(text):
        return _number(numbered["count"]) - 1
    match = _POSITION.search(_COUNTED.sub(" ", text))
    if match is None:
        return None
    if match["digit"]:
        return int(match["digit"]) - 1
    return -1 if match["word"] == "last" else _ORDINALS.index(match["word"])


def _number(text: str) -> int:
    return int(text) if text.isdigit() else _NUMBERS.index(text)
