"""Looking something up for a question: the route, the query rewritten to stand alone, the passages."""

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
"""Reads conditions on metadata, such as "under $500", from a question and the messages before it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
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


@dataclass(frozen=True, kw_only=True)
class Lookup:
    """Where an assistant looks things up: a retriever and, unless everything is looked up, a router.

    `rewriting` is how a follow-up is made to stand alone: by a model if it can (else by words), by words alone, or not
    at all. `filters` reads conditions that passages must meet.
    """

    retriever: Retriever
    router: Router | None = None
    limit: int = 5
    rewriting: Literal["model", "words", "never"] = "model"
    filters: Filters | None = None

    async def find(self, question: str, history: Sequence[Message], model: Model) -> Found:
        """Look up what a question needs, given the messages before it, oldest first. An error never fails the turn."""
        choice = self._route(question, history)
        unchanged = Rewrite(question=question, text=question)
        if choice.route != "retrieve":
            return Found(route=choice.route, why=choice.why, rewrite=unchanged)
        rewrite = unchanged if self.rewriting == "never" else await self.rewriter(model).rewrite(question, history)
        found = await self._search(choice, rewrite, self.filters(question, history) if self.filters else ())
        shown = "\n".join(message.content for message in history)
        # Passages that the model sees in the history anyway go last.
        return replace(found, passages=tuple(sorted(found.passages, key=lambda passage: passage.text in shown)))

    def _route(self, question: str, history: Sequence[Message]) -> Choice:
        """Return how to answer, given the history. Without a router, everything is looked up."""
        if self.router is not None:
            return self.router.route(question, history)
        return Choice(route="retrieve", why="everything is looked up", follow_up=follow_up(question, history))

    def rewriter(self, model: Model) -> Rewriter:
        """Return what makes a follow-up stand alone, with this model."""
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
