"""What a person wishes for, read from the words: a kind of product, brands, limits, features, an order.

It becomes filters of the search. What a follow-up does not say again is taken from the questions that it follows:
"phones under $500", then "from Sony?".
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from threadkeep.retrieval.base import Filter, Operator
from threadkeep_assistants.shop.catalogue import products
from threadkeep_assistants.shop.features import features_in, units
from threadkeep_assistants.shop.measures import NAMES, Order, order_in
from threadkeep_assistants.shop.names import brands_in, kind_in, kinds_in

_AMOUNT = r"(?:us)?[$€]?\s?(?P<{}>\d{{1,3}}(?:,\d{{3}})+|\d+(?:\.\d+)?)(?:\s?(?:dollars|usd|euros?|bucks|[$€]))?"
_BETWEEN = re.compile(
    rf"\b(?:between|from|zwischen|entre)\s+{_AMOUNT.format('low')}\s+(?:and|to|und|y|et)\s+{_AMOUNT.format('high')}"
)
_LIMIT = re.compile(
    r"(?:\b(?:(?P<below>under|below|(?:less|lower|cheaper|lighter|smaller) than|unter|weniger als|menos de|moins de)"
    r"|(?P<most>up to|at most|max(?:imum)?|within|no more than|bis|höchstens|hasta|jusqu'à|budget (?:of|is))"
    r"|(?P<above>over|above|(?:more|higher|bigger|larger|heavier) than|über|más de|plus de)"
    r"|(?P<least>at least|from|starting at|no less than|ab|mindestens))\s+)?"
    + _AMOUNT.format("number")
    + r"\s*(?P<behind>[-\w]*)"
)
_OPERATORS: dict[str, Operator] = {"below": "<", "most": "<=", "above": ">", "least": ">="}
_MONEY = re.compile(r"[$€]|dollar|usd|euro|bucks")
_LEAST_PRICE = 6
"""A smaller number without a currency is a rating or a number of pieces."""
_UNIT = re.compile(r"inch(?:es)?|gb|gigabytes?|hours?|mah|megapixels?|watts?|w|hz|days?|kg|g|mm?|k|cores|bar|l|db")
_NO = re.compile(r"\b(?:no|not|without|isn't|doesn't|ohne|sin|sans)\s+(?:\w+\s+)?$")
_SAME = re.compile(
    r"^\W*(?:and|what about|how about|the same|same|now|und|y|et)\b(?:\s+(?:for|with|in|the|about|some))*"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What is wished for; nothing of it has to be."""

    kind: str | None = None
    brands: tuple[str, ...] = ()
    unwanted: tuple[str, ...] = ()
    limits: tuple[Filter, ...] = ()
    features: tuple[Filter, ...] = ()
    order: Order | None = None

    @property
    def says_something(self) -> bool:
        """Whether it says more than a kind."""
        return bool(self.brands or self.unwanted or self.limits or self.features or self.order)

    def refined(self, newer: "Wishes") -> "Wishes":
        """Return these wishes with newer ones beside them; what both speak of is as the newer ones say."""
        fields = {limit.field for limit in newer.limits}
        named = {feature.field for feature in newer.features}
        has_brand = bool(newer.brands or newer.unwanted)
        return Wishes(
            kind=newer.kind or self.kind,
            brands=newer.brands if has_brand else self.brands,
            unwanted=newer.unwanted if has_brand else self.unwanted,
            limits=(*(limit for limit in self.limits if limit.field not in fields), *newer.limits),
            features=(*(each for each in self.features if each.field not in named), *newer.features),
            order=newer.order or self.order,
        )

    def for_kind(self, kind: str) -> "Wishes":
        """Return what of these wishes can be wished of another kind: a price, a rating, a brand that makes it."""
        made = {product.brand for product in products().values() if product.kind == kind}
        return replace(
            self,
            kind=kind,
            brands=tuple(brand for brand in self.brands if brand in made),
            limits=tuple(limit for limit in self.limits if limit.field in ("price", "rating")),
            features=(),
            order=self.order if self.order and self.order.field in ("price", "rating") else None,
        )

    @property
    def where(self) -> tuple[Filter, ...]:
        """The wishes as filters. One of several brands is none of the others."""
        kind = (Filter("kind", "=", self.kind),) if self.kind else ()
        refused = self.unwanted
        if len(self.brands) > 1:
            refused = tuple(sorted({each.brand for each in products().values()} - set(self.brands)))
        brand = tuple(Filter("brand", "=", brand) for brand in self.brands) if len(self.brands) == 1 else ()
        return (*kind, *brand, *(Filter("brand", "!=", each) for each in refused), *self.limits, *self.features)

    @property
    def text(self) -> str:
        """The wishes in words: "phone, price < 500"."""
        parts = [self.kind or "", " or ".join(self.brands), *(f"not {brand}" for brand in self.unwanted)]
        parts += [f"{each.field} {each.operator} {each.value:g}" for each in self.limits]
        parts += [each.field.replace("has ", "" if each.value else "without ") for each in self.features]
        return ", ".join(part for part in (*parts, self.order.text if self.order else "") if part)


def wishes_in(text: str, before: str | None = None) -> Wishes:
    """Return what a text wishes for. `before` is the kind that was talked about: it says what "memory" belongs to."""
    lower = text.lower().replace("\u2019", "'")
    kind = None if before and is_part(text, before) else kind_in(text)
    about = kind or (before if not kinds_in(text) or before else None)
    wanted, unwanted = brands_in(text)
    named = features_in(text, about) if about else {}
    limits = _limits(_without(lower, named), about)
    return Wishes(
        kind=kind,
        brands=wanted,
        unwanted=unwanted,
        limits=limits,
        features=tuple(Filter(f"has {name}", "=", not _NO.search(lower[:at])) for name, at in sorted(named.items())),
        order=_order(lower, about, limits),
    )


def _order(text: str, kind: str | None, limits: Sequence[Filter]) -> Order | None:
    """Return the order that is wished for; "cheaper than 500" is a limit and no order."""
    order = order_in(text, kind)
    is_limit = order and order.degree == "more" and any(limit.field == order.field for limit in limits)
    return None if is_limit else order


def _without(text: str, words: Iterable[str]) -> str:
    """Return a text without the names of features: "5G" is no weight."""
    for word in words:
        text = re.sub(rf"\b{re.escape(word)}\b", " ", text)
    return text


def is_part(question: str, kind: str) -> bool:
    """Whether a question names something that products of a kind have: the camera of a phone is no other kind."""
    parts = {name for product in products().values() if product.kind == kind for name in product.specs}
    return bool(parts & set(re.findall(r"[a-z]+", question.lower())))


def is_same_for(question: str) -> bool:
    """Whether a question names a kind and nothing else, so that it wants the same as before: "and tablets?"."""
    begin = _SAME.match(question.lower())
    return begin is not None and len(re.findall(r"\w+", question[begin.end() :])) <= 2


def _limits(text: str, kind: str | None) -> tuple[Filter, ...]:
    if between := _BETWEEN.search(text):
        return (Filter("price", ">=", _number(between["low"])), Filter("price", "<=", _number(between["high"])))
    return tuple(limit for match in _LIMIT.finditer(text) if (limit := _limit(match, text, kind)))


def _limit(match: re.Match[str], text: str, kind: str | None) -> Filter | None:
    """Return a limit of the price, the rating or a specification; a number that is none of them is no limit."""
    number, behind = _number(match["number"]), match["behind"].lstrip("-")
    operator: Operator = next((operator for name, operator in _OPERATORS.items() if match[name]), "=")
    if {"rating", "rated", "ratings"} & {*_before(text, match), behind} or behind.startswith("star"):
        return Filter("rating", ">=" if operator == "=" else operator, number)
    if field := _spec(number, behind, text[match.end() :], kind):
        return Filter(field, operator, number)
    is_money = _MONEY.search(match[0]) is not None or number >= _LEAST_PRICE
    return Filter("price", operator, number) if operator != "=" and is_money and not _UNIT.fullmatch(behind) else None


def _before(text: str, match: re.Match[str]) -> list[str]:
    return re.findall(r"[a-z]+", text[: match.start()])[-2:]


def _spec(number: float, behind: str, rest: str, kind: str | None) -> str | None:
    """Return the specification of a kind that a number with a unit speaks of."""
    named = {NAMES.get(word, word) for word in (behind, *re.findall(r"[a-z]+", rest)[:2])}
    fitting = [
        (field in named, least <= number <= most, field)
        for field, (unit, least, most) in (units(kind) if kind else {}).items()
        if unit.rstrip("s") == behind.rstrip("s") or (field in named and _UNIT.fullmatch(behind))
    ]
    return max(fitting)[2] if fitting else None


def _number(text: str) -> int | float:
    number = float(text.replace(",", ""))
    return int(number) if number.is_integer() else number


def folded(searches: Sequence[Wishes]) -> Wishes:
    """Return what is wished for after several questions, oldest first: another kind begins anew."""
    kept = Wishes()
    for wishes in searches:
        kept = wishes if wishes.kind and wishes.kind != kept.kind else kept.refined(wishes)
    return kept
