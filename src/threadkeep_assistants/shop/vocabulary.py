"""The words by which the shop's router decides (R-E5): words of its tools first, then words for products."""

from threadkeep.routing.router import Router
from threadkeep_assistants.shop.catalogue import brands, products
from threadkeep_assistants.shop.names import kind_words

TOOL_WORDS = (
    "price of",
    "how much is",
    "how much are",
    "how much does",
    "how much do",
    "how expensive",
    "what does it cost",
    "stock",
    "available",
    "availability",
    "sold out",
    "my order",
    "order status",
    "status of order",
    "track",
    "package",
    "parcel",
    "arrive",
    "did i order",
    "where is order",
)
PRODUCT_WORDS = ("tvs", "product", "catalogue", "recommend", "buy", "gb", "inch", "megapixel", "rated", "review")


def router() -> Router:
    """Return the router. Kinds, brands and the names of what products have are words for products too."""
    specs = {name.replace("_", " ") for product in products().values() for name in product.specs} - {"light", "form"}
    return Router(
        tool_words=TOOL_WORDS, product_words=(*kind_words(), *PRODUCT_WORDS, *sorted(brands()), *sorted(specs))
    )
