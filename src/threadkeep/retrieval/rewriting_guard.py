"""The guard of a rewrite: is what a model answered a query that says the same, with nothing made up?

Words that are neither in the question nor in the conversation are suspect. Some are let through: a synonym is not
nonsense, and a model makes a sentence of what it was given. Too many of them belong to another conversation.
"""

import re
from collections.abc import Iterable, Sequence

from threadkeep.retrieval.expansion import content_stems

MOST_CHARACTERS = 300
_LABEL = re.compile(r"^[-*>\s]*+(?:rewritten|standalone|search|reformulated)?\s*+(?:query|question)\**+\s*+:\s*+", re.I)
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|unable)|i can(?:no|')t|as an ai|i do(?:n't| not) (?:have|know)|sure[,!]|here is )",
    re.IGNORECASE,
)
_MAKING_SENTENCES = """compare compared comparison difference different between detail information list example
describe explain available type kind feature option product item question regarding relate related specific mention
mentioned previous recommend recommendation conversation context"""
_NEUTRAL = frozenset(_MAKING_SENTENCES.split())
_SAME_START = 5
_RECENT = 8
"""In how many of the newest texts other forms of a word are looked for; in older ones it must stand as it is."""
_SHARE = 3
"""One word of so many may be new, and one in any case, as long as another is not."""


def cleaned(text: str) -> str:
    """Return the query in what a model answered: its first line, without a label and quotation marks."""
    line = next((line for line in text.replace("\x00", " ").splitlines() if line.strip()), "")
    return " ".join(_LABEL.sub("", line).split()).strip("\"'“”„«»`* ")


def flaw(query: str, question: str, said: Sequence[str]) -> str | None:
    """Return what is wrong with a query that a model made of a question and all that was said; None if nothing."""
    if not query:
        return "it was empty"
    if len(query) > max(MOST_CHARACTERS, 2 * len(question)):
        return "it was too long"
    if _REFUSAL.search(query.replace("\u2019", "'")):
        return "it was no query"
    words = content_stems(query)
    if not words:
        return "it named nothing"
    known = content_stems(question).union(*map(content_stems, said[-_RECENT:])) | _NEUTRAL
    new = sorted(word for word in words - known if not _is_form_of(word, known) and not _stands_in(word, said))
    is_nonsense = len(new) > max(1, len(words) // _SHARE) or len(new) == len(words)
    return f"it had words that nobody said: {', '.join(new[:5])}" if is_nonsense else None


def _stands_in(word: str, said: Iterable[str]) -> bool:
    return any(word in text.lower() for text in said)


def _is_form_of(word: str, known: Iterable[str]) -> bool:
    """Whether a word looks like another form of a known one: "waterproofing" of "waterproof"."""
    start = word[:_SAME_START]
    return len(start) == _SAME_START and start.isalpha() and any(other.startswith(start) for other in known)
