"""The router: which way a question is answered. The words are the assistant's, the order is that of R-E5."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from threadkeep.conversation.message import Message, Role
from threadkeep.text.stems import stem
from threadkeep.text.words import searchable, words_in_order
from threadkeep.turn.lookup import Route
from threadkeep_retrieval.routing.follow_up import MOST_CHARACTERS, FollowUp, follow_up

RECENT = 3
"""How many of the newest answers a follow-up may refer to."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """The way that was chosen, the reason, and what was found out about the question on the way."""

    route: Route
    why: str
    follow_up: FollowUp


@dataclass(frozen=True, slots=True, kw_only=True)
class Router:
    """Chooses by words: `tool_words` ask for a tool, `product_words` for something to be looked up.

    A word may be a phrase ("order status"). Words are compared without case, accents and plural endings.
    """

    tool_words: tuple[str, ...] = ()
    product_words: tuple[str, ...] = ()

    def route(self, question: str, history: Sequence[Message]) -> Choice:
        """Choose for a question, given what was said before it, oldest first."""
        judged = follow_up(question, history)
        asked = _line(question)
        if word := _first(self.tool_words, asked):
            return Choice(route="tool", why=f'it says "{word}"', follow_up=judged)
        if word := _first(self.product_words, asked):
            return Choice(route="retrieve", why=f'it says "{word}"', follow_up=judged)
        if word := self._referred_to(judged, history):
            return Choice(route="retrieve", why=f'it follows an answer about "{word}"', follow_up=judged)
        return Choice(route="respond", why="nothing has to be looked up for it", follow_up=judged)

    def _referred_to(self, judged: FollowUp, history: Sequence[Message]) -> str | None:
        """Return a product word of the recent answers that a follow-up refers to."""
        if not judged.needs_context and not judged.shared:
            return None
        answers = [message for message in history if message.role is Role.ASSISTANT][-RECENT:]
        found = (_first(self.product_words, _line(searchable(message))) for message in reversed(answers))
        return next((word for word in found if word), None)


def _line(text: str) -> str:
    """Return the stems of a text, with a space around each."""
    return f" {' '.join(map(stem, words_in_order(text[:MOST_CHARACTERS])))} "


def _first(wanted: Iterable[str], line: str) -> str | None:
    return next((word for word in wanted if len(part := _line(word)) > 2 and part in line), None)
