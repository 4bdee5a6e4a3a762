"""References: what "it", "the second one", "the first two" and "the first list" mean, given what was shown.

Pure functions of the words and the past. Where nothing fits they return nothing, and the caller asks.
"""

import re
from dataclasses import dataclass

from threadkeep_assistants.market.companies import Company
from threadkeep_assistants.market.question import NUMBERS
from threadkeep_assistants.market.shown import Kind, Past, Shown

_WORDS = ("first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_SHORT = ("1st", "2nd", "3rd", "4th", "5th", "6th", "7th", "8th", "9th", "10th")
_PLACES = {word: place for words in (_WORDS, _SHORT) for place, word in enumerate(words)}
_ORDINAL = "|".join(sorted(_PLACES, key=len, reverse=True))
_THING = r"(?:one|stock|company|name|pick|bank|ticker|entry|item|guy|result)"
_TIME = r"(?!\s+(?:quarter|year|month|week|half|of all|time))"

_LIST = re.compile(
    rf"\b(?P<which>{_ORDINAL}|last|previous|prior|earlier|original|initial|other|latest|old)\s+(?:\w+\s+)?"
    r"(?:list|ranking|rankings|table)\b"
    r"|\b(?P<again>(?:the|that|this) (?:list|ranking)(?: again)?\b|list again\b)",
)
_SEVERAL = re.compile(
    rf"\b(?P<end>first|top|best|last|bottom)\s+(?P<count>\d{{1,2}}|{'|'.join(NUMBERS)})\b"
    r"(?!\s+(?:quarter|year|month|week|\w+ (?:stocks|payers)|stocks|companies|names|shares))"
)
_BOTH = re.compile(r"\bboth\b|\b(?:the|these|those) two\b|\beach other\b|\bone another\b")
_POSITION = re.compile(
    rf"\b(?P<ordinal>{_ORDINAL})\b{_TIME}"
    rf"|(?:#|\b(?:number|no\.?|nr\.?|nummer)\s*)(?P<digit>\d{{1,2}}|one|{'|'.join(NUMBERS)})\b"
    rf"|\b(?P<top>top|best|leading|highest|number one)\s+(?:ranked\s+|rated\s+)?{_THING}\b"
    r"|\bthe (?P<leader>leader|winner|top|front ?runner)\b(?!\s+\w)"
    rf"|\b(?P<last>last|bottom|lowest|worst)\s+(?:{_THING}\b|(?:in|on|of|from) (?:the|that|this)\b)"
    r"|\bthe (?P<end>last|bottom)\b(?!\s+\w)"
    rf"|\b(?P<next>next)\s+{_THING}\b|\bthe (?P<following>next|one after (?:that|this|it))\b(?!\s+\w)"
    rf"|\b(?P<other>other)\s+{_THING}\b|\bthe (?P<latter>latter)\b|\bthe (?P<former>former)\b"
)
_PRONOUN = re.compile(
    r"\b(?:it|its|it's|itself|(?:that|this)(?:\s+(?:one|stock|company|firm|name))?|the (?:company|stock|firm)"
    r"|the same (?:one|company|stock)|same (?:one|company|stock))\b"
)
_PLURAL = re.compile(
    r"\b(?:them|these|those|they|their|all of (?:them|these|those)|the ones|from (?:this|that|the) list)\b"
)

_CHOICE = re.compile(
    r"\bwhich (?:one|ones|of|is|are|has|have|grow|grows|pay|pays|do|does)\b"
    r"|\bwho (?:is|has|pays|grows)\b.*\b(?:\w+er|more|less|worse)\b"
)
_OWNED = re.compile(r"\bits\b")


@dataclass(frozen=True, slots=True)
class Referred:
    """A company that words of a question refer to, and where those words begin."""

    company: Company
    at: int


def means_list(text: str) -> bool:
    """Whether a question speaks of a list that was shown."""
    return _LIST.search(text) is not None


def needs_every_list(text: str) -> bool:
    """Whether a question means another list than the newest, so that none may be missing."""
    match = _LIST.search(text)
    return match is not None and match["which"] not in (None, "last", "latest")


def means_several(text: str) -> bool:
    """Whether a question speaks of more than one company that was shown."""
    return _PLURAL.search(text) is not None


def chooses(text: str) -> bool:
    """Whether a question wants one of several, which may be those that were shown: "which is cheaper?"."""
    return _CHOICE.search(text) is not None


def means_owner(text: str) -> bool:
    """Whether a question asks for something of one company: "its suppliers"."""
    return _OWNED.search(text) is not None


def refers(text: str) -> bool:
    """Whether a question needs something that was shown."""
    return any(pattern.search(text) for pattern in (_LIST, _SEVERAL, _BOTH, _POSITION, _PRONOUN, _PLURAL))


def has_place(text: str) -> bool:
    """Whether a question points at places of a list."""
    rest = _LIST.sub(" ", text)
    return any(pattern.search(rest) for pattern in (_SEVERAL, _BOTH, _POSITION))


def list_in(text: str, past: Past) -> Shown | None:
    """Return the list that a question means: the one it names, otherwise the newest. Shown again, it counts once."""
    lists, match = past.lists, _LIST.search(text)
    if not lists:
        return None
    which = match["which"] if match else None
    if which in _PLACES:
        counted = list({each.companies: each for each in lists}.values())
        return counted[_PLACES[which]] if _PLACES[which] < len(counted) else None
    if which in ("original", "initial"):
        return lists[0]
    if which in ("previous", "prior", "earlier", "other", "old"):
        others = [each for each in lists if each.companies != lists[-1].companies]
        return others[-1] if others else lists[-1]
    return lists[-1]


def companies_meant(text: str, past: Past) -> list[Referred]:
    """Return the companies that a question refers to without naming them, in the order of its words."""
    shown, rest = list_in(text, past), _LIST.sub(lambda match: " " * len(match[0]), text)
    group = shown or (past.last if past.last and past.last.kind is Kind.PAIR else None)
    if several := _SEVERAL.search(rest):
        return [Referred(company, several.start()) for company in _end_of(several, group)]
    if both := _BOTH.search(rest):
        pair = next((each for each in reversed(past.shown) if len(each.companies) > 1), None)
        return [Referred(company, both.start()) for company in (pair.companies[:2] if pair else ())]
    found = [
        Referred(company, match.start())
        for match in _POSITION.finditer(rest)
        if (company := _at(match, group, past)) is not None
    ]
    pronoun = _PRONOUN.search(rest)
    if pronoun and past.subject and not (found and pronoun[0].startswith(("that", "this"))):
        found.append(Referred(past.subject, pronoun.start()))
    return sorted(found, key=lambda each: each.at)


def _end_of(match: re.Match[str], group: Shown | None) -> tuple[Company, ...]:
    count = NUMBERS.get(match["count"]) or int(match["count"])
    companies = group.companies if group else ()
    return companies[-count:] if match["end"] in ("last", "bottom") else companies[:count]


def _at(match: re.Match[str], group: Shown | None, past: Past) -> Company | None:
    """Return the company at the place that was named; None where the list is shorter."""
    last = past.last
    if last and last.kind is Kind.PAIR and (match["other"] or match["latter"] or match["former"]):
        return last.companies[0 if match["former"] else 1]
    companies = group.companies if group else ()
    place = _place(match, companies, past)
    return companies[place] if -len(companies) <= place < len(companies) else None


def _place(match: re.Match[str], companies: tuple[Company, ...], past: Past) -> int:
    if match["ordinal"]:
        return _PLACES[match["ordinal"]]
    if match["digit"]:
        return int(match["digit"]) - 1 if match["digit"].isdigit() else NUMBERS.get(match["digit"], 1) - 1
    if match["last"] or match["end"] or match["latter"]:
        return -1
    if match["next"] or match["following"] or match["other"]:
        is_listed = past.subject in companies and past.last is not None and past.last.kind is not Kind.LIST
        return companies.index(past.subject) + 1 if is_listed and past.subject else 1
    return 0
