"""The contract of retrieval: documents go in, a query finds the passages that answer it.

An index of ours, a vector store of LangChain's or a program of a user's: all of them are a `Retriever` to the rest of
Threadkeep. A query that belongs to a conversation is made to stand alone first, by a `Rewriter`.
"""

import asyncio
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Literal

from threadkeep.conversation.message import Message
from threadkeep.turn.lookup import Passage, Rewrite, Scalar

Operator = Literal["=", "!=", "<", "<=", ">", ">="]
_COMPARE: Mapping[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Document:
    """Something to be found. An `id` that is added again replaces what it stood for."""

    id: str
    text: str
    title: str = ""
    metadata: Mapping[str, Scalar] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Filter:
    """A condition on the metadata: `Filter("price", "<", 500)`. A document without the field never fits."""

    field: str
    operator: Operator
    value: Scalar


def fits(metadata: Mapping[str, object], where: Iterable[Filter]) -> bool:
    """Whether a document with this metadata meets every filter. Text and numbers are different, and have no order."""
    return all(_fits(metadata.get(each.field), each) for each in where)


def _fits(value: object, each: Filter) -> bool:
    if not isinstance(value, str | int | float):
        return False
    if isinstance(value, str) != isinstance(each.value, str):
        return each.operator == "!="
    return _COMPARE[each.operator](value, each.value)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """What to look for: a text that stands alone, or one with `words` of the conversation that make it so."""

    text: str
    words: tuple[str, ...] = ()
    where: tuple[Filter, ...] = ()


class Retriever(ABC):
    """Finds passages."""

    @abstractmethod
    async def search(self, query: Query, *, limit: int = 5) -> list[Passage]:
        """Return the best passages, the best first; none if nothing fits. Raises RetrievalError if it cannot search."""

    async def rarity(self, words: Iterable[str]) -> Mapping[str, float]:
        """Return how rare each word is among the documents, from 0 (everywhere) to 1 (nowhere); empty if unknown."""
        return {}


class Rewriter(ABC):
    """Makes the newest question of a conversation stand alone."""

    @abstractmethod
    async def rewrite(self, question: str, history: Sequence[Message]) -> Rewrite:
        """Return the question as it should be looked up, given what was said before it, oldest first.

        It never fails: where nothing can be made of it, the question comes back unchanged.
        """


def rewrite_sync(rewriter: Rewriter, question: str, history: Sequence[Message]) -> Rewrite:
    """Return what `rewriter.rewrite` returns. It runs in a thread, so it may be called beside a running event loop."""
    with ThreadPoolExecutor(1, thread_name_prefix="threadkeep-rewrite") as thread:
        return thread.submit(lambda: asyncio.run(rewriter.rewrite(question, history))).result()
