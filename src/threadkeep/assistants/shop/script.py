"""What the scripted demo says as the shop's generator: it reads out what the graph has found, and cites it."""

import re
from typing import Any

from threadkeep.assistants.shop.catalogue import Product, products
from threadkeep.llm.script import Reply, Scene, Script, after, asked

_ID = re.compile(r"^\[(P\d{3})\]", re.MULTILINE)
_COMPARES = re.compile(r"\b(?:compare|versus|vs|difference|better|or)\b", re.IGNORECASE)


def _found(scene: Scene) -> list[Product]:
    ids = [id for text in scene.notes for id in _ID.findall(text)]
    return [products()[id] for id in ids if id in products()]


def _tell(scene: Scene) -> Reply | None:
    """Tell what was found: one product in full, two beside each other, or a list."""
    found = [] if scene.results else _found(scene)
    if not found:
        return None
    if len(found) > 1 and _COMPARES.search(scene.question):
        return Reply(text=_compared(*found[:2]))
    if len(found) == 1:
        return Reply(text=_described(found[0]))
    lines = [f"{place}. {product.line} [{product.id}]" for place, product in enumerate(found, 1)]
    return Reply(text="\n".join(["This is what I would look at:", "", *lines]))


def _described(product: Product) -> str:
    specs = [f"- {name.replace('_', ' ')}: {value}" for name, value in product.specs.items()]
    reviews = [f"> {review}" for review in product.reviews]
    head = f"**{product.name}** [{product.id}]: {product.kind} for {product.made_for}, ${product.price}."
    return "\n".join([head, "", *specs, "", f"Rated {product.rating} of 5:", "", *reviews])


def _compared(left: Product, right: Product) -> str:
    names = [*left.specs, *(name for name in right.specs if name not in left.specs)]
    rows = [("price", f"${left.price}", f"${right.price}"), ("rating", f"{left.rating}", f"{right.rating}")]
    rows += [(name.replace("_", " "), left.specs.get(name, ""), right.specs.get(name, "")) for name in names]
    head = f"| | {left.name} [{left.id}] | {right.name} [{right.id}] |"
    return "\n".join([head, "|---|---|---|", *(f"| {name} | {one} | {other} |" for name, one, other in rows)])


def _price(found: Any, _scene: Scene) -> str:
    return f"The {found['product']} costs ${found['price']} [{found['id']}]."


def _stock(found: Any, _scene: Scene) -> str:
    pieces = f"{found['pieces']} pieces are there" if found["pieces"] else "it is sold out at the moment"
    return f"{found['product']} [{found['id']}]: {pieces}."


def _order(found: Any, _scene: Scene) -> str:
    day = f" ({found['day']})" if found["day"] else ""
    return f"Order {found['order']}, {found['product']}: {found['status']}{day}."


def _failed(scene: Scene) -> Reply | None:
    errors = [result.error for result in scene.results if result.error]
    return Reply(text=f"I could not find that out: {errors[0]}") if errors else None


SCRIPT = Script(
    rules=(
        _failed,
        after("get_price", _price),
        after("check_stock", _stock),
        after("order_status", _order),
        _tell,
        asked(
            r"\b(?:phone|laptop|tablet|headphone|tv|television|camera|watch|vacuum|coffee|monitor|speaker|keyboard|printer)",
            "I found nothing in the catalogue that fits. Try a higher price or another brand.",
        ),
    ),
    examples=(
        "Which phones are under $500?",
        "Tell me more about the Samsung one",
        "Is it in stock?",
        "Where is my order A1002?",
    ),
)
