"""What products have, as numbers that can be compared and as features that are there or not.

All of it is read from the specifications: "6.1 inch OLED" is a screen of 6.1 and the feature "oled"; "grinder: yes" is
the feature "grinder". The index holds it as metadata, so that it can be filtered by.
"""

import re
from functools import cache

from threadkeep.retrieval.base import Scalar
from threadkeep_assistants.shop.catalogue import Product, products

_NUMBER = re.compile(r"^(?P<number>\d+(?:\.\d+)?)\s+(?P<unit>[A-Za-z]+)\b\s*(?P<rest>.*)$")
ALSO = {
    "backlight": "light", "backlit": "light", "illuminated": "light", "scan": "scanner", "scans": "scanner",
    "double sided": "duplex", "two sided": "duplex", "color": "colour", "water resistant": "waterproof",
    "water proof": "waterproof", "heart rate": "pulse", "noise canceling": "noise cancelling", "wi fi": "wifi",
    "image stabilisation": "stabilised", "stabilized": "stabilised", "type c": "usb c", "bluetooth": "wireless",
    "robotic": "robot", "automatic milk": "automatic",
}  # fmt: skip
"""Other words for features."""
_TOO_COMMON = frozenset({"both", "light", "flat", "included", "automatic", "by hand", "compact", "filter", "full size"})
"""Features whose names are said of other things too: "something light"."""


def metadata(product: Product) -> dict[str, Scalar]:
    """Return what an index can filter a product by."""
    has = features_of(product)
    return {
        "id": product.id,
        "kind": product.kind,
        "brand": product.brand,
        "price": product.price,
        "rating": product.rating,
        **numbers(product),
        **{f"has {name}": name in has for name in features(product.kind)},
    }


@cache
def _read(product_id: str) -> tuple[dict[str, tuple[float, str]], frozenset[str]]:
    numbers, has = dict[str, tuple[float, str]](), set[str]()
    for name, value in products()[product_id].specs.items():
        spec, match = name.replace("_", " "), _NUMBER.match(value)
        if match and not re.match(r"\d+\s*at\b", value):
            numbers[spec] = (float(match["number"]), match["unit"].lower())
            has |= {spec, *([match["rest"].lower()] if match["rest"].isalpha() else [])}
        elif value == "yes":
            has.add(spec)
        elif value != "no":
            has |= {value.lower(), value.lower().split(" at ")[0]}
    return numbers, frozenset(has)


def numbers(product: Product) -> dict[str, float]:
    """Return the specifications of a product that are numbers."""
    return {name: number for name, (number, _) in _read(product.id)[0].items()}


def features_of(product: Product) -> frozenset[str]:
    """Return what a product has."""
    return _read(product.id)[1] & features(product.kind)


@cache
def features(kind: str) -> frozenset[str]:
    """Return what some products of a kind have and others do not, and what a product anywhere may lack."""
    every = [_read(product.id)[1] for product in products().values() if product.kind == kind]
    specs = {name.replace("_", " "): value for each in products().values() for name, value in each.specs.items()}
    lacking = {
        name.replace("_", " ") for each in products().values() for name, value in each.specs.items() if value == "no"
    }
    found = frozenset().union(*every)
    return (found - frozenset.intersection(*every) - specs.keys()) | (found & lacking)


@cache
def units(kind: str) -> dict[str, tuple[str, float, float]]:
    """Return the numbers that products of a kind have: the unit, the least and the most."""
    found: dict[str, tuple[str, float, float]] = {}
    for product in products().values():
        for name, (number, unit) in (_read(product.id)[0] if product.kind == kind else {}).items():
            _, least, most = found.get(name, (unit, number, number))
            found[name] = (unit, min(least, number), max(most, number))
    return found


def features_in(text: str, kind: str) -> dict[str, int]:
    """Return the features of a kind that a text names, and where."""
    plain = re.sub(r"[-_]", " ", text.lower())
    for also, name in ALSO.items():
        plain = re.sub(rf"\b{also}\b", name if name not in _TOO_COMMON else f"has {name}", plain)
    found = {}
    for name in features(kind):
        written = f"has {name}" if name in _TOO_COMMON else name
        if place := re.search(rf"\b{re.escape(written)}\b", plain):
            found[name] = place.start()
    return {name: at for name, at in found.items() if not any(name != other and name in other for other in found)}
