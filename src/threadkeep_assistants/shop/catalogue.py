"""The catalogue: products with specifications and reviews, and orders.

Everything is read once, when the first question comes. Brands exist; products, prices and reviews are invented.
"""

import json
import re
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any


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


def named_in(text: str) -> tuple[Product, ...]:
    """Return the products whose ids or whole names a text holds; a name inside a longer one does not count."""
    lower = text.lower()
    found = [each for each in products().values() if _holds(lower, each.name) or _holds(lower, each.id)]
    return tuple(
        each for each in found if not any(each.name != other.name and each.name in other.name for other in found)
    )


def _holds(lower: str, name: str) -> bool:
    name = name.lower()
    return name in lower and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", lower) is not None


@cache
def _data() -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = json.loads(
        files(__package__).joinpath("catalogue.json").read_text(encoding="utf-8")
    )
    return found
