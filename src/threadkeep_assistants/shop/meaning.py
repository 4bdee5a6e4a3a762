"""What a question means: products that were shown, or wishes that a search can fill.

Products are meant by name, by their place in a list, as "it" and "them", or as "the cheapest of those". Everything else
is a search, with what was wished for before where the question goes on with it.
"""

import re
from dataclasses import dataclass, field, replace

from threadkeep.retrieval.base import Filter
from threadkeep.retrieval.positions import referred
from threadkeep_assistants.shop.catalogue import Product, named_in
from threadkeep_assistants.shop.features import metadata
from threadkeep_assistants.shop.measures import in_order, value_of
from threadkeep_assistants.shop.names import corrected, kind_in
from threadkeep_assistants.shop.question import Question
from threadkeep_assistants.shop.shown import Group, as_list, exchanges, groups
from threadkeep_assistants.shop.wishes import Wishes, folded, is_same_for, wishes_in

_IT = re.compile(
    r"\b(?:it|its|it's|that|this|the product|es|lo|la)\b(?! (?:is|are) there)|\btell me more\b|\bmore (?:details|info)"
)
_THEM = re.compile(
    r"\b(?:them|those|these|they|their|both|all of|of the (?:list|five|four|three)|each)\b"
    r"|\bwhich (?:one|ones|is|are|has|have|do|does|of|can)\b|^\W*(?:and )?(?:the )?(?:\w+est|best rated)(?: one)?\W*$"
)
_MANY = re.compile(r"\b(?:ones|\w+s)\b")
_MORE = re.compile(
    r"\b(?:alternatives?|others?|other (?:options?|models?|choices?|products?)|another (?:one|option|model|choice)"
    r"|(?:any|some)thing else|what else|similar|like (?:it|that|this)|(?:some|any)thing \w+er)\b"
    r"|^\W*(?:show |give )?(?:me )?(?:some )?more\W*$"
)
_OTHER_BRAND = re.compile(r"\b(?:other|another|different) (?:brands?|makers?|manufacturers?|compan\w+)\b")
_RELATIVE = re.compile(
    r"\b(?:something|anything|any|a|an|one that|ones|is there|are there|have|show|too|even|still|nothing|one with)\b"
)
_CHOOSING = re.compile(r"\bwhich\b|\bthe (?:\w+er|more|less)\b|\bof (?:them|those|these|the)\b")
_NEXT = re.compile(r"\b(?:the )?next(?: one)?\b|\bone after (?:it|that|this)\b")
_BACK = re.compile(r"\b(?:back to|return to|again)\b")
_BOTH = re.compile(r"\b(?:both|the two|them|these|those)\b")
_ASKS = re.compile(r"\W*(?:and |but |so )*(?:what|how|does|do|is|are|has|have|who|where|why|can|will)\b")
_COMPARED = re.compile(r"\bcompare (?:it|this|that)\b|\b(?:it|this|that)\b.*\b(?:compar\w*|than|versus|vs)\b")
_THAN_ONE = re.compile(r"\bthan (?:the|it|this|that)\b")
_RANKS = {"second": 1, "2nd": 1, "third": 2, "3rd": 2, "fourth": 3, "4th": 3}
_RANK = re.compile(rf"\b(?P<rank>{'|'.join(_RANKS)})[ -](?:most|least|best|\w+est)\b")
_SAME_PRICE = re.compile(r"\b(?:same|that|similar) (?:price|money|budget)\b")
_ALONE = 4
"""A question of so few words that names nothing is about what was talked about: "any reviews?"."""
_AGAIN = re.compile(r"^\W*(?:(?:and|or|but|ok|then|what about|how about)\W+)*(?:with|for|under|from)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """`products` are meant, or else `wishes` are to be looked for, without those that are `excluded`."""

    products: Group = ()
    wishes: Wishes = field(default_factory=Wishes)
    excluded: Group = ()
    why: str = ""
    is_named: bool = False
    """Whether it names products or their places, so that nobody has to guess."""
    is_new_kind: bool = False
    is_choice: bool = False
    """Whether products were to be chosen from those that were shown; none may be left."""

    @property
    def where(self) -> tuple[Filter, ...]:
        """The wishes as filters of a search."""
        return (*self.wishes.where, *(Filter("id", "!=", product.id) for product in self.excluded))


def meaning(asked: Question) -> Meaning:
    """Return what a question means, given what was said and shown before it."""
    return _Reader(asked).read()


class _Reader:
    """One question before its history."""

    def __init__(self, asked: Question) -> None:
        self.text = asked.text
        self.lower = asked.text.lower().replace("\u2019", "'")
        self.shown = groups(asked.history)
        self.newest: Group = self.shown[-1] if self.shown else ()
        self.several: Group = next((group for group in reversed(self.shown) if len(group) > 1), ())
        self.before = _wished(asked)
        self.kind = self.newest[0].kind if self.newest else self.before.kind
        self.own = wishes_in(asked.text, self.kind)

    def read(self) -> Meaning:
        named = named_in(self.text)
        if named and self.own.kind and _THAN_ONE.search(self.lower):
            self.newest, self.kind, self.own = named, named[0].kind, replace(self.own, brands=())
            named = ()
        if named:
            return self._pointed((*named, *self._compared(named)), is_named=True)
        if back := self._back():
            return self._pointed(back, is_named=True)
        if self.own.kind and self.own.kind != self.kind:
            return self._of_another_kind()
        if self.newest and (relative := self._relative()):
            return relative
        if self.newest and (found := self._referred()):
            return found
        return self._search()

    def _pointed(self, found: Group, *, is_named: bool = False) -> Meaning:
        each = tuple(dict.fromkeys(found))
        why = f"it means {' and '.join(product.name for product in each)}"
        return Meaning(products=each, is_named=is_named, why=why)

    def _back(self) -> Group:
        """Return the newest list of a kind that somebody wants to go back to."""
        if not (self.own.kind and _BACK.search(self.lower)):
            return ()
        return next((group for group in reversed(self.shown) if len(group) > 1 and group[0].kind == self.own.kind), ())

    def _compared(self, named: Group) -> Group:
        """Return what something named is compared with: "compare it to the Sony Onyx S 9"."""
        return tuple(each for each in self.newest[:1] if each not in named and _IT.search(self.lower))

    def _of_another_kind(self) -> Meaning:
        if is_same_for(self.text) and self.own.kind:
            kept = self.before.for_kind(self.own.kind).refined(self.own)
            return Meaning(wishes=kept, is_new_kind=True, why=f"it wants the same of another kind: {kept.text}")
        why = "it asks for another kind of product" if self.kind else ""
        return Meaning(wishes=self.own, is_new_kind=bool(self.kind), why=why)

    def _relative(self) -> Meaning | None:
        """Something that is measured by what was shown: a cheaper one, another brand, alternatives."""
        order, excluded = self.own.order, self.newest
        limits = self.before.refined(replace(self.own, order=None))
        is_relative = _RELATIVE.search(self.lower) is not None or len(self.text.split()) == 1
        if order and order.degree == "more" and is_relative and not _CHOOSING.search(self.lower):
            values = [value for each in self.newest if (value := value_of(each, order.field)) is not None]
            if values:
                best = max(values) if order.is_most_first else min(values)
                limit = Filter(order.field, ">" if order.is_most_first else "<", best)
                limits = limits.refined(Wishes(limits=(limit,), order=order))
        elif _OTHER_BRAND.search(self.lower):
            brands = tuple(sorted({product.brand for product in self.newest}))
            limits = limits.refined(Wishes(unwanted=brands))
        elif _MORE.search(self.lower):
            excluded = tuple(dict.fromkeys(each for group in self.shown for each in group))
        else:
            return None
        if _SAME_PRICE.search(self.lower):
            limits = limits.refined(Wishes(limits=(Filter("price", "<=", max(each.price for each in self.newest)),)))
        wanted = replace(limits, kind=limits.kind or self.kind)
        return Meaning(wishes=wanted, excluded=excluded, why=f"it goes on from what was shown: {wanted.text}")

    def _referred(self) -> Meaning | None:
        chosen = self._choice()
        if chosen is not None:
            return chosen
        if pair := self._pair():
            return self._pointed(pair)
        is_new = bool(self.own.kind and (self.own.order or _is_plural(self.text, self.own.kind)))
        if not is_new and not self.own.limits and (place := self._placed()):
            compared = self.newest if len(self.newest) == 1 and _COMPARED.search(self.lower) else ()
            return self._pointed((*compared, *place), is_named=True)
        if self.own.kind:
            return None
        if _NEXT.search(self.lower) and (behind := self._next()):
            return self._pointed(behind, is_named=True)
        if _THEM.search(self.lower) and self.several:
            return self._pointed(self.several)
        is_bare = len(self.text.split()) <= _ALONE or _ASKS.match(self.lower) is not None
        return self._pointed(self.newest) if _IT.search(self.lower) or (is_bare and not self._adds()) else None

    def _next(self) -> Group:
        """Return what stands in the newest list behind the product that was looked at."""
        if len(self.newest) != 1 or self.newest[0] not in self.several:
            return ()
        place = self.several.index(self.newest[0]) + 1
        return self.several[place : place + 1]

    def _pair(self) -> Group:
        """Return the two products that were looked at last, one after the other, if "both" may mean them."""
        last = self.shown[-2:]
        is_pair = len(last) == 2 and all(len(group) == 1 for group in last) and last[0] != last[1]
        return (*last[0], *last[1]) if is_pair and _BOTH.search(self.lower) else ()

    def _adds(self) -> bool:
        """Whether it adds a wish to those before; one word about one product asks if the product has it."""
        if len(self.newest) == 1 and self.own.features and "about" not in self.lower:
            return _AGAIN.search(self.lower) is not None
        return self.own.says_something or _AGAIN.search(self.lower) is not None

    def _choice(self) -> Meaning | None:
        """Some of those that were shown: the lightest, those with 128 GB, those under $300."""
        own, group = self.own, self.several
        is_among = _THEM.search(self.lower) is not None
        is_superlative = own.order is not None and own.order.degree != "plain" and not _RELATIVE.match(self.lower)
        if not group or own.kind or not (is_among or is_superlative) or _THAN_ONE.search(self.lower):
            return None
        if not (own.limits or own.features or own.order):
            return None
        if len(self.newest) == 1 and not is_among and own.order is None:
            return None
        left = tuple(product for product in group if all(_fits(product, each) for each in (*own.limits, *own.features)))
        if own.order:
            left = tuple(in_order(left, own.order))
            rank = _RANK.search(self.lower)
            place = _RANKS[rank["rank"]] if rank else 0
            left = left if own.order.degree == "plain" else _best(left[place:], own.order.field)
        names = " and ".join(product.name for product in left) or "none of them"
        return Meaning(products=left, wishes=own, is_choice=True, why=f"it chooses from what was shown: {names}")

    def _placed(self) -> Group:
        found = referred(self.text, [[as_list(group)] for group in self.shown if len(group) > 1])
        return tuple(product for item in found.items for product in named_in(" ".join(item.names))) if found else ()

    def _search(self) -> Meaning:
        is_more = self.own.says_something or _AGAIN.search(self.lower) is not None or not self.newest
        goes_on = self.own.kind is None and is_more
        if not goes_on or not self.kind:
            return Meaning(wishes=self.own)
        kept = replace(self.before, kind=self.kind) if self.before.kind in (None, self.kind) else Wishes(kind=self.kind)
        wanted = kept.refined(self.own)
        return Meaning(wishes=wanted, why=f"it goes on with what was wished for: {wanted.text}")


def _wished(asked: Question) -> Wishes:
    """Return what the questions before wished for. One that was answered with one product was about that product."""
    searches: list[Wishes] = []
    kind: str | None = None
    for question, shown in exchanges(asked.history):
        text = corrected(question)
        wishes = wishes_in(text, kind)
        if len(shown) != 1 or (wishes.kind and wishes.limits):
            searches.append(wishes if wishes.kind or not kind else replace(wishes, kind=kind))
        kind = shown[0].kind if shown else wishes.kind or kind
    return folded(searches)


def _fits(product: Product, limit: Filter) -> bool:
    """Whether a product meets a condition, as the index would say."""
    held = metadata(product).get(limit.field)
    if held is None or isinstance(held, str) != isinstance(limit.value, str):
        return False
    compared = {
        "=": held == limit.value,
        "<": held < limit.value,  # type: ignore[operator]
        "<=": held <= limit.value,  # type: ignore[operator]
        ">": held > limit.value,  # type: ignore[operator]
        ">=": held >= limit.value,  # type: ignore[operator]
    }
    return compared.get(limit.operator, held != limit.value)


def _best(products: Group, field: str) -> Group:
    """Return the first and those that are as good."""
    return tuple(each for each in products if value_of(each, field) == value_of(products[0], field))


def _is_plural(text: str, kind: str) -> bool:
    return any(kind_in(word) == kind for word in _MANY.findall(text.lower()) if word.endswith("s"))
