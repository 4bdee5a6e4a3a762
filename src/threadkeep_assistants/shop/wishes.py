"""What a person wishes for, read from the words: a kind of product, brands, a price, a rating, an order of the two.

It becomes filters of a search; everything else that is wished for, the search looks for by its words. What a follow-up
does not say again is taken from the questions before it: "phones under $500", then "from Sony?".
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from threadkeep.retrieval.base import Filter
from threadkeep_assistants.shop.catalogue import Product, brands_in, kinds_in, products
from threadkeep_assistants.vocabulary.words import Text, word_set

Degree = Literal["plain", "more", "most"]
_ORDERS: dict[str, tuple[str, bool, Degree]] = {
    "best rated|highest rated|top rated": ("rating", True, "most"), "by rating": ("rating", True, "plain"),
    "better rated|higher rated|better rating|higher rating": ("rating", True, "more"),
    "worst rated|lowest rated": ("rating", False, "most"),
    "by price": ("price", False, "plain"), "cheapest|least expensive": ("price", False, "most"),
    "cheaper|less expensive": ("price", False, "more"), "most expensive|priciest|costliest": ("price", True, "most"),
    "more expensive|pricier|costlier": ("price", True, "more"), "expensive": ("price", True, "plain"),
    "cheap|inexpensive|affordable": ("price", False, "plain"),
}  # fmt: skip
"""What is said of an order: by what, if the most of it comes first, and how far it goes."""
_RATING = word_set("rating ratings rated review reviews star stars")
UNITS = word_set("inch inches gb hour hours mah megapixels watt watts w hz day days kg g m k cores bar l db percent %")
"""Units of what is neither a price nor a rating."""
_LEAST_PRICE = 6
"""A smaller number without a currency is a rating or a number of pieces."""


@dataclass(frozen=True, slots=True)
class Order:
    """Whether products are put in order by "price" or "rating", and which end comes first."""

    field: str
    is_most_first: bool
    degree: Degree = "most"
    at: int = 0

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What is wished for; nothing of it has to be. `conditions` are limits of the price and the rating."""

    kind: str | None = None
    brands: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()
    conditions: tuple[Filter, ...] = ()
    order: Order | None = None

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
    limits = tuple(_limits(text))
    return Wishes(
        kind=kinds[0] if len(kinds) == 1 else None,
        brands=tuple(brand for _, brand in wanted),
        unwanted=unwanted,
        conditions=limits,
        order=_order(text, {limit.field for limit in limits}),
    )


def _limits(text: Text) -> Iterator[Filter]:
    """Yield the limits of the price and the rating; a number that is neither is no limit."""
    limited = {limit.number.at for limit in text.limits}
    told = [(limit.number, limit) for limit in text.limits]
    for number, limit in (*told, *((number, None) for number in text.numbers if number.at not in limited)):
        value = int(number.value) if float(number.value).is_integer() else number.value
        near = {text.at(number.at - 1), text.at(number.at - 2), text.at(number.at - 3), number.unit}
        if near & _RATING:
            yield Filter("rating", limit.operator if limit else ">=", value)
        elif number.is_money or (limit and value >= _LEAST_PRICE and number.unit not in UNITS):
            yield Filter("price", limit.operator if limit else "<=", value)


def _order(text: Text, limited: set[str]) -> Order | None:
    """Return what products should be put in order by; "cheaper than 500" is a limit and no order."""
    for phrases, (name, is_most_first, degree) in _ORDERS.items():
        for at in text.places(phrases):
            if text.at(at - 1) != "how" and not (degree == "more" and name in limited):
                return Order(name, is_most_first, "plain" if text.has("first") else degree, at)
    return None
