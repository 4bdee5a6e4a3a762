"""Which products a question means: named in it, by their place in a list that was shown, or as "it".

What "it" is, is in the log: the one product that the newest answer cites.
"""

import re
from collections.abc import Sequence

from threadkeep.assistants.shop.catalogue import Product, products
from threadkeep.assistants.shop.question import Question
from threadkeep.assistants.shop.wishes import kind_in
from threadkeep.conversation.blocks import Citation
from threadkeep.conversation.message import Message, Role
from threadkeep.retrieval.positions import referred
from threadkeep.retrieval.shown_lists import shown_lists

_IT = re.compile(
    r"\b(?:it|its|it's|that|this|that one|this one|the same|the product)\b|\btell me more\b", re.IGNORECASE
)
_ALONE = 4
"""A question of so few words that names nothing is about what was talked about: "any reviews?"."""


def meant(asked: Question) -> tuple[Product, ...]:
    """Return the products that a question is about; none if it does not point at any."""
    found = [*_named(asked.text), *_placed(asked)]
    if (not found and _is_bare(asked.text)) or _IT.search(asked.text):
        found = [*_subject(asked.history), *found]
    return tuple({product.id: product for product in found}.values())


def _named(text: str) -> list[Product]:
    """Return the products whose whole names are in a text; a name inside a longer one does not count."""
    lower = text.lower()
    found = [each for each in products().values() if re.search(rf"\b{re.escape(each.name.lower())}\b", lower)]
    return [each for each in found if not any(each.name != other.name and each.name in other.name for other in found)]


def _placed(asked: Question) -> list[Product]:
    # A description lists what a product has; only a list of products has places that somebody means.
    shown = [[each for each in lists if _named(" ".join(each[0].names))] for lists in shown_lists(asked.history)]
    place = referred(asked.text, [lists for lists in shown if lists])
    return [product for item in place.items for product in _named(" ".join(item.names))] if place else []


def _subject(history: Sequence[Message]) -> list[Product]:
    """Return the product of the newest answer that cites any, if it is only one."""
    for message in reversed(history):
        cited = [block.source for block in message.blocks if isinstance(block, Citation)]
        if message.role is Role.ASSISTANT and cited:
            return [products()[cited[0]]] if len(cited) == 1 and cited[0] in products() else []
    return []


def _is_bare(text: str) -> bool:
    return len(text.split()) <= _ALONE and kind_in(text) is None
