"""What the shop can look up beside the catalogue: a price, whether something is there, and where an order is."""

from difflib import get_close_matches
from typing import Any

from threadkeep.tools.base import ToolOutcome
from threadkeep.tools.decorator import tool
from threadkeep.tools.outcome import failure
from threadkeep_assistants.shop.catalogue import Product, named_in, orders, products


@tool(repeatable=True)
def get_price(product: str) -> dict[str, Any] | ToolOutcome:
    """The price of a product, in dollars.

    Args:
        product: The whole name of a product, or its id such as P017.
    """
    found = _product(product)
    return {"id": found.id, "product": found.name, "price": found.price} if found else _unknown(product)


@tool(repeatable=True)
def check_stock(product: str) -> dict[str, Any] | ToolOutcome:
    """How many pieces of a product are there.

    Args:
        product: The whole name of a product, or its id such as P017.
    """
    found = _product(product)
    return {"id": found.id, "product": found.name, "pieces": found.stock} if found else _unknown(product)


@tool(repeatable=True)
def order_status(order: str) -> dict[str, Any] | ToolOutcome:
    """Where an order is.

    Args:
        order: The number of the order, such as A1002.
    """
    number = order.strip().upper().lstrip("#")[:20]
    found = orders().get(number)
    if found is None:
        return failure(f"{f'There is no order {number}' if number else 'Say which order'}; numbers look like A1002.")
    return {"order": found.id, "product": products()[found.product].name, "status": found.status, "day": found.day}


def _product(text: str) -> Product | None:
    return next(iter(named_in(text)), None)


def _unknown(text: str) -> ToolOutcome:
    close = get_close_matches(text[:100], [product.name for product in products().values()], n=3, cutoff=0.5)
    meant = f" Did you mean {' or '.join(close)}?" if close else ""
    return failure(f"There is no product {text[:100]!r}.{meant}")
