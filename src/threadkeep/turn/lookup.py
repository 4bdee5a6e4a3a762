"""The contract of looking something up for a question. Packages around the core fulfil it: the entry point `index` of
`threadkeep.retrieval`.
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from threadkeep.conversation.message import Message
from threadkeep.conversation.value import JsonObject
from threadkeep.llm.base import Model

Route = Literal["tool", "retrieve", "respond"]
Scalar = str | int | float | bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Passage:
    """What was found: a document, or a part of a long one, with a score that is higher for better ones."""

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, Scalar] = field(default_factory=dict)
    score: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Rewrite:
    """A question made to stand alone: by a model (`text` differs), by words of the conversation, or not at all.

    `why` is a short sentence for the trace, which tells people what was looked for and for what reason.
    """

    question: str
    text: str
    words: tuple[str, ...] = ()
    by: Literal["model", "words", "nothing"] = "nothing"
    why: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class LookedUp:
    """The result of a lookup. There are passages on the route `retrieve` only; `error` says why a search failed."""

    route: Route
    why: str
    rewrite: Rewrite
    passages: tuple[Passage, ...] = ()
    error: str | None = None

    @property
    def item(self) -> JsonObject:
        """What the trace of the answer tells about it."""
        rewrite = self.rewrite
        item: JsonObject = {"kind": "query", "route": self.route, "route_why": self.why, "question": rewrite.question}
        if self.route != "retrieve":
            return item
        item |= {"rewritten": rewrite.text, "words": list(rewrite.words), "by": rewrite.by, "why": rewrite.why}
        item["passages"] = [passage.id for passage in self.passages]
        return item if self.error is None else {**item, "error": self.error}


class Lookup(ABC):
    """Where an assistant looks things up."""

    @abstractmethod
    async def find(self, question: str, history: Sequence[Message], model: Model) -> LookedUp:
        """Look up what a question needs, given the messages before it, oldest first. An error never fails the turn."""
