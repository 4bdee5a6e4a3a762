"""The catalogue: products with what they have, orders, and the words that people use for them.

Everything is read once, when the first question comes. Brands exist; products, prices and reviews are invented. A
specification is a number to compare ("6.1 inch OLED": a screen of 6.1) and a feature to have ("oled", "grinder: yes").
"""

import json
import operator
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from threadkeep.conversation.stop_words import STOP_WORDS
from threadkeep.retrieval.base import Filter, Scalar
from threadkeep_assistants.vocabulary.words import MOST_CHARACTERS, Text, slip, word_set

_OPERATORS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_WORD = re.compile(r"[^_\W]+")
_ALSO_KINDS = {
    "phone": "smartphone mobile handset handy telefon teléfono móvil téléphone iphone", "laptop": "notebook ultrabook",
    "tablet": "ipad", "headphones": "headphone headset earbud earphone kopfhörer", "television": "tv telly fernseher",
    "camera": "kamera", "watch": "smartwatch", "vacuum cleaner": "vacuum hoover staubsauger", "monitor": "screen",
    "coffee machine": "espresso coffee kaffeemaschine", "speaker": "loudspeaker soundbar", "keyboard": "tastatur",
    "printer": "drucker",
}  # fmt: skip
_ALSO_BRANDS = {
    "iphone": "Apple", "ipad": "Apple", "macbook": "Apple", "airpods": "Apple", "galaxy": "Samsung", "pixel": "Google",
    "thinkpad": "Lenovo", "roomba": "iRobot",
}  # fmt: skip
_ALSO_FEATURES = {
    "backlight": "light", "backlit": "light", "illuminated": "light", "scan": "scanner", "scans": "scanner",
    "double sided": "duplex", "two sided": "duplex", "color": "colour", "water resistant": "waterproof",
    "water proof": "waterproof", "heart rate": "pulse", "noise canceling": "noise cancelling", "wi fi": "wifi",
    "stabilized": "stabilised", "type c": "usb c", "bluetooth": "wireless", "robotic": "robot",
}  # fmt: skip
_TOO_COMMON = frozenset({"both", "light", "flat", "included", "automatic", "by hand", "compact", "filter", "full size"})
"""Features whose names are said of other things too, "something light": only their other words count."""


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

    def number(self, name: str) -> float | None:
        """Return a number that it has: "price", "rating" or a specification; None if it has no such number."""
        held = self.metadata.get(name)
        return None if isinstance(held, str | bool) or held is None else float(held)

    @property
    def metadata(self) -> dict[str, Scalar]:
        """What an index can filter it by."""
        return _metadata(self.id)

    def fits(self, wanted: Filter) -> bool:
        """Whether it meets a condition, as the index would say."""
        held = self.metadata.get(wanted.field)
        is_alike = held is not None and isinstance(held, str) == isinstance(wanted.value, str)
        return is_alike and _OPERATORS[wanted.operator](held, wanted.value)


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
def features(kind: str) -> frozenset[str]:
    """Return what some products of a kind have and others do not, and what a product anywhere may lack."""
    every = [_read(product.id)[1] for product in products().values() if product.kind == kind]
    named = {(name.replace("_", " "), value) for each in products().values() for name, value in each.specs.items()}
    specs, lacking = {name for name, _ in named}, {name for name, value in named if value == "no"}
    found = frozenset().union(*every)
    return (found - frozenset.intersection(*every) - specs) | (found & lacking)


@cache
def units(kind: str) -> dict[str, tuple[str, float, float]]:
    """Return the numbers that products of a kind have: the unit, the least and the most."""
    found: dict[str, tuple[str, float, float]] = {}
    for product in products().values():
        for name, (number, unit) in (_read(product.id)[0] if product.kind == kind else {}).items():
            _, least, most = found.get(name, (unit, number, number))
            found[name] = (unit, min(least, number), max(most, number))
    return found


@cache
def specs(kind: str) -> frozenset[str]:
    """Return the names of what products of a kind are specified by."""
    return frozenset(name for product in products().values() if product.kind == kind for name in product.specs)


@cache
def kind_words() -> dict[str, str]:
    """Return every word for a kind, with the kind."""
    also = {word: kind for kind, words in _ALSO_KINDS.items() for word in words.split()}
    return {name: name for name in kinds()} | also


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
    parts = {spec for kind in {*words.values(), before} - {None} for spec in specs(str(kind))}
    whole = [kind for word, kind in words.items() if word not in parts or not text.has(word)]
    is_one = len(set(words.values())) == 1 and not (before and set(words) <= parts)
    return list(dict.fromkeys(whole or (words.values() if is_one else [])))


def brands_in(text: Text) -> tuple[list[tuple[int, str]], tuple[str, ...]]:
    """Return the brands that a text asks for, each with its place, and those that it does not want."""
    said = {brand.lower(): brand for brand in brands()} | _ALSO_BRANDS
    words = [(at, word.text) for at, word in enumerate(text.words)]
    named = [(at, said[form]) for at, word in words for form in (word, word.removesuffix("s")) if form in said]
    refused = text.excluded([(at, at + 1) for at, _ in named])
    unwanted = {brand for (_, brand), no in zip(named, refused, strict=True) if no}
    wanted = {brand: at for at, brand in reversed(named) if brand not in unwanted}
    return [(at, brand) for brand, at in sorted(wanted.items())], tuple(sorted(unwanted))


def features_in(text: Text, kind: str) -> dict[str, int]:
    """Return the features of a kind that a text names, and the place of each."""
    found = dict[str, int]()
    for name in features(kind):
        also = [word for word, feature in _ALSO_FEATURES.items() if feature == name]
        written = also if name in _TOO_COMMON else [Text(name).line.strip(), *also]
        if written and (places := text.places("|".join(written))):
            found[name] = places[0]
    return {name: at for name, at in found.items() if not any(name != other and name in other for other in found)}


def corrected(text: str) -> str:
    """Return the beginning of a text with the names of kinds and brands put right where a finger slipped."""
    text = text[:MOST_CHARACTERS]
    for written in {word.written for word in Text(text).words if len(word.written) >= 5 and word.written.isalpha()}:
        if (right := _right(written.lower())) != written.lower():
            text = text.replace(written, right)
    return text


@cache
def words_of(kind: str) -> frozenset[str]:
    """Return all words that the catalogue uses of a kind, and the words for kinds, brands and features."""
    texts = [f"{each.name} {each.text}" for each in products().values() if each.kind == kind]
    return word_set(_line(" ".join([*kind_words(), *brands(), *_ALSO_FEATURES, *_ALSO_BRANDS, *texts])))


@lru_cache(maxsize=1024)
def _right(word: str) -> str:
    forms = {form for name in kind_words() for form in (name, f"{name}s", f"{name}es")} | set(map(str.lower, brands()))
    is_known = word in forms or word in STOP_WORDS or any(word in words_of(kind) for kind in kinds())
    return word if is_known else slip(word, forms, 0.85) or word


@cache
def _metadata(product_id: str) -> dict[str, Scalar]:
    product, (numbers, has) = products()[product_id], _read(product_id)
    plain = {name: getattr(product, name) for name in ("id", "kind", "brand", "price", "rating")}
    held = {f"has {name}": name in has for name in features(product.kind)}
    return {**plain, **{name: number for name, (number, _) in numbers.items()}, **held}


@cache
def _read(product_id: str) -> tuple[dict[str, tuple[float, str]], frozenset[str]]:
    numbers, has = dict[str, tuple[float, str]](), set[str]()
    for name, value in products()[product_id].specs.items():
        spec, (first, *rest) = name.replace("_", " "), value.lower().split()
        if first.replace(".", "").isdecimal() and rest:
            numbers[spec] = (float(first), rest[0])
            has |= {spec, *(word for word in rest[1:2] if len(rest) == 2)}
        elif value == "yes":
            has.add(spec)
        elif value != "no":
            has |= {value.lower(), value.lower().split(" at ")[0]}
    return numbers, frozenset(has)


def _line(text: str) -> str:
    return " ".join(["", *_WORD.findall(text.lower()), ""])


@cache
def _data() -> dict[str, list[dict[str, Any]]]:
    return dict(json.loads(files(__package__).joinpath("catalogue.json").read_text(encoding="utf-8")))
