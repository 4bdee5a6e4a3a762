"""Rewriting by a model (R-E7): it is asked for a query that stands alone, and its answer is guarded.

Whatever goes wrong, the words of the conversation do instead. Models that are too small for it are not asked: measured,
a model of 135 million parameters rewrites worse than no rewriting at all.
"""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import replace

from threadkeep.conversation.message import Message, Role
from threadkeep.errors import ModelError
from threadkeep.llm.answer import Answer
from threadkeep.llm.base import Model, Request
from threadkeep.retrieval.base import Rewrite, Rewriter
from threadkeep.retrieval.expansion import content_stems
from threadkeep.retrieval.model_rewriter import cleaned, flaw
from threadkeep.text.words import searchable

logger = logging.getLogger(__name__)

INSTRUCTIONS = (
    "Rewrite the last question of the conversation that follows as a search query that can be understood alone: put in "
    "what it refers to, in the words of the conversation and in its language. Add nothing that was not said and do not "
    "answer it. If it can be understood alone already, repeat it. Answer with the query alone, in one line."
)
NEWEST = 8
"""How many messages the model is shown."""
MOST_CHARACTERS = 1_500
"""How much of one message the model is shown."""
PATIENCE = 10.0
"""Seconds after which a turn goes on without the model."""


def can_rewrite(model: Model) -> bool:
    """Return whether it makes sense to ask a model: not one that plays a script, and not the small embedded one."""
    return not model.is_scripted and model.name != "local"


class ModelRewriter(Rewriter):
    """Asks a model where `fallback` sees that context is needed, and gives what `fallback` gave if that fails."""

    def __init__(self, model: Model, fallback: Rewriter, *, patience: float = PATIENCE) -> None:
        self._model = model
        self._fallback = fallback
        self._patience = patience

    async def rewrite(self, question: str, history: Sequence[Message]) -> Rewrite:
        plain = await self._fallback.rewrite(question, history)
        if plain.by == "nothing" or not can_rewrite(self._model):
            return plain
        said = [(message.role, searchable(message)) for message in _spoken(history)]
        try:
            async with asyncio.timeout(self._patience):
                answer = await self._ask(question, said[-NEWEST:])
        except (ModelError, TimeoutError) as error:
            return _without(plain, f"the model failed: {str(error) or 'it took too long'}")
        except Exception:
            # A rewriter never fails a turn, whatever a model of a user's raises.
            logger.exception("the model could not rewrite")
            return _without(plain, "the model failed")
        query = cleaned(answer.text)
        was_cut_off = answer.reason in (None, "length")
        wrong = "it was cut off" if was_cut_off else flaw(query, question, [text for _, text in said])
        if wrong:
            return _without(plain, f"the model's query was not taken: {wrong}")
        if content_stems(query) == content_stems(question):
            return _without(plain, "the model left it as it was")
        return Rewrite(question=question, text=query, by="model", why=plain.why)

    async def _ask(self, question: str, said: Sequence[tuple[Role, str]]) -> Answer:
        told = "\n".join(f"{role.capitalize()}: {text[:MOST_CHARACTERS]}" for role, text in said if text.strip())
        text = f"{told}\n\nLast question: {question[:MOST_CHARACTERS]}"
        messages = (Message(role=Role.SYSTEM, content=INSTRUCTIONS), Message(role=Role.USER, content=text))
        answer = Answer()
        async for delta in self._model.stream(Request(messages=messages)):
            answer.add(delta)
        return answer


def _spoken(history: Sequence[Message]) -> list[Message]:
    return [message for message in history if message.role in (Role.USER, Role.ASSISTANT)]


def _without(plain: Rewrite, reason: str) -> Rewrite:
    return replace(plain, why=f"{plain.why}; {reason}")
