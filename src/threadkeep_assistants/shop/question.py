"""The question that the shop is asked, and what it means: products that were shown, or wishes that a search can fill.

Products are meant by name, by their place in a list, as "it", "them" and "the others", or as "the cheapest of those".
Everything else is a search, with what was wished for before where the question goes on with it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Literal

from threadkeep.conversation.blocks import Citation
from threadkeep.conversation.message import Message, Role
from threadkeep.text.words import content_words
from threadkeep_assistants.shop.catalogue import Product, brands_in, catalogue_words, kind_words, named_in, products
from threadkeep_assistants.shop.wishes import UNITS, Order, Wishes, wishes_in
from threadkeep_assistants.vocabulary.references import Shown, list_named, references
from threadkeep_assistants.vocabulary.scanning import MOST_CHARACTERS, word_set
from threadkeep_assistants.vocabulary.words import Text
from threadkeep_retrieval.base import Filter, fits

Group = tuple[Product, ...]

_ALONE = 4
"""A question of so few words that names nothing is about what was talked about: "any reviews?"."""
_STOCK = "stock|available|availability|in store|left|have it|have them|sold out|pieces"
_ABOUT_ORDER = "order|orders|ordered|arrive|arrives|package|parcel|delivered|shipped|where is my|track"
_WHICH = "which one|which ones|which is|which are|which has|which have|which do|which does|which of|which can"
_MORE = (
    "alternative|alternatives|any others|other options|other models|other choices|another one|another option"
    "|another model|anything else|something else|what else|similar|like it|like that"
)
_SOME = "something|anything|any|is there|are there|have|show|even|still|nothing|one with|one that|ones|a|an"
_ASKS = "what|how|does|do|is|are|has|have|who|where|why|can|will|and|but|so"
_ADDS = "ok|then|with|for|under|from|only|just|same|now"
_COMPARES = "compar*|versus|vs|than|difference*"
_SEVERAL = frozenset({"them", "two", "others"})
_ONE = frozenset({"place", "it", "next", "other"})
_COUNTING = word_set("find found show shown total fit altogether")


@dataclass(frozen=True, kw_only=True)
class Question:
    """The newest question as it was written, its message's id, and the messages before it."""

    id: str = "none"
    written: str = ""
    history: tuple[Message, ...] = ()

    @classmethod
    def of(cls, messages: Sequence[Message]) -> "Question":
        """Take the newest question out of a branch; an empty one if nobody asked anything."""
        at = max((index for index, message in enumerate(messages) if message.role is Role.USER), default=-1)
        if at < 0:
            return cls(history=tuple(messages))
        return cls(id=messages[at].id, written=messages[at].content, history=tuple(messages[:at]))

    @property
    def text(self) -> str:
        """The beginning of the question."""
        return self.written[:MOST_CHARACTERS]

    @cached_property
    def words(self) -> Text:
        """Its words."""
        return Text(self.written)

    @property
    def spoken(self) -> tuple[Message, ...]:
        """The messages before it without answers that name no product: they say nothing about what is looked for."""
        return tuple(message for message in self.history if message.role is not Role.ASSISTANT or cited(message))

    @property
    def is_about_stock(self) -> bool:
        """Whether somebody wants to know if something is there."""
        return self.words.has(_STOCK)

    @property
    def order(self) -> str | None:
        """The order that is asked about: named here, or named before and meant here; "" if it is not named at all."""
        if (found := _order_in(self.words)) or not self.words.has(_ABOUT_ORDER):
            return found
        behind = [at + 1 for at in self.words.places(f"{_ABOUT_ORDER}|number")]
        near = {place for at in behind for place in (at, at + 1) if self.words.at(at) not in ("a", "an", "some")}
        number = next((f"{each.value:g}" for each in self.words.numbers if each.at in near and each.value >= 100), "")
        earlier = (_order_in(Text(each.content)) for each in reversed(self.history) if each.role is Role.USER)
        return number or next((found for found in earlier if found), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Meaning:
    """What is meant: `products`, or else `wishes` to look for.

    A choice is made from what was shown, and may leave none; a count is of all that fit; where it is unclear, something
    was pointed at that was not shown. What is certain is named, so that nobody has to guess.
    """

    products: Group = ()
    wishes: Wishes = field(default_factory=Wishes)
    why: str = ""
    is_certain: bool = False
    how: Literal["search", "choice", "count", "unclear"] = "search"


def cited(message: Message) -> Group:
    """Return the products that an answer cites, in the order in which it names them."""
    ids = [block.source for block in message.blocks if isinstance(block, Citation)]
    return tuple(products()[id] for id in dict.fromkeys(ids) if id in products())


def meaning(asked: Question) -> Meaning:
    """Return what a question means, given what was said and shown before it."""
    return _Reader(asked).read()


class _Reader:
    """One question before its history."""

    def __init__(self, asked: Question) -> None:
        self.text, self.line = asked.words, asked.text
        groups = (cited(message) for message in asked.history if message.role is Role.ASSISTANT)
        self.shown = Shown(tuple(group for group in groups if group))
        self.before = _wished(asked.history)
        self.kind = self.shown.newest[0].kind if self.shown.newest else self.before.kind
        self.own = wishes_in(self.text, self.kind)
        self.pointed = references(self.text)
        self.refers = {reference.kind for reference in self.pointed}

    def read(self) -> Meaning:
        own = self.own.kind
        if measured := self._measured():
            return measured
        if named := self._named():
            return named
        if self.own.unread:
            wishes = replace(self.own, kind=own or self.kind)
            return Meaning(how="unclear", wishes=wishes, why=f"I cannot make a limit of “{self.own.unread}”")
        if self._counts():
            return self._counted()
        if own and own != self.kind:
            why = "it asks for another kind of product" if self.kind else ""
            return Meaning(wishes=self.own, is_certain=bool(self.kind), why=why)
        if not self.shown.newest:
            return self._search()
        return self._relative() or self._choice() or self._by_brand() or self._referred() or self._search()

    def _beside(self, found: Group) -> Group:
        """Return products, behind the one that they are compared with: "compare it to the Sony Onyx S 9"."""
        return (*(self.shown.newest[:1] if "it" in self.refers and self.text.has(_COMPARES) else ()), *found)

    def _named(self) -> Meaning | None:
        named = named_in(self.line)
        return _pointed(self._beside(named), is_certain=True) if named else None

    def _counts(self) -> bool:
        """Whether it asks how many products there are, and not how many cores or pieces: then it names the products, or
        nothing at all."""
        if not self.text.has("how many") or self.text.has(_STOCK):
            return False
        is_bare = _COUNTING.issuperset(content_words(self.line))
        return is_bare or bool((self.own.kind or self.own.says_something) and "it" not in self.refers)

    def _counted(self) -> Meaning:
        """Everything that fits is counted, or of those that were shown, where they are meant."""
        if not (self.refers & _SEVERAL or self.text.has("did you show|are shown")):
            return replace(self._search(), how="count")
        meant = self.shown.several or self.shown.newest
        return Meaning(products=tuple(each for each in meant if fits(each.metadata, self.own.where)), how="count")

    def _measured(self) -> Meaning | None:
        """What is measured by something that was shown or is named: "cheaper than the second one", "than the Sony"."""
        than, order = next(iter(self.text.places("than")), -1), self.own.order
        if order is None or order.degree != "more" or than < order.at:
            return None
        before = [each for each in self.pointed if each.at < than]
        if not (by := self._behind(than)):
            return replace(_UNCLEAR, why="I cannot tell what to compare with")
        if any(each.kind in _ONE for each in before):
            return _pointed((*(each for at, each in self.shown.meant(self.text) if at < than), *by))
        limit, own = _beyond(order, by), replace(self.own, brands=(), order=None)
        if self.text.has(_WHICH) or before:
            return self._chosen(self.shown.several, replace(own, conditions=(*own.conditions, limit)))
        wanted = self.before.refined(own).refined(Wishes(kind=by[0].kind, conditions=(limit,)))
        return Meaning(wishes=wanted, why=f"it goes on from what was shown: {wanted.text}")

    def _behind(self, than: int) -> Group:
        """Return the products that stand behind "than"."""
        if named := named_in(self.line.lower().partition(" than ")[2]):
            return named
        brands = {brand for at, brand in brands_in(self.text)[0] if at > than}
        of_brand = (tuple(each for each in group if each.brand in brands) for group in reversed(self.shown.groups))
        return next(filter(None, of_brand), ()) or tuple(each for at, each in self.shown.meant(self.text) if at > than)

    def _relative(self) -> Meaning | None:
        """Something that is measured by what was shown: a cheaper one. Others that fit as well are not looked for."""
        order, newest = self.own.order, self.shown.newest
        is_more = self.text.line.endswith(" more ") and len(self.text.words) <= _ALONE and not self.text.has("tell")
        if is_more or (self.text.has(_MORE) and not self.own.unwanted) or self.text.line == " others ":
            return replace(_UNCLEAR, why="I cannot look for more than those that fit best")
        is_new = self.text.has(_SOME) or len(self.text.words) == 1
        is_choice = self.text.has(_WHICH) or bool(self.refers & (_SEVERAL | {"place"}))
        if order is None or order.degree != "more" or not is_new or is_choice:
            return None
        limit = _beyond(order, newest)
        wanted = self.before.refined(self.own).refined(Wishes(kind=self.kind, conditions=(limit,)))
        return Meaning(wishes=wanted, why=f"it goes on from what was shown: {wanted.text}")

    def _choice(self) -> Meaning | None:
        """Some of those that were shown: the cheapest, those under $400, the cheaper of the two."""
        own, order, named = self.own, self.own.order, self.refers & _SEVERAL
        is_best = order is not None and order.degree != "plain" and not self.text.begins(_SOME)
        is_one = any(each.operator == "=" for each in own.conditions)
        says_which = bool(own.conditions or order or (named and (own.brands or own.unwanted)))
        if (own.kind and not named) or not says_which or not (named or self.text.has(_WHICH) or is_best or is_one):
            return None
        group = tuple(dict.fromkeys(each for _, each in self.shown.meant(self.text))) if named else ()
        if not named:
            group = (self.shown.two if order and order.degree == "more" else ()) or self.shown.several
        if not group:
            return _UNCLEAR if "two" in named else None
        return self._chosen(group, own)

    def _chosen(self, group: Group, wishes: Wishes) -> Meaning:
        left = tuple(each for each in group if fits(each.metadata, wishes.where))
        left = self._beside(tuple(wishes.order.chosen(left)) if wishes.order else left)
        names = " and ".join(product.name for product in left) or "none of them"
        return Meaning(products=left, wishes=wishes, how="choice", why=f"it chooses from what was shown: {names}")

    def _by_brand(self) -> Meaning | None:
        """The one of a brand, of those that were shown; where none is of it, a search for the brand."""
        near = [(self.text.at(at - 1), self.text.at(at + 1)) for at, _ in brands_in(self.text)[0]]
        is_one = any(before in ("the", "that", "this") or behind == "one" for before, behind in near)
        if not is_one or self.own.conditions or _is_plural(self.text, self.own.kind):
            return None
        lists = (self.shown.newest, *reversed(self.shown.lists))
        found = (tuple(each for each in group if each.brand in self.own.brands) for group in lists)
        if meant := next((group for group in found if group), ()):
            return _pointed(self._beside(meant), is_certain=True)
        return replace(self._search(), why=f"none of those shown is from {' or '.join(self.own.brands)}")

    def _referred(self) -> Meaning | None:
        if (which := list_named(self.text)) is not None and not self.refers & {"place", "span"}:
            group = self.shown.list_at(which)
            return _pointed(group, is_certain=True) if group else _UNCLEAR
        if self.text.has(_WHICH) and any(number.unit in UNITS for number in self.text.numbers):
            return replace(_UNCLEAR, why="I can only choose by price, rating and brand")
        is_new = self.own.kind and (self.own.order or _is_plural(self.text, self.own.kind))
        if self.refers and not is_new and not self.own.conditions:
            found = tuple(each for _, each in self.shown.meant(self.text))
            is_certain = bool(self.refers & {"place", "span", "next", "other", "others"})
            return _pointed(found, is_certain=is_certain) if found else _UNCLEAR
        if self.own.kind:
            return None
        if self.text.has(_WHICH) and self.shown.several:
            return _pointed(self.shown.several)
        if self.text.has("tell me more|more details|more info"):
            return _pointed(self.shown.newest[:1])
        if self.text.begins("the one|the ones|that one") and not self._adds():
            return _UNCLEAR
        if not (len(self.text.words) <= _ALONE or self.text.begins(_ASKS)) or self._adds():
            return None
        return _pointed(self.shown.newest) if self._is_readable() else UNREADABLE

    def _is_readable(self) -> bool:
        """Whether it goes on, or a word of it is one that products are spoken of with, or none says anything."""
        said = content_words(self.line)
        return not said or self.text.begins("and") or self.text.has(_COMPARES) or not catalogue_words().isdisjoint(said)

    def _adds(self) -> bool:
        """Whether it adds a wish to those before."""
        return self.own.says_something or bool(self.text.limits) or self.text.begins(_ADDS)

    def _search(self) -> Meaning:
        if self.own.kind or not self.kind or (self.shown.newest and not self._adds() and not self._counts()):
            return Meaning(wishes=self.own)
        kept = self.before if self.before.kind in (None, self.kind) else Wishes()
        wanted = replace(kept, kind=self.kind).refined(self.own)
        return Meaning(wishes=wanted, why=f"it goes on with what was wished for: {wanted.text}")


_UNCLEAR = Meaning(how="unclear", why="it points at something that was not shown")
UNREADABLE = replace(_UNCLEAR, why="no word of it is in the catalogue")


def _beyond(order: Order, measured_by: Group) -> Filter:
    """Return the limit that something must meet to have more, or less, of an order than all of these."""
    best = (max if order.is_most_first else min)(map(order.number, measured_by))
    return Filter(order.field, ">" if order.is_most_first else "<", best)


def _pointed(found: Group, *, is_certain: bool = False) -> Meaning:
    each = tuple(dict.fromkeys(found))
    why = f"it means {' and '.join(product.name for product in each)}"
    return Meaning(products=each, is_certain=is_certain, why=why)


def _wished(history: Sequence[Message]) -> Wishes:
    """Return what the questions before wished for: another kind begins anew, and a question that was answered with one
    product was about that product."""
    wished, kind, asked = Wishes(), None, Wishes()
    for message in (*history, Message(role=Role.USER, content="")):
        if message.role is Role.USER:
            wished = asked if asked.kind and asked.kind != wished.kind else wished.refined(asked)
            asked = wishes_in(Text(message.content), kind)
            kind = asked.kind or kind
            asked = replace(asked, kind=kind)
        elif message.role is Role.ASSISTANT and (shown := cited(message)):
            kind = shown[0].kind
            is_search = len(shown) > 1 or (asked.kind and asked.conditions)
            asked = asked if is_search else Wishes()
    return wished


def _is_plural(text: Text, kind: str | None) -> bool:
    return any(text.has(f"{word}s|{word}es") for word, each in kind_words().items() if each == kind)


def _order_in(text: Text) -> str | None:
    """Return the number of an order: a letter and four digits."""
    words = (word.text for word in text.words if len(word.text) == 5 and word.text[1:].isdecimal())
    return next((word.upper() for word in words if word.startswith("a")), None)
