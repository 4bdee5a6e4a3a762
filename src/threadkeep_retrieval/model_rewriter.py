"""Rewriting by a model (R-E7): one call says whether a question needs what was said before, and makes it stand alone.

Its answer is guarded: whatever goes wrong, the words of the conversation do instead. Models that are too small for it
are not asked: measured, a model of 135 million parameters rewrites worse than no rewriting at all.
"""

import asyncio
import logging
import re
from collections.abc import Sequence
from dataclasses import replace

from threadkeep.conversation.message import Message, Role
from threadkeep.errors import ModelError, RetrievalError
from threadkeep.llm.answer import Answer
from threadkeep.llm.base import Model, Request
from threadkeep.text.stop_words import BY_LANGUAGE, language_of
from threadkeep.text.words import searchable
from threadkeep.turn.lookup import Rewrite
from threadkeep_retrieval.base import Retriever, Rewriter
from threadkeep_retrieval.expansion import content_stems

logger = logging.getLogger("threadkeep.retrieval.model_rewriter")

INSTRUCTIONS = (
    "Rewrite the last question of the conversation that follows as a search query that can be understood alone: put in "
    "what it refers to, in the words of the conversation and in its language. Add nothing that was not said and do not "
    "answer it. Answer with the query alone, in one line. If the question can be understood alone already, because it "
    "names all that it is about, changes the topic or asks for nothing, answer with the one word ALONE."
)
ALONE = "alone"
NEWEST = 8
"""How many messages the model is shown at least. Up to twice as many are, so that most requests begin as the last one
did: providers charge less for that."""
MOST_CHARACTERS = 1_500
"""How much of one message the model is shown."""
PATIENCE = 10.0
"""Seconds after which a turn goes on without the model."""
LONGEST_QUERY = 300
_LABEL = re.compile(r"^[-*>\s]*+(?:rewritten|standalone|search|reformulated)?\s*+(?:query|question)\**+\s*+:\s*+", re.I)
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|unable)|i can(?:no|')t|as an ai|i do(?:n't| not) (?:have|know)|sure[,!]|here is )"
    r"|^(?:yes|no)\b[,.!]",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"</?[a-z]++[\s/>]|```|\]\(|[{}]", re.IGNORECASE)
_WORD = re.compile(r"[^\W_]+(?:['\u2019.&-][^\W_]+)*")
_PARTS = re.compile(r"['\u2019.&-]")
_ENDS = ".?!:;¿¡"
_SMALL = 3
"""Words of so many letters stay small in titles."""
_DIGITS = re.compile(r"\d+")
_GROUPED = re.compile(r"(?<=\d)[,.\u00a0' ](?=\d{3}(?!\d))")
_COUNTED = "no one two three four five six seven eight nine ten eleven twelve"
_PLACED = "last first second third fourth fifth sixth seventh eighth ninth tenth"
_SCALES = ("hundred", "thousand", "grand", "million", "dozen")
_SAME_START = 5
_VERSED, _MOST_COMPARED = 0.9, 200
"""Documents that have so much of what was said have synonyms, too; how many words are looked at for it."""


def can_rewrite(model: Model) -> bool:
    """Return whether it makes sense to ask a model: not one that plays a script, and not the small embedded one."""
    return not model.is_scripted and model.name != "local"


class ModelRewriter(Rewriter):
    """Asks a model once for each question with a history, and gives what `fallback` gave if that fails."""

    def __init__(
        self, model: Model, fallback: Rewriter, retriever: Retriever | None = None, *, patience: float = PATIENCE
    ) -> None:
        self._model = model
        self._fallback = fallback
        self._retriever = retriever
        self._patience = patience

    async def rewrite(self, question: str, history: Sequence[Message]) -> Rewrite:
        plain = await self._fallback.rewrite(question, history)
        spoken = (message for message in history if message.role in (Role.USER, Role.ASSISTANT))
        messages = [(message.role, text) for message in spoken if (text := searchable(message)).strip()]
        if not messages or not can_rewrite(self._model):
            return plain
        try:
            async with asyncio.timeout(self._patience):
                answer = await self._ask(question, messages[max(0, len(messages) - NEWEST) // NEWEST * NEWEST :])
        except (ModelError, TimeoutError) as error:
            return _without(plain, f"the model failed: {str(error) or 'it took too long'}")
        except Exception:
            # A rewriter never fails a turn, whatever a model of a user's raises.
            logger.exception("the model could not rewrite")
            return _without(plain, "the model failed")
        query = cleaned(answer.text)
        was_cut_off = answer.reason in (None, "length")
        if query.rstrip(".!").lower() == ALONE and not was_cut_off:
            return Rewrite(question=question, text=question, why="the model says that it stands alone")
        wrong = "it was cut off" if was_cut_off else flaw(query, question, [text for _, text in messages])
        if not wrong and self._retriever is not None:
            made_up = await unknown(query, "\n".join((question, *(text for _, text in messages))), self._retriever)
            wrong = f"it named what nobody said and no document has: {', '.join(made_up)}" if made_up else None
        if wrong:
            return _without(plain, f"the model's query was not taken: {wrong}")
        if content_stems(query) == content_stems(question):
            return _without(plain, "the model left it as it was")
        why = "the model says that it goes on with what was said" if plain.by == "nothing" else plain.why
        return Rewrite(question=question, text=query, by="model", why=why)

    async def _ask(self, question: str, said: Sequence[tuple[Role, str]]) -> Answer:
        history = "\n".join(f"{role.capitalize()}: {text[:MOST_CHARACTERS]}" for role, text in said)
        text = f"{history}\n\nLast question: {question[:MOST_CHARACTERS]}"
        messages = (Message(role=Role.SYSTEM, content=INSTRUCTIONS), Message(role=Role.USER, content=text))
        answer = Answer()
        async for delta in self._model.stream(Request(messages=messages)):
            answer.add(delta)
        return answer


def _without(plain: Rewrite, reason: str) -> Rewrite:
    return replace(plain, why=f"{plain.why}; {reason}")


def cleaned(text: str) -> str:
    """Return the query in what a model answered: its first line, without a label and quotation marks."""
    line = next((line for line in text.replace("\x00", " ").splitlines() if line.strip()), "")
    return " ".join(_LABEL.sub("", line).split()).strip("\"'“”„«»`* ")


def flaw(query: str, question: str, said: Sequence[str]) -> str | None:
    """Return what is wrong with a query that a model made of a question and all that was said; None if nothing.

    A model that understands a question says it in words of its own. Names and numbers are another matter: one that
    nobody said is made up, or belongs to another conversation.
    """
    if not query:
        return "it was empty"
    if len(query) > max(LONGEST_QUERY, 2 * len(question)):
        return "it was too long"
    # A person who does not know something says so too: "I don't know, but which one is cheaper?"
    if _is_refusal(query) and not _is_refusal(question):
        return "it was no query"
    if _MARKUP.search(query) and not _MARKUP.search(question):
        return "it was no plain text"
    words = content_stems(query)
    if not words:
        return "it named nothing"
    known = "\n".join((question, *said)).lower()
    if made_up := [*_new_names(query, known), *_new_numbers(query, known)]:
        return f"it named what nobody said: {', '.join(made_up[:5])}"
    if not any(word[:_SAME_START] in known for word in words):
        return "it had nothing to do with what was said"
    return None


async def unknown(query: str, known: str, retriever: Retriever) -> list[str]:
    """Return the words of a query that nobody said and that no document has: a synonym is in some document, the name of
    something that was made up is in none. Where the documents do not have what people say either, as a short catalogue
    has not, that tells nothing."""
    said = known.lower()
    new = [word for word in content_stems(query) if word.lower()[:_SAME_START] not in said]
    if not new:
        return []
    old = sorted(content_stems(known))[:_MOST_COMPARED]
    try:
        rarity = await retriever.rarity([*new, *old])
    except RetrievalError:
        return []
    has = sum(rarity.get(word, 0.0) < 1.0 for word in old)
    return sorted(word for word in new if rarity.get(word, 0.0) >= 1.0) if has > _VERSED * len(old) else []


def _is_refusal(text: str) -> bool:
    return _REFUSAL.search(text.replace("\u2019", "'")) is not None


def _new_names(query: str, known: str) -> list[str]:
    """Return the names in a query that are not known. A name has a capital where other words have none: in its middle,
    as iPhone, or in the middle of a sentence, unless the language or the style gives one to every word."""
    found = [
        (match[0], query[max(0, match.start() - 9) : match.start()].rstrip()[-1:]) for match in _WORD.finditer(query)
    ]
    words = [word.lower() for word, _ in found]
    within = [
        word
        for word, before in found
        if len(word) > 1 and (word[1:] != word[1:].lower() or (before and before not in _ENDS and word[:1].isupper()))
    ]
    common = BY_LANGUAGE[language := language_of(words)]
    is_titled = any(word.lower() in common for word in within) and not any(
        word.islower() and len(word) > _SMALL for word, _ in found
    )
    if language == "german" or is_titled:
        return []
    return [name for name in within if not all(part in known for part in _PARTS.split(name.lower()) if len(part) > 1)]


def _new_numbers(query: str, known: str) -> list[str]:
    """Return the numbers in a query that are not known, in digits or in words."""
    if any(scale in known for scale in _SCALES):
        return []
    told = {str(value) for names in (_COUNTED, _PLACED) for value, name in enumerate(names.split()) if name in known}
    told.update(_DIGITS.findall(_GROUPED.sub("", known)))
    return [number for number in _DIGITS.findall(_GROUPED.sub("", query)) if number not in told]
