"""Rewriting without a model: what a question refers to is put in its place, and words are looked for beside it.

"The second one" gets its name; the words are the rare ones of the recent turns. A question that changes the
topic stays as it is.
"""

from collections.abc import Callable, Sequence

from threadkeep.conversation.message import Message, Role
from threadkeep.errors import RetrievalError
from threadkeep.turn.lookup import Rewrite
from threadkeep_retrieval.base import Query, Retriever, Rewriter
from threadkeep_retrieval.expansion import RARE, TURNS, candidates, choose, shared_words
from threadkeep_retrieval.ordinals import meant

LIMIT = 5
"""How many words are added."""
BESIDE_NAMES = 2
"""How many are added where the question itself could be completed with names."""
COMMON = 0.15
"""A word that is less rare than this says nothing about the topic, even if a person said it."""

UNKNOWN = 0.3
"""Where the documents cannot be asked: rare enough if a person said it, not if an answer did."""

NeedsContext = Callable[[str, Sequence[Message]], tuple[bool, str]]
"""Judges a question after a history: whether it needs the history to be understood, and why."""


def always(question: str, history: Sequence[Message]) -> tuple[bool, str]:
    """Judge that every question with a history needs it."""
    return bool(history), "there is a conversation before it" if history else "it is the first question"


class WordsRewriter(Rewriter):
    """Adds words. `retriever` tells how rare they are; `needs_context` tells whether any are needed."""

    def __init__(self, retriever: Retriever, needs_context: NeedsContext = always, *, limit: int = LIMIT) -> None:
        self._retriever = retriever
        self._needs_context = needs_context
        self._limit = limit

    async def rewrite(self, question: str, history: Sequence[Message]) -> Rewrite:
        needed, why = self._needs_context(question, history)
        if not history:
            return Rewrite(question=question, text=question, why=why)
        named = ", ".join(meant(question, history))
        text = f"{question.rstrip(' ?!.')}: {named}" if named else question
        try:
            # What else stands in a list that something was chosen from, is not looked for.
            asked = [message for message in history if message.role is Role.USER]
            wanted = candidates(text, asked) if named else candidates(text, history, self.opening(history))
            most = BESIDE_NAMES if named else self._limit
            words = choose(wanted, await self._retriever.rarity(wanted), min(self._limit, most))
            topic = None if needed else await self._topic(question, history, words)
        except RetrievalError as error:
            # The search itself will say what is wrong, if something still is.
            return Rewrite(question=question, text=question, why=f"the documents could not be asked: {error}")
        if not (words or named) or not (needed or topic):
            return Rewrite(question=question, text=question, why=why)
        reason = why if topic is None else f"it stays with {topic}"
        if named:
            reason = f"{reason}; it means {named}"
        return Rewrite(question=question, text=text, words=words, by="words", why=reason)

    def opening(self, history: Sequence[Message]) -> int | None:
        """Return the place of the newest question that stood alone when it was asked."""
        asked = [place for place, message in enumerate(history) if message.role is Role.USER][-TURNS:]
        alone = (at for at in reversed(asked) if not self._needs_context(history[at].content, history[:at])[0])
        return next(alone, None)

    async def _topic(self, question: str, history: Sequence[Message], words: Sequence[str]) -> str | None:
        """Return by what a question that could stand alone still stays with what was talked about; None if it left.

        It does if it shares a word that says something, or if it finds alone what the words of the conversation find.
        """
        shared = shared_words(question, history)
        rarity = await self._retriever.rarity(shared)
        bars = {Role.USER: COMMON, Role.ASSISTANT: RARE}
        fitting = [word for word, speaker in shared.items() if bars[speaker] < rarity.get(word, UNKNOWN) < 1.0]
        if fitting:
            return f'"{max(fitting, key=lambda word: rarity.get(word, UNKNOWN))}"'
        alone = await self._retriever.search(Query(text=question), limit=1)
        around = await self._retriever.search(Query(text=" ".join(words)), limit=1) if alone and words else []
        return "what was found before" if around and around[0].id == alone[0].id else None
