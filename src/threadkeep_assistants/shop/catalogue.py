"""The catalogue: products with what they have, orders, and the words that people use for them.

Everything is read once, when the first question comes. Brands exist; products, prices and reviews are invented.
"""

import json
import re
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from threadkeep.turn.lookup import Scalar
from threadkeep_assistants.vocabulary.scanning import word_set
from threadkeep_assistants.vocabulary.words import Text

_WORD = re.compile(r"[^_\W]+")
_ASKED_WITH = word_set(
    """buy order price prices cost costs cheap expensive worth money deal review opinion opinions think good bad better
    best worse recommend recommended pick choose prefer compare difference details detail specs spec features feature
    info information pros cons drawback drawbacks warranty return returns shipping delivery colour color colours colors
    heavy weight weigh big large small size long last charge fast slow loud quiet new old made makes brand waterproof
    detailed more stock available people say customers buyers suit suits anyone"""
)
_ALSO_KINDS = {
    "phone": "smartphone mobile handset handy telefon teléfono móvil téléphone iphone", "laptop": "notebook ultrabook",
    "tablet": "ipad", "headphones": "headphone headset earbud earphone kopfhörer", "television": "tv telly fernseher",
    "camera": "kamera", "watch": "smartwatch", "vacuum cleaner": "vacuum hoover staubsauger", "monitor": "screen",
    "coffee machine": "espresso coffee kaffeemaschine", "speaker": "loudspeaker soundbar", "keyboard": "tastatur",
    "printer": "drucker",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Product:
    """Something to buy. `kind` is a noun in the singular, `price` is in dollars. Each exists once."""

    id: str
    kind: str
    brand: str
    name: str
    price: int
    stock: int
    rating: float
    made_for: str
    specs: dict[str, str] = field(default_factory=dict)
    reviews: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """What a list says about it."""
        return f"{self.name}: {self.kind}, ${self.price}, rated {self.rating} of 5"

    @property
    def text(self) -> str:
        """Everything about it, as it is looked for and as a model reads it."""
        specs = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in self.specs.items())
        reviews = " ".join(self.reviews)
        return (
            f"A {self.kind} for {self.made_for}. ${self.price}, rated {self.rating} of 5. {specs}. Reviews: {reviews}"
        )

    @property
    def metadata(self) -> dict[str, Scalar]:
        """What an index can filter it by."""
        return {name: getattr(self, name) for name in ("id", "kind", "brand", "price", "rating")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """An order of somebody; `day` is when, in words."""

    id: str
    product: str
    status: str
    day: str


@cache
def products() -> dict[str, Product]:
    """Return all products by their ids."""
    rows = [{**row, "reviews": tuple(row["reviews"])} for row in _data()["products"]]
    return {row["id"]: Product(**row) for row in rows}


@cache
def orders() -> dict[str, Order]:
    """Return all orders by their ids."""
    return {row["id"]: Order(**row) for row in _data()["orders"]}


@cache
def kinds() -> frozenset[str]:
    """Return the kinds of products."""
    return frozenset(product.kind for product in products().values())


@cache
def brands() -> frozenset[str]:
    """Return the brands."""
    return frozenset(product.brand for product in products().values())


@cache
def kind_words() -> dict[str, str]:
    """Return every word for a kind, with the kind."""
    also = {word: kind for kind, words in _ALSO_KINDS.items() for word in words.split()}
    return {name: name for name in kinds()} | also


@cache
def catalogue_words() -> frozenset[str]:
    """Return every word that the catalogue has, and those that people ask about any product with."""
    return frozenset(_WORD.findall(" ".join(f"{each.name} {each.text}" for each in products().values()).lower())) | (
        _ASKED_WITH
    )


def named_in(text: str) -> tuple[Product, ...]:
    """Return the products whose ids or whole names a text holds, in its order; a name in a longer one counts not."""
    line = _line(text)
    places = {each: max(line.find(name), line.find(id)) for each, (name, id) in _product_lines().items()}
    found = [each for each, place in places.items() if place >= 0]
    whole = [each for each in found if not any(each is not other and each.name in other.name for other in found)]
    return tuple(sorted(whole, key=lambda each: places[each]))


@cache
def _product_lines() -> dict[Product, tuple[str, str]]:
    return {each: (_line(each.name), _line(each.id)) for each in products().values()}


def kinds_in(text: Text, before: str | None = None) -> list[str]:
    """Return the kinds of products that a text speaks of. The camera of a phone is none, nor of a phone before."""
    words = {word: kind for word, kind in kind_words().items() if text.has(f"{word}|{word}s|{word}es")}
    parts = {spec for each in products().values() if each.kind in {*words.values(), before} for spec in each.specs}
    whole = [kind for word, kind in words.items() if word not in parts or not text.has(word)]
    is_one = len(set(words.values())) == 1 and not (before and set(words) <= parts)
    return list(dict.fromkeys(whole or (words.values() if is_one else [])))


def brands_in(text: Text) -> tuple[list[tuple[int, str]], tuple[str, ...]]:
    """Return the brands that a text asks for, each with its place, and those that it does not want."""
    said = {brand.lower(): brand for brand in brands()}
    words = [(at, word.text) for at, word in enumerate(text.words)]
    named = [(at, said[form]) for at, word in words for form in (word, word.removesuffix("s")) if form in said]
    refused = text.excluded([(at, at + 1) for at, _ in named])
    unwanted = {brand for (_, brand), no in zip(named, refused, strict=True) if no}
    wanted = {brand: at for at, brand in reversed(named) if brand not in unwanted}
    return [(at, brand) for brand, at in sorted(wanted.items())], tuple(sorted(unwanted))


def _line(text: str) -> str:
    return " ".join(["", *_WORD.findall(text.lower()), ""])


@cache
def _data() -> dict[str, list[dict[str, Any]]]:
    return dict(json.loads(files(__package__).joinpath("catalogue.json").read_text(encoding="utf-8")))
