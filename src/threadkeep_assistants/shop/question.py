"""The question that the shop is asked, apart from what was said before it."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from threadkeep.conversation.message import Message, Role
from threadkeep_assistants.shop.names import corrected
from threadkeep_assistants.shop.shown import cited

_ORDER = re.compile(r"\b#?(A\d{4})\b", re.IGNORECASE)
_STOCK = re.compile(
    r"\b(?:stock|available|availability|in store|left|have (?:it|them)|how many|deliver|sold out)\b", re.IGNORECASE
)
_PERSONAL = re.compile(r"\bmy (?:\w+ )?name\b|\bwho (?:am i|are you)\b|\babout me\b|\bremember\b", re.IGNORECASE)
_ABOUT_ORDER = re.compile(
    r"\border|\barrive|\bpackage|\bparcel|\bdeliver(?:y|ed)|\bshipped|\bwhere is my\b", re.IGNORECASE
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """The newest question with slips put right, as it was written, its message's id, and the messages before it."""

    id: str
    text: str
    written: str
    history: tuple[Message, ...]

    @classmethod
    def of(cls, messages: Sequence[Message]) -> "Question":
        """Take the newest question out of a branch; an empty one if nobody asked anything."""
        asked = [index for index, message in enumerate(messages) if message.role is Role.USER]
        if not asked:
            return cls(id="none", text="", written="", history=tuple(messages))
        message = messages[asked[-1]]
        return cls(
            id=message.id,
            text=corrected(message.content),
            written=message.content,
            history=tuple(messages[: asked[-1]]),
        )

    @property
    def spoken(self) -> tuple[Message, ...]:
        """The messages before it without answers that name no product: they say nothing about what is looked for."""
        return tuple(message for message in self.history if message.role is not Role.ASSISTANT or cited(message))

    @property
    def names_order(self) -> bool:
        """Whether it names an order by its number."""
        return _ORDER.search(self.text) is not None

    @property
    def is_personal(self) -> bool:
        """Whether it is about the person who asks and not about products."""
        return _PERSONAL.search(self.text) is not None

    @property
    def order(self) -> str | None:
        """The order that is asked about: named here, or named before and meant here; "" if it is not named at all."""
        if found := _ORDER.search(self.text):
            return found[1].upper()
        if not _ABOUT_ORDER.search(self.text):
            return None
        earlier = (_ORDER.search(message.content) for message in reversed(self.history) if message.role is Role.USER)
        return next((found[1].upper() for found in earlier if found), "")

    @property
    def is_about_stock(self) -> bool:
        """Whether somebody wants to know if something is there."""
        return _STOCK.search(self.text) is not None
