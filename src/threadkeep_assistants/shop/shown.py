"""What was shown so far: the products that answers cite, in the order in which they name them.

It is read from the log, so it is the same after a restart and follows branches.
"""

from collections.abc import Sequence

from threadkeep.conversation.blocks import Citation
from threadkeep.conversation.message import Message, Role
from threadkeep.retrieval.shown_lists import Item, ShownList
from threadkeep_assistants.shop.catalogue import Product, products

Group = tuple[Product, ...]


def groups(history: Sequence[Message]) -> list[Group]:
    """Return the products of each answer that cites any, oldest first."""
    found = (cited(message) for message in history if message.role is Role.ASSISTANT)
    return [group for group in found if group]


def cited(message: Message) -> Group:
    """Return the products that an answer cites."""
    known = products()
    ids = [block.source for block in message.blocks if isinstance(block, Citation)]
    return tuple(known[id] for id in dict.fromkeys(ids) if id in known)


def as_list(group: Group) -> ShownList:
    """Return products as a list of which "the second one" can be said."""
    return tuple(Item(names=(product.name,), numbers={"price": product.price}) for product in group)


def exchanges(history: Sequence[Message]) -> list[tuple[str, Group]]:
    """Return each question with the products that its answer cites, oldest first."""
    found: list[tuple[str, Group]] = []
    for message in history:
        if message.role is Role.USER:
            found.append((message.content, ()))
        elif message.role is Role.ASSISTANT and found and (group := cited(message)):
            found[-1] = (found[-1][0], group)
    return found
