"""The guard of a rewrite: is what a model answered a query that says the same, with nothing made up?

Words that are neither in the question nor in the conversation are suspect. A few neutral ones are let through, so that
a model may make a sentence of what it was given.
"""

import re
from collections.abc import Iterable

from threadkeep.retrieval.expansion import content_stems

MOST_CHARACTERS = 300
_LABEL = re.compile(
    r"^\s*(?:[-*>\s]*)(?:\**(?:rewritten|standalone|search|reformulated)?\s*(?:query|question)\**\s*:)\s*", re.I
)
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|unable)|i can(?:no|')t|as an ai|i do(?:n't| not) (?:have|know)|sure[,!]|here is )",
    re.IGNORECASE,
)
_MAKING_SENTENCES = """compare compared comparison difference different between detail information list example
describe explain available type kind feature option product item question regarding relate related specific mention
mentioned previous recommend recommendation conversation context"""
_NEUTRAL = frozenset(_MAKING_SENTENCES.split())
_SAME_START = 5


def cleaned(text: str) -> str:
    """Return the query in what a model answered: its first line, without a label and quotation marks."""
    line = next((line for line in text.replace("\x00", " ").splitlines() if line.strip()), "")
    return " ".join(_LABEL.sub("", line).split()).strip("\"'“”„«»`* ")


def flaw(query: str, question: str, said: Iterable[str]) -> str | None:
    """Return what is wrong with a query that a model made of a question and what was said before; None if nothing."""
    if not query:
        return "it was empty"
    if len(query) > max(MOST_CHARACTERS, 2 * len(question)):
        return "it was too long"
    if _REFUSAL.search(query.replace("\u2019", "'")):
        return "it was no query"
    words = content_stems(query)
    if not words:
        return "it named nothing"
    known = content_stems(question).union(*map(content_stems, said)) | _NEUTRAL
    invented = sorted(word for word in words - known if not _is_form_of(word, known))
    return f"it had words that nobody said: {', '.join(invented[:5])}" if invented else None


def _is_form_of(word: str, known: Iterable[str]) -> bool:
    """Whether a word looks like another form of a known one: "waterproofing" of "waterproof"."""
    start = word[:_SAME_START]
    return len(start) == _SAME_START and start.isalpha() and any(other.startswith(start) for other in known)
