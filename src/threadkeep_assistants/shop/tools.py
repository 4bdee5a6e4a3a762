"""What the shop can look up beside the catalogue: a price, whether something is there, and where an order is."""

from difflib import get_close_matches
from typing import Any

from threadkeep.errors import InvalidValue
from threadkeep.tools.decorator import tool
from threadkeep_assistants.shop.catalogue import Product, named_in, orders, products


@tool(repeatable=True)
def get_price(product: str) -> dict[str, Any]:
    """The price of a product, in dollars.

    Args:
        product: The whole name of a product, or its id such as P017.
    """
    found = _product(product)
    return {"id": found.id, "product": found.name, "price": found.price}


@tool(repeatable=True)
def check_stock(product: str) -> dict[str, Any]:
    """How many pieces of a product are there.

    Args:
        product: The whole name of a product, or its id such as P017.
    """
    found = _product(product)
    return {"id": found.id, "product": found.name, "pieces": found.stock}


@tool(repeatable=True)
def order_status(order: str) -> dict[str, Any]:
    """Where an order is.

    Args:
        order: The number of the order, such as A1002.
    """
    number = order.strip().upper().lstrip("#")[:20]
    found = orders().get(number)
    if found is None:
        raise InvalidValue(
            f"{f'There is no order {number}' if number else 'Say which order'}; numbers look like A1002."
        )
    return {"order": found.id, "product": products()[found.product].name, "status": found.status, "day": found.day}


def _product(text: str) -> Product:
    if named := named_in(text):
        return named[0]
    close = get_close_matches(text[:100], [product.name for product in products().values()], n=3, cutoff=0.5)
    meant = f" Did you mean {' or '.join(close)}?" if close else ""
    raise InvalidValue(f"There is no product {text[:100]!r}.{meant}")
