"""Names: which companies and sectors a text means, by ticker, by name, or by a name with a slip of the finger."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache

from threadkeep_assistants.market.companies import Company, Sector, market

_WORD = re.compile(r"[\w&$][\w&'’.-]*")  # noqa: RUF001 - as phones write
_WORDS = frozenset({"c", "cat", "cost", "de", "f", "low", "ma", "mu", "now", "o", "so", "t", "v"})
"""Tickers that are words or letters too: they count in capitals only."""
_CODES = re.compile(
    "AI|CEO|CFO|CPI|EPS|ETFS?|EU|FED|FYI|GDP|OK|PE|PLS|REITS?|ROE|SEC|TTM|UK|USA?|USD|VS|YOY|NO|NOT|AND|OR"
)
"""Capitals that are no tickers."""
_LONGEST = 4
"""Words in the longest name that is looked for."""
_CLOSE, _CLOSE_PHRASE = 0.79, 0.86
_SHORTEST = 5
"""Letters below which a slip is not told from another word."""
_NO_SLIPS = re.compile(
    "appl(?:y|ies|ied)|being|cas(?:es?|ed)|cause|cease|chose|defer|exon|inter|lines?|loses|lower(?:s|ed)?|lowest|micros?"
    "|producers?|pulse|versions?|walls"
)
"""Plain words that are one slip away from a name."""


@dataclass(frozen=True, slots=True)
class Named:
    """A company in a text, and where it begins."""

    company: Company
    at: int


def company_of(text: str) -> Company | None:
    """Return the company with exactly this ticker or name, in any case; None if there is none."""
    plain = _plain(text)
    return market().companies.get(text.strip().lstrip("$").upper()) or _by_name().get(plain)


def close_to(text: str, most: int = 3) -> list[Company]:
    """Return companies whose ticker or name looks like a text, the likeliest first."""
    known = {ticker.lower(): company for ticker, company in market().companies.items()} | _by_name()
    found = [known[name] for name in get_close_matches(_plain(text), known, n=most * 2, cutoff=0.72)]
    return list(dict.fromkeys(found))[:most]


def companies_in(text: str) -> list[Named]:
    """Return the companies that a text names, in order, each once."""
    words = list(_WORD.finditer(text))
    found: dict[str, Named] = {}
    at = 0
    while at < len(words):
        company, length = _at(text, words, at)
        if company is not None:
            found.setdefault(company.ticker, Named(company, words[at].start()))
        at += length
    return list(found.values())


def unknown_ticker_in(text: str) -> str | None:
    """Return a word that looks like the ticker of a company that is not known."""
    if text.isupper():
        return None
    for word in re.finditer(r"\$[A-Za-z]{1,5}\b|\b[A-Z]{2,5}\b", text):
        plain = word[0].lstrip("$").upper()
        if not _CODES.fullmatch(plain) and plain not in market().companies:
            return plain
    return None


def sector_in(text: str) -> Sector | None:
    """Return the sector that a text names; of two the one with the longer word."""
    return next(iter(sectors_in(text)), None)


def sectors_in(text: str) -> list[Sector]:
    """Return all sectors that a text names, those with longer words first."""
    plain = f" {' '.join(_plain(word[0]) for word in _WORD.finditer(text))} "
    found: dict[str, Sector] = {}
    for word, sector in _sector_words():
        if f" {word} " in plain:
            found.setdefault(sector.key, sector)
            plain = plain.replace(f" {word} ", "  ")
    return list(found.values())


def is_refused(sector: Sector, text: str) -> bool:
    """Whether a text does not want a sector: "no banks"."""
    words = "|".join(re.escape(word) for word, each in _sector_words() if each is sector)
    return re.search(rf"\b(?:no|not|non)[ -](?:the |any |in )?(?:{words})\b", text) is not None


def region_in(text: str) -> str | None:
    """Return the region that a text names, of those that companies depend on."""
    return next((name for name in _regions() if re.search(rf"\b{re.escape(name.lower())}\b", text.lower())), None)


def _at(text: str, words: list[re.Match[str]], at: int) -> tuple[Company | None, int]:
    """Return the company that the words at a place name, and how many words that takes.

    The longest name wins; a ticker comes before a name with a slip in it.
    """
    phrases = [
        (_plain(text[words[at].start() : words[at + length - 1].end()]), length)
        for length in range(min(_LONGEST, len(words) - at), 0, -1)
    ]
    for phrase, length in phrases:
        if company := _by_name().get(phrase):
            return company, length
    if company := _by_ticker(words[at][0], is_shouted=text.isupper()):
        return company, 1
    return next(((company, length) for phrase, length in phrases if (company := _by_slip(phrase))), (None, 1))


def _by_ticker(word: str, *, is_shouted: bool) -> Company | None:
    word = re.sub(r"['’]s?$", "", word.rstrip(".-"))  # noqa: RUF001 - as phones write
    plain = word.lstrip("$")
    if plain.lower() in _WORDS and (is_shouted or (not plain.isupper() and not word.startswith("$"))):
        return None
    return market().companies.get(plain.upper())


def _by_slip(phrase: str) -> Company | None:
    """Return the company whose name this nearly is: long enough, the same first letter, and no plain word."""
    if len(phrase) < _SHORTEST or _NO_SLIPS.fullmatch(phrase) or phrase in dict(_sector_words()):
        return None
    spaces = phrase.count(" ")
    names = [
        name
        for name in _by_name()
        if name[0] == phrase[0] and name.count(" ") == spaces and len(name) >= _SHORTEST
        if abs(len(name) - len(phrase)) <= 1 + spaces
    ]
    close = get_close_matches(phrase, names, n=1, cutoff=_CLOSE_PHRASE if spaces else _CLOSE)
    return _by_name()[close[0]] if close else None


@cache
def _regions() -> tuple[str, ...]:
    names = {region for company in market().companies.values() for region in company.regions}
    return tuple(sorted(names, key=lambda name: (-len(name), name)))


@cache
def _by_name() -> dict[str, Company]:
    return dict(_names())


def _names() -> Iterator[tuple[str, Company]]:
    for company in market().companies.values():
        for name in (company.name, *company.aliases):
            yield _plain(name), company


@cache
def _sector_words() -> tuple[tuple[str, Sector], ...]:
    words = [(word.lower(), each) for each in market().sectors.values() for word in (each.key, each.name, *each.also)]
    return tuple(sorted(words, key=lambda pair: -len(pair[0])))


def _plain(name: str) -> str:
    """Return a name as it is compared: small letters, without dots, plural marks of owners and what ends a sentence."""
    plain = re.sub(r"['’]s\b", "", name.lower())  # noqa: RUF001 - as phones write
    return re.sub(r"[.'’$]", "", plain).strip(" -?!,")  # noqa: RUF001 - as phones write
