"""What products can be put in order by: "the cheapest", "a lighter one", "with a good camera".

A word such as "light" speaks of a number that products have; "good" and "long" do so together with its name.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Literal

from threadkeep_assistants.shop.catalogue import Product
from threadkeep_assistants.shop.features import numbers, units

Degree = Literal["plain", "more", "most"]

_WORDS: Mapping[str, tuple[str, bool]] = {
    "cheap": ("price", False), "inexpensive": ("price", False), "affordable": ("price", False),
    "günstig": ("price", False), "billig": ("price", False), "barat": ("price", False),
    "dear": ("price", True), "expensive": ("price", True), "pricey": ("price", True),
    "pricier": ("price", True), "priciest": ("price", True), "teuer": ("price", True),
    "light": ("weight", False), "heav": ("weight", True), "big": ("screen", True), "bigg": ("screen", True),
    "larg": ("screen", True), "small": ("screen", False), "tin": ("screen", False), "quiet": ("noise", False),
    "silent": ("noise", False), "loud": ("power", True), "fast": ("speed refresh processor", True),
    "quick": ("speed refresh processor", True), "powerful": ("processor power", True), "strong": ("power", True),
    "good": ("rating", True), "bett": ("rating", True), "best": ("rating", True), "bad": ("rating", False),
    "worse": ("rating", False), "worst": ("rating", False), "popular": ("rating", True),
}  # fmt: skip
"""The beginnings of words, the numbers that they speak of (the first that a kind has), and if much of it is meant."""
_WORD = re.compile(
    rf"\b(?P<before>(?:most|least|more|less)\s+)?(?P<word>{'|'.join(sorted(_WORDS, key=len, reverse=True))})"
    r"(?P<end>est|iest|er|ier|y|e|ste|sten|os?|as?|r|st)?\b"
)
_AMOUNT = re.compile(
    r"\b(?P<much>good|great|decent|best|better|long(?:est|er)?|big(?:gest|ger)?|large(?:st|r)?|high(?:est|er)?|strong(?:est|er)?"
    r"|most|more|top)\b|\b(?P<little>low(?:est|er)?|least|less|small(?:est|er)?|short(?:est|er)?|worst)\b"
)
NAMES = {
    "ram": "memory", "display": "screen", "megapixels": "camera", "review": "rating", "reviews": "rating",
    "rated": "rating", "ratings": "rating", "stars": "rating",
}  # fmt: skip
"""Other names of numbers."""
_SORTED = re.compile(r"\b(?:sort|order|rank)(?:ed)?\s+(?:them\s+)?by\s+(?:the\s+)?(?P<name>[a-z]+)")
_FIRST = re.compile(r"\bfirst\W*$")
_NEAR = 3
"""Words at most between an amount and what it is an amount of."""


@dataclass(frozen=True, slots=True)
class Order:
    """Which number products are put in order by, and which end comes first."""

    field: str
    is_most_first: bool
    degree: Degree = "most"

    @property
    def text(self) -> str:
        """How a heading tells it."""
        return f"the {'highest' if self.is_most_first else 'lowest'} {self.field} first"


def speaks_of_amounts(word: str) -> bool:
    """Whether a word only says how much of something is wanted."""
    return (_WORD.fullmatch(word) or _AMOUNT.fullmatch(word)) is not None


def order_in(text: str, kind: str | None) -> Order | None:
    """Return what products of a kind should be put in order by; None if a text does not say."""
    lower = text.lower()
    known = {"price", "rating", *(units(kind) if kind else ())}
    if (by := _SORTED.search(lower)) and (field := NAMES.get(by["name"], by["name"])) in known:
        return Order(field, field != "price", "plain")
    found = _by_name(lower, known) or _by_word(lower, known)
    return replace(found, degree="plain") if found and _FIRST.search(lower) else found


def in_order(found: Iterable[Product], order: Order) -> list[Product]:
    """Return products in order; those that lack the number are left out."""
    known = [(value_of(product, order.field), product) for product in found]
    held = [(value, product) for value, product in known if value is not None]
    sign = -1 if order.is_most_first else 1
    return [product for _, product in sorted(held, key=lambda pair: (sign * pair[0], -pair[1].rating, pair[1].id))]


def value_of(product: Product, field: str) -> float | None:
    """Return a number of a product, if it has it."""
    if field in ("price", "rating"):
        return float(product.price if field == "price" else product.rating)
    return numbers(product).get(field)


def _by_name(text: str, known: Iterable[str]) -> Order | None:
    """Return the order by a number that is named beside an amount: "a long battery life", "highest rated"."""
    for amount in _AMOUNT.finditer(text):
        if text[: amount.start()].endswith("how "):
            continue
        behind = re.findall(r"[a-z]+", text[amount.end() :])[:_NEAR]
        field = next((name for word in behind if (name := NAMES.get(word, word)) in known), None)
        if field:
            much = amount["much"]
            return Order(field, much is not None, _degree(amount[0]))
    return None


def _by_word(text: str, known: Iterable[str]) -> Order | None:
    for match in _WORD.finditer(text):
        fields, is_most_first = _WORDS[match["word"]]
        field = next((name for name in fields.split() if name in known), None)
        before = (match["before"] or "").strip()
        if field and not (match["word"] in ("good", "bad") and not before):
            is_turned = before in ("least", "less")
            return Order(field, is_most_first is not is_turned, _degree(f"{before} {match[0]}"))
    return None


def _degree(words: str) -> Degree:
    if re.search(r"est\b|\bmost\b|\bleast\b|\btop\b|\bworst\b|sten?\b", words):
        return "most"
    return "more" if re.search(r"er\b|\bmore\b|\bless\b|\bworse\b", words) else "plain"
