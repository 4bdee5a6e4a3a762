"""Looking something up for a question: the route, the query that stands alone, the passages. Assistants carry one."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from threadkeep.conversation.message import Message
from threadkeep.conversation.value import JsonObject
from threadkeep.errors import RetrievalError
from threadkeep.llm.base import Model
from threadkeep.retrieval.base import Filter, Passage, Query, Retriever, Rewrite, Rewriter
from threadkeep.retrieval.model_rewriter import ModelRewriter
from threadkeep.retrieval.words_rewriter import WordsRewriter
from threadkeep.routing.follow_up import follow_up
from threadkeep.routing.router import Choice, Route, Router

logger = logging.getLogger(__name__)

Filters = Callable[[str, Sequence[Message]], tuple[Filter, ...]]
"""Reads conditions on the metadata from a question and what was said before it: "under $500"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What came of it. Nothing is looked up on another route than `retrieve`; `error` tells why a search failed."""

    route: Route
    why: str
    rewrite: Rewrite
    passages: tuple[Passage, ...] = ()
    error: str | None = None

    @property
    def item(self) -> JsonObject:
        """What the trace of the answer tells about it."""
        item: JsonObject = {
            "kind": "query",
            "route": self.route,
            "route_why": self.why,
            "question": self.rewrite.question,
        }
        if self.route != "retrieve":
            return item
        item |= {"rewritten": self.rewrite.text, "words": list(self.rewrite.words), "by": self.rewrite.by}
        item |= {"why": self.rewrite.why, "passages": [passage.id for passage in self.passages]}
        return item if self.error is None else {**item, "error": self.error}


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """What an assistant looks up in: a retriever and, where not everything is looked up, a router.

    `rewriting` says who makes a follow-up stand alone: a model where one can (else words), words alone, or nobody.
    `filters` reads conditions that passages must meet; without it none are set.
    """

    retriever: Retriever
    router: Router | None = None
    limit: int = 5
    rewriting: Literal["model", "words", "never"] = "model"
    filters: Filters | None = None

    async def find(self, question: str, history: Sequence[Message], model: Model) -> Found:
        """Look up what a question needs, given what was said before it, oldest first. It never fails the turn."""
        choice = self._route(question, history)
        unchanged = Rewrite(question=question, text=question)
        if choice.route != "retrieve":
            return Found(route=choice.route, why=choice.why, rewrite=unchanged)
        rewrite = unchanged if self.rewriting == "never" else await self.rewriter(model).rewrite(question, history)
        found = await self._search(choice, rewrite, self.filters(question, history) if self.filters else ())
        shown = "\n".join(message.content for message in history)
        # What the model reads in the history anyway goes behind what it does not.
        return replace(found, passages=tuple(sorted(found.passages, key=lambda passage: passage.text in shown)))

    def _route(self, question: str, history: Sequence[Message]) -> Choice:
        """Return the way to answer, given the history. Without a router, everything is looked up."""
        if self.router is not None:
            return self.router.route(question, history)
        return Choice(route="retrieve", why="everything is looked up", follow_up=follow_up(question, history))

    def rewriter(self, model: Model) -> Rewriter:
        """Return who makes a follow-up stand alone, with this model."""
        words = WordsRewriter(self.retriever, _needs_context)
        return ModelRewriter(model, words) if self.rewriting == "model" else words

    async def _search(self, choice: Choice, rewrite: Rewrite, where: tuple[Filter, ...]) -> Found:
        query = Query(text=rewrite.text, words=rewrite.words, where=where)
        try:
            passages = tuple(await self.retriever.search(query, limit=self.limit))
        except RetrievalError as error:
            logger.warning("nothing could be looked up: %s", error)
            return Found(route=choice.route, why=choice.why, rewrite=rewrite, error=f"{error.code}: {error}")
        return Found(route=choice.route, why=choice.why, rewrite=rewrite, passages=passages)


def _needs_context(question: str, history: Sequence[Message]) -> tuple[bool, str]:
    judged = follow_up(question, history)
    return judged.needs_context, judged.why
