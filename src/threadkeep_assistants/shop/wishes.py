"""What a person wishes for, read from the words: a kind of product, brands, limits, features, an order.

It becomes filters of a search. What a follow-up does not say again is taken from the questions before it: "phones under
$500", then "from Sony?".
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from threadkeep.retrieval.base import Filter
from threadkeep_assistants.shop.catalogue import Product, brands_in, features_in, kinds_in, products, units
from threadkeep_assistants.vocabulary.words import Degree, Number, Text, word_set

_ADJECTIVES = {
    "cheap": ("price", False), "inexpensive": ("price", False), "affordable": ("price", False),
    "expensive": ("price", True), "dear": ("price", True), "pricey": ("price", True),
    "light": ("weight", False), "heavy": ("weight", True), "big": ("screen", True), "large": ("screen", True),
    "small": ("screen", False), "tiny": ("screen", False), "quiet": ("noise", False), "silent": ("noise", False),
    "loud": ("power", True), "fast": ("speed refresh processor", True), "quick": ("speed refresh processor", True),
    "powerful": ("processor power", True), "strong": ("power", True), "good": ("rating", True),
    "bad": ("rating", False), "popular": ("rating", True),
}  # fmt: skip
"""What adjectives speak of (the first that a kind has), and if much of it comes first."""
_MUCH, _LITTLE = word_set("good great decent long big large high strong"), word_set("low small short bad")
AMOUNTS = frozenset(_ADJECTIVES) | _MUCH | _LITTLE
"""Adjectives that only say how much of something is wanted."""
_NAMES = {
    "ram": "memory", "display": "screen", "megapixels": "camera", "review": "rating", "reviews": "rating",
    "rated": "rating", "ratings": "rating", "stars": "rating", "star": "rating",
}  # fmt: skip
"""Other names of numbers."""
_NEAR = 3
"""Words at most between an amount and what it is an amount of."""
_UNITS = word_set("inch inches gb hour hours mah megapixels watt watts w hz day days kg g m k cores bar l db percent %")
_LEAST_PRICE = 6
"""A smaller number without a currency is a rating or a number of pieces."""


@dataclass(frozen=True, slots=True)
class Order:
    """Which number products are put in order by, and which end comes first."""

    field: str
    is_most_first: bool
    degree: Degree = "most"
    at: int = 0

    @property
    def text(self) -> str:
        """How a heading tells it."""
        return f"the {'highest' if self.is_most_first else 'lowest'} {self.field} first"

    def applied(self, found: Iterable[Product]) -> list[Product]:
        """Return products in order; those that lack the number are left out."""
        held = [(number, each) for each in found if (number := each.number(self.field)) is not None]
        sign = -1 if self.is_most_first else 1
        return [each for _, each in sorted(held, key=lambda pair: (sign * pair[0], -pair[1].rating, pair[1].id))]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What is wished for; nothing of it has to be. `conditions` are limits of numbers, and features to have or lack."""

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

    def for_kind(self, kind: str) -> "Wishes":
        """Return what of these wishes can be wished of another kind: a price, a rating, a brand that makes it."""
        made = {product.brand for product in products().values() if product.kind == kind}
        general = tuple(each for each in self.conditions if each.field in ("price", "rating"))
        order = self.order if self.order and self.order.field in ("price", "rating") else None
        brands = tuple(brand for brand in self.brands if brand in made)
        return replace(self, kind=kind, brands=brands, conditions=general, order=order)

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
        for each in self.conditions:
            has = each.field.replace("has ", "" if each.value else "without ")
            parts.append(has if isinstance(each.value, bool) else f"{each.field} {each.operator} {each.value:g}")
        return ", ".join(part for part in (*parts, self.order.text if self.order else "") if part)


def wishes_in(text: Text, before: str | None = None) -> Wishes:
    """Return what a text wishes for. `before` is the kind that was talked about: it says what "memory" belongs to."""
    kinds = kinds_in(text, before)
    kind = kinds[0] if len(kinds) == 1 else None
    about = kind or (None if kinds else before)
    wanted, unwanted = brands_in(text)
    named = features_in(text, about) if about else {}
    refused = text.excluded([(at, at + 1) for at in named.values()])
    features = [Filter(f"has {name}", "=", not no) for name, no in zip(named, refused, strict=True)]
    limits = tuple(_limits(text, about, set(named.values())))
    return Wishes(
        kind=kind,
        brands=tuple(brand for _, brand in wanted),
        unwanted=unwanted,
        conditions=(*limits, *features),
        order=_order(text, about, {limit.field for limit in limits}),
    )


def _limits(text: Text, kind: str | None, features: set[int]) -> Iterator[Filter]:
    """Yield the limits of the price, the rating and specifications; a number that is none of them is no limit."""
    by_number = {limit.number: limit for limit in text.limits}
    for number in text.numbers:
        if number.at in features:
            continue
        limit = by_number.get(number)
        value = int(number.value) if number.value.is_integer() else number.value
        near = {text.at(number.at - 1), text.at(number.at - 2), text.at(number.at - 3), number.unit}
        if "rating" in {_NAMES.get(word, word) for word in near} or number.unit.startswith("star"):
            yield Filter("rating", limit.operator if limit else ">=", value)
        elif spec := _spec(text, number, kind):
            yield Filter(spec, limit.operator if limit else "=", value)
        elif number.is_money or (limit and value >= _LEAST_PRICE and number.unit not in _UNITS):
            yield Filter("price", limit.operator if limit else "<=", value)


def _spec(text: Text, number: Number, kind: str | None) -> str | None:
    """Return the specification of a kind that a number with a unit speaks of."""
    named = {_NAMES.get(word, word) for word in (number.unit, text.at(number.end + 1), text.at(number.end + 2))}
    fitting = [
        (field in named, least <= number.value <= most, field)
        for field, (unit, least, most) in (units(kind) if kind else {}).items()
        if unit.rstrip("s") == number.unit.rstrip("s") or (field in named and number.unit in _UNITS)
    ]
    return max(fitting)[2] if fitting else None


def _order(text: Text, kind: str | None, limited: set[str]) -> Order | None:
    """Return what products of a kind should be put in order by; "cheaper than 500" is a limit and no order."""
    known = {"price", "rating", *(units(kind) if kind else ())}
    for at in text.places("sorted by|sort by|sort them by|ordered by|ranked by"):
        names = [_NAMES.get(text.at(place), text.at(place)) for place in range(at + 2, at + 5)]
        if field := next((name for name in names if name in known), None):
            return Order(field, field != "price", "plain", at)
    found = next(_by_name(text, known), None) or next(_by_adjective(text, known), None)
    if found is None or (found.degree == "more" and found.field in limited):
        return None
    return replace(found, degree="plain") if text.at(len(text.words) - 1) == "first" else found


def _by_name(text: Text, known: set[str]) -> Iterator[Order]:
    """Yield the orders by a number that is named beside an amount: "a long battery life", "highest rated"."""
    degrees: dict[str, tuple[bool, Degree]] = {
        "most": (True, "most"), "top": (True, "most"), "more": (True, "more"),
        "least": (False, "most"), "less": (False, "more"),
    }  # fmt: skip
    amounts = [(each.at, each.word in _MUCH, each.degree) for each in text.graded(_MUCH | _LITTLE)]
    amounts += [(at, *degrees[word.text]) for at, word in enumerate(text.words) if word.text in degrees]
    for at, is_much, degree in sorted(amounts):
        behind = [text.at(place) for place in range(at + 1, at + 1 + _NEAR)]
        field = next((name for word in behind if (name := _NAMES.get(word, word)) in known), None)
        is_limit = behind[0] == "than" or any(number.at == at + 1 for number in text.numbers)
        if field and not is_limit and text.at(at - 1) != "how":
            yield Order(field, is_much, degree, at)


def _by_adjective(text: Text, known: set[str]) -> Iterator[Order]:
    for each in text.graded(_ADJECTIVES):
        fields, is_most_first = _ADJECTIVES[each.word]
        field = next((name for name in fields.split() if name in known), None)
        if field and text.at(each.at - 1) != "how" and (each.word not in ("good", "bad") or each.degree != "plain"):
            yield Order(field, is_most_first is not each.is_turned, each.degree, each.at)
