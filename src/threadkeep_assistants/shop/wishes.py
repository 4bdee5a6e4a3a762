"""What a person wishes for, read from the words: a kind of product, brands, a price, a rating, an order of the two.

It becomes filters of a search; everything else that is wished for, the search looks for by its words. What a follow-up
does not say again is taken from the questions before it: "phones under $500", then "from Sony?".
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from threadkeep.text.stop_words import STOP_WORDS
from threadkeep_assistants.shop.catalogue import Product, brands_in, kind_words, kinds_in, products
from threadkeep_assistants.vocabulary.amounts import Limit, Number
from threadkeep_assistants.vocabulary.references import ORDINALS, places_back
from threadkeep_assistants.vocabulary.scanning import word_set
from threadkeep_assistants.vocabulary.words import Text
from threadkeep_retrieval.base import Filter

Degree = Literal["plain", "more", "most"]
_ORDERS: dict[str, tuple[str, bool, Degree]] = {
    "best rated|highest rated|top rated": ("rating", True, "most"), "by rating": ("rating", True, "plain"),
    "better rated|higher rated|better rating|higher rating": ("rating", True, "more"),
    "worst rated|lowest rated": ("rating", False, "most"),
    "by price": ("price", False, "plain"), "cheapest|least expensive": ("price", False, "most"),
    "cheaper|less expensive": ("price", False, "more"),
    "most expensive|priciest|costliest|dearest": ("price", True, "most"),
    "more expensive|pricier|costlier|dearer": ("price", True, "more"), "expensive": ("price", True, "plain"),
    "cheap|inexpensive|affordable": ("price", False, "plain"),
}  # fmt: skip
"""What is said of an order: by what, if the most of it comes first, and how far it goes."""
_RATING = word_set("rating ratings rated review reviews star stars")
UNITS = word_set(
    """inch inches gb tb mb gigabytes hour hours minutes mah megapixels mp pixels watt watts w hz ghz day days weeks
    months year years kg kilo kilos g gram grams m cm mm meters k cores bar l liters litres db decibels percent %
    lumens nits volts people persons cups pages"""
)
"""Units of what is neither a price nor a rating."""
_BEST_RATING = 5
_LEAST_PRICE = 6
"""A smaller number without a currency is a rating or a number of pieces."""
_LEAST_BARE = 50
"""From here on a number without any word that tells what it is may well be a price, and is not passed over."""
_MOST_COUNTED = 10
"""How many products a list has at most."""


@dataclass(frozen=True, slots=True)
class Order:
    """Whether products are put in order by "price" or "rating", and which end comes first.

    `place` is the one that is meant ("the second cheapest"), `count` how many are ("the two cheapest").
    """

    field: str
    is_most_first: bool
    degree: Degree = "most"
    at: int = 0
    place: int = 0
    count: int | None = None

    @property
    def text(self) -> str:
        """How a heading tells it."""
        return f"the {'highest' if self.is_most_first else 'lowest'} {self.field} first"

    def number(self, product: Product) -> float:
        """Return what a product is put in order by."""
        return float(product.price if self.field == "price" else product.rating)

    def applied(self, found: Iterable[Product]) -> list[Product]:
        """Return products in order."""
        sign = -1 if self.is_most_first else 1
        return sorted(found, key=lambda each: (sign * self.number(each), -each.rating, each.id))

    def chosen(self, found: Iterable[Product]) -> list[Product]:
        """Return the ones that are meant, in order; two that are alike are both meant."""
        ordered = self.applied(found)
        if self.degree == "plain" or self.count:
            return ordered[: self.count]
        best = [self.number(each) for each in ordered[self.place : self.place + 1]]
        return [each for each in ordered if self.number(each) in best]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What is wished for; nothing of it has to be. `conditions` are limits of the price and the rating.

    `count` is how many, and `unread` an amount that was not understood: nothing that is found would be an answer then.
    """

    kind: str | None = None
    brands: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()
    conditions: tuple[Filter, ...] = ()
    order: Order | None = None
    count: int | None = None
    unread: str = ""

    @property
    def says_something(self) -> bool:
        """Whether it says more than a kind."""
        return bool(self.brands or self.unwanted or self.conditions or self.order)

    def refined(self, newer: "Wishes") -> "Wishes":
        """Return these wishes with newer ones beside them; what both speak of is as the newer ones say."""
        fields = {each.field for each in newer.conditions}
        brands = newer if newer.brands or newer.unwanted else self
        return Wishes(
            kind=newer.kind or self.kind,
            brands=brands.brands,
            unwanted=brands.unwanted,
            conditions=(*(each for each in self.conditions if each.field not in fields), *newer.conditions),
            order=newer.order or self.order,
            count=newer.count,
        )

    @property
    def where(self) -> tuple[Filter, ...]:
        """The wishes as filters. One of several brands is none of the others."""
        kind = (Filter("kind", "=", self.kind),) if self.kind else ()
        brand = (Filter("brand", "=", self.brands[0]),) if len(self.brands) == 1 else ()
        others = {each.brand for each in products().values()} - set(self.brands) if len(self.brands) > 1 else set()
        refused = (Filter("brand", "!=", each) for each in sorted(others | set(self.unwanted)))
        return (*kind, *brand, *refused, *self.conditions)

    @property
    def text(self) -> str:
        """The wishes in words: "phone, price < 500"."""
        parts = [self.kind or "", " or ".join(self.brands), *(f"not {brand}" for brand in self.unwanted)]
        parts += [f"{each.field} {each.operator} {each.value:g}" for each in self.conditions]
        return ", ".join(part for part in (*parts, self.order.text if self.order else "") if part)


def wishes_in(text: Text, before: str | None = None) -> Wishes:
    """Return what a text wishes for. `before` is the kind that was talked about: its camera is no other kind."""
    kinds = kinds_in(text, before)
    wanted, unwanted = brands_in(text)
    amounts: list[Limit | Number] = [*text.limits, *_bare(text)]
    limits = tuple(limit for each in amounts if (limit := _limit(text, each)))
    count = _count(text)
    return Wishes(
        kind=kinds[0] if len(kinds) == 1 else None,
        brands=tuple(brand for _, brand in wanted),
        unwanted=unwanted,
        conditions=limits,
        order=_order(text, {limit.field for limit in limits}, count),
        count=count,
        unread=text.unread or next((said for each in amounts if (said := _unread(text, each))), ""),
    )


def _bare(text: Text) -> list[Number]:
    """Return the numbers that set no limit by a word."""
    limited = {limit.number.at for limit in text.limits}
    return [number for number in text.numbers if number.at not in limited]


def _is_rating(text: Text, number: Number) -> bool:
    return bool({text.at(number.at - 1), text.at(number.at - 2), text.at(number.at - 3), number.unit} & _RATING)


def _limit(text: Text, amount: Limit | Number) -> Filter | None:
    """Return the limit of the price or the rating that an amount sets; a number that is neither is no limit."""
    number = amount.number if isinstance(amount, Limit) else amount
    operator = amount.operator if isinstance(amount, Limit) else None
    value = int(number.value) if float(number.value).is_integer() else number.value
    is_rest_of_rating = operator and number.value <= _BEST_RATING and not number.is_money and text.has("rat*|star*")
    if _is_rating(text, number) or is_rest_of_rating:
        return Filter("rating", operator or ">=", value)
    if number.is_money or (operator and value >= _LEAST_PRICE and number.unit not in UNITS):
        is_one = "one" in (text.at(number.at - 1), text.at(number.at - 2))
        return Filter("price", operator or ("=" if is_one else "<="), value)
    return None


def _unread(text: Text, amount: Limit | Number) -> str:
    """Return an amount that is no limit and yet may be meant as one: "at least 65 inch", "a laptop 900"."""
    number = amount.number if isinstance(amount, Limit) else amount
    if _limit(text, amount) or _is_order(text, number):
        return ""
    said = text.words.said(number.at, number.end)
    if isinstance(amount, Limit):
        return f"{said} {number.unit}" if number.unit in UNITS else ""
    is_alone = not number.unit or number.unit in STOP_WORDS or number.unit.removesuffix("s") in kind_words()
    return said if number.value >= _LEAST_BARE and is_alone else ""


def _is_order(text: Text, number: Number) -> bool:
    return text.at(number.at - 1) in ("order", "number", "orders")


def _count(text: Text) -> int | None:
    """Return how many products are wanted: "top 3", "two printers", "the three cheapest"."""
    words = {form for word in kind_words() for form in (f"{word}s", f"{word}es", word)}
    bare = [each for each in _bare(text) if not (each.is_money or each.unit in UNITS or _is_rating(text, each))]
    named = (int(each.value) for each in bare if words & {each.unit, text.at(each.end + 1)})
    count = text.count or next(named, None)
    return count if count and count <= _MOST_COUNTED else None


def _order(text: Text, limited: set[str], count: int | None) -> Order | None:
    """Return what products should be put in order by; "cheaper than 500" is a limit and no order."""
    is_order_only = any(text.at(at - 1) not in ("the", "that", "your") for at in text.places("first"))
    found = [
        Order(name, is_most_first, "plain" if is_order_only else degree, at, _place(text, at), count)
        for phrases, (name, is_most_first, degree) in _ORDERS.items()
        for at in text.places(phrases)
        if text.at(at - 1) != "how" and not (degree == "more" and name in limited)
    ]
    return min(found, key=lambda each: (each.degree == "plain", each.at), default=None)


def _place(text: Text, at: int) -> int:
    """Return which of the ordered is meant: "the second cheapest", "the cheapest one but one"."""
    if (before := text.at(at - 1)) in ORDINALS:
        return ORDINALS[before]
    return next((steps for place in range(at + 1, at + 5) if (steps := places_back(text, place))), 0)
