"""The words by which the shop's router decides (R-E5): words of its tools first, then words for products."""

from threadkeep.assistants.shop.catalogue import brands
from threadkeep.routing.router import Router

TOOL_WORDS = (
    "price of",
    "how much is",
    "how much are",
    "how much does",
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
    "where is order",
)
PRODUCT_WORDS = (
    "phone",
    "smartphone",
    "mobile",
    "laptop",
    "notebook",
    "tablet",
    "headphone",
    "headset",
    "earbud",
    "television",
    "tv",
    "camera",
    "watch",
    "smartwatch",
    "vacuum",
    "coffee",
    "espresso",
    "monitor",
    "speaker",
    "soundbar",
    "keyboard",
    "printer",
    "product",
    "catalogue",
    "recommend",
    "buy",
)


def router() -> Router:
    """Return the router. A brand is a word for products too."""
    return Router(tool_words=TOOL_WORDS, product_words=(*PRODUCT_WORDS, *sorted(brands())))
