"""Looking something up for a question: the route, the query rewritten to stand alone, the passages."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from threadkeep.conversation.message import Message
from threadkeep.errors import InvalidValue, RetrievalError
from threadkeep.llm.base import Model
from threadkeep.turn.lookup import LookedUp, Lookup, Rewrite
from threadkeep_retrieval.base import Filter, Query, Retriever, Rewriter
from threadkeep_retrieval.hybrid import HybridIndex
from threadkeep_retrieval.loading import load_embeddings
from threadkeep_retrieval.model_rewriter import ModelRewriter
from threadkeep_retrieval.routing.follow_up import follow_up
from threadkeep_retrieval.routing.router import Choice, Router
from threadkeep_retrieval.words_rewriter import WordsRewriter

logger = logging.getLogger("threadkeep.retrieval.lookup")

Filters = Callable[[str, Sequence[Message]], tuple[Filter, ...]]
"""Reads conditions on metadata, such as "under $500", from a question and the messages before it."""


@dataclass(frozen=True, kw_only=True)
class RetrieverLookup(Lookup):
    """Looks things up with a retriever and, unless everything is looked up, a router.

    `rewriting` is how a follow-up is made to stand alone: by a model if it can (else by words), by words alone, or not
    at all. `filters` reads conditions that passages must meet.
    """

    retriever: Retriever
    router: Router | None = None
    limit: int = 5
    rewriting: Literal["model", "words", "never"] = "model"
    filters: Filters | None = None

    async def find(self, question: str, history: Sequence[Message], model: Model) -> LookedUp:
        choice = self._route(question, history)
        unchanged = Rewrite(question=question, text=question)
        if choice.route != "retrieve":
            return LookedUp(route=choice.route, why=choice.why, rewrite=unchanged)
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
        return ModelRewriter(model, words, self.retriever) if self.rewriting == "model" else words

    async def _search(self, choice: Choice, rewrite: Rewrite, where: tuple[Filter, ...]) -> LookedUp:
        query = Query(text=rewrite.text, words=rewrite.words, where=where)
        try:
            passages = tuple(await self.retriever.search(query, limit=self.limit))
        except RetrievalError as error:
            logger.warning("nothing could be looked up: %s", error)
            return LookedUp(route=choice.route, why=choice.why, rewrite=rewrite, error=f"{error.code}: {error}")
        return LookedUp(route=choice.route, why=choice.why, rewrite=rewrite, passages=passages)


def _needs_context(question: str, history: Sequence[Message]) -> tuple[bool, str]:
    judged = follow_up(question, history)
    return judged.needs_context, judged.why


def open_index(path: str) -> RetrieverLookup:
    """Return an index of documents to look questions up in, with the embeddings that it was made with."""
    made_with = HybridIndex.made_with(path)
    if made_with is None:
        raise InvalidValue(f"There is no index {path}; make one: threadkeep index add {path} FILE...")
    return RetrieverLookup(retriever=HybridIndex.open(path, load_embeddings(made_with)))
