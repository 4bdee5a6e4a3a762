"""What a question names, read by patterns: cost centres, companies, accounts, a month, how many, which one.

This is for the scripted model, which cannot think. What is meant by it all is decided in `wish`.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from threadkeep_assistants.skillian.ledger import SOURCES, Ledger

PREVIOUS, NEXT = "previous", "next"
"""Stand for the month before and after the one that was spoken of."""

COMPARE = r"compare|comparing|comparison|reconcil\w+|versus|vs|match|agree|tie out|against"
DIFFER = r"differ\w*|discrepanc\w+|deviat\w+|mismatch\w*|gaps?"
SUM = r"sum|net|total|totals|add (?:them|these|those|it|all)?\s?up|together|altogether|in all|overall"
"""Words that tell what is wanted, for `Reading.has`."""

_MONTHS = (
    *("january", "february", "march", "april", "may", "june"),
    *("july", "august", "september", "october", "november", "december"),
)
_NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_YEAR = 2025
"""The year of the ledger, meant where a month is named alone."""
_CAUSES = {
    "timing": r"timing|cut-?offs?|booked late",
    "fx": r"fx|currency|currencies|exchange rates?|rates?",
    "mapping": r"mapping|mapped",
    "manual": r"manual|journals?|top-?side",
    "elimination": r"eliminat\w+|intercompany",
    "upload": r"uploads?|missing",
    "rounding": r"rounding|rounded",
}
_COUNT = rf"(?P<count>[1-9]\d{{0,2}}|{'|'.join(_NUMBERS[1:])})"
_SUPERLATIVE = r"top|bottom|biggest|largest|greatest|highest|smallest|lowest|worst|most important|most"
_BEFORE = _COUNT.replace("count", "before")
_COUNTED = re.compile(
    rf"\b(?:{_SUPERLATIVE}|next|(?:first|last|other)(?! one))\s+{_COUNT}\b"
    rf"|\b{_BEFORE}\s+(?:(?:are|accounts|ones|with|the)\s+){{0,3}}(?:{_SUPERLATIVE})\b"
    rf"|\b{_BEFORE.replace('before', 'of')}\s+(?:more|of them|differences|accounts|lines|rows)\b"
    rf"|^\W*(?:(?:and|ok|now|just|only|please|give me|show me|show|list)\s+)+{_BEFORE.replace('before', 'bare')}\W*$"
)
_ONE = re.compile(rf"\b(?:{_SUPERLATIVE})\b(?:\s+(?:one|difference|deviation|account|item))?(?!\s*\w)")
_POSITION = re.compile(rf"\b(?:(?P<word>{'|'.join(_ORDINALS)}|last)|(?P<digit>\d{{1,2}})(?:st|nd|rd|th))\b")
_NUMBERED = re.compile(rf"(?:#|\bnumber |\bno\.? ?)(?P<count>\d{{1,2}}|{'|'.join(_NUMBERS[1:])})\b")
_THAN = r"\s*(?:[a-z]{3}\s+)?(?P<amount>\d[\d,.]*)\s*(?P<thousand>k\b|thousand\b)?"
_OVER = re.compile(rf"(?:\b(?:over|above|more than|at least|exceeding|(?:larg|bigg|great|high)er than)\b|>=?){_THAN}")
_UNDER = re.compile(rf"(?:\b(?:under|below|less than|at most|up to|(?:small|low)er than)\b|<=?){_THAN}")
_BETWEEN = re.compile(r"\bbetween (\d[\d,.]*k?) and (\d[\d,.]*k?)\b")
_POLITE = re.compile(
    r"\b(?:many )?(?:thanks|thank you|thx|cheers)\b(?: (?:a lot|so much|very much|again))?"
    r"|\bthat(?:'s| is| will be) all\b|\bmy name is \w+"
    r"|\b(?:hello|hi|hey|bye|goodbye|good (?:morning|afternoon|evening|day))\b(?: there)?"
)
"""What is said beside a question; who says nothing else is answered by others."""
_PERIODS = (
    re.compile(r"\b(?P<year>20\d\d)[-/.](?P<month>\d\d?)\b"),
    re.compile(r"\b(?P<month>\d\d?)[-/.](?P<year>20\d\d)\b"),
    re.compile(rf"\b(?P<name>{'|'.join(_MONTHS)})\s+(?P<year>20\d\d)\b"),
    re.compile(rf"\b(?:in|for|of|and|about|during|to|with|only|now)\s+(?P<name>{'|'.join(_MONTHS)})\b"),
    re.compile(rf"^\W*(?P<name>{'|'.join(_MONTHS)})\W*$"),
)
_RELATIVE = {
    PREVIOUS: re.compile(r"\b(?:(?:previous|last|prior) (?:month|period)|(?:month|period) (?:before|earlier))\b"),
    NEXT: re.compile(r"\b(?:(?:next|following) (?:month|period)|(?:month|period) after)\b"),
}
_YEARS = re.compile(
    r"\b(?:(?:in|for|of|during) (?P<year>20[1-3]\d)|(?P<before>(?:last|previous|prior) year)|next year)\b"
)
_AMOUNT = re.compile(r"\b(?:another|additional|extra|spend|afford|buy)\s+(?:[a-z]+\s+)?\d[\d,.]*k?\b")
_OTHER_SOURCE = re.compile(
    r"\b(?:(?P<left>fi|bpc) (?:and|with|to|against|vs\.?|versus) (?:the )?(?P<other>[a-z]\w*)"
    r"|(?P<first>[a-z]\w*) (?:and|with|to|against|vs\.?|versus) (?:the )?(?P<right>fi|bpc))\b"
)
_NO_SOURCE = frozenset(
    {"it", "them", "company", "both", "each", "this", "that", "sources", "compare", "the", "what", "all"}
)


@dataclass(frozen=True, kw_only=True)
class Reading:
    """What a question names; `count` is how many it wants to see, `position` which one (0 is the first, -1 the last),
    `over` and `under` the least and the largest amount, `other_period` a second month."""

    text: str
    cost_centres: tuple[str, ...] = ()
    companies: tuple[str, ...] = ()
    accounts: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    period: str | None = None
    other_period: str | None = None
    group: str | None = None
    cause: str | None = None
    over: int | None = None
    under: int | None = None
    count: int | None = None
    position: int | None = None

    def has(self, pattern: str) -> bool:
        """Whether the words of the pattern are in the question."""
        return re.search(rf"\b(?:{pattern})\b", self.text) is not None


def read(question: str, ledger: Ledger) -> Reading:
    """Read a question. What was understood is taken out, so that no number is read twice."""
    said = _POLITE.sub(" ", " ".join(question.lower().replace("’", "'").split()))  # noqa: RUF001 - as phones write
    whole = re.sub(r"\btop-?(?=\d)", "top ", said).strip(" ,.!-")
    text, period, other_period = _periods(whole)
    text = _BETWEEN.sub(r"over \1 under \2", _AMOUNT.sub(" ", text))
    text, under = _limit(_UNDER, text)
    text, over = _limit(_OVER, text)
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
        other_period=other_period,
        group=group,
        cause=next((cause for cause, words in _CAUSES.items() if re.search(rf"\b(?:{words})\b", text)), None),
        over=over,
        under=under,
        count=_count(text),
        position=_position(text),
    )


def _sources(text: str) -> tuple[str, ...]:
    """Return the sources in their order; one that is named twice alone is to be compared with itself."""
    named = [word for word in re.findall(r"\w+", text.upper()) if word in SOURCES]
    found = _OTHER_SOURCE.search(text) if len(set(named)) == 1 and re.search(r"\bcompar|\breconcil", text) else None
    other = (found["other"] or found["first"]) if found else None
    if found and other and other not in _NO_SOURCE and other.upper() not in SOURCES:
        return ((found["left"] or other).upper(), (other if found["left"] else found["right"]).upper())
    return tuple(dict.fromkeys(named)) if len(set(named)) > 1 else tuple(named[:2])


def _periods(text: str) -> tuple[str, str | None, str | None]:
    """Return the month that is named, and another one if there are two; the text is without them."""
    text, first = _period(text)
    # "May" without a word before it that tells is no month.
    other = re.search(rf"\b(?!may\b)(?P<name>{'|'.join(_MONTHS)})\b", text) if first else None
    if other is None:
        text, second = _period(text) if first else (text, None)
        return text, first, second
    return text.replace(other[0], " ", 1), first, f"{_YEAR}-{_MONTHS.index(other['name']) + 1:02}"


def _period(text: str) -> tuple[str, str | None]:
    for pattern in _PERIODS:
        if match := pattern.search(text):
            parts = match.groupdict()
            month = _MONTHS.index(parts["name"]) + 1 if parts.get("name") else int(parts["month"])
            return pattern.sub(" ", text, 1), f"{parts.get('year') or _YEAR}-{month:02}"
    for relative, pattern in _RELATIVE.items():
        if pattern.search(text):
            return pattern.sub(" ", text), relative
    if year := _YEARS.search(text):
        return _YEARS.sub(" ", text), year["year"] or str(_YEAR - 1 if year["before"] else _YEAR + 1)
    return text, None


def _limit(pattern: re.Pattern[str], text: str) -> tuple[str, int | None]:
    """Return the amount that a limit names, and the text without it."""
    match = pattern.search(text)
    digits = re.sub(r"\D", "", match["amount"]) if match else ""
    if match is None or not digits:
        return text, None
    return pattern.sub(" ", text, 1), int(digits) * (1000 if match["thousand"] else 1)


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
    return _number(match["count"] or match["before"] or match["of"] or match["bare"])


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
