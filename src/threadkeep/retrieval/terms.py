"""How texts and queries fall into words for the full-text side of an index.

Words are cut as everywhere else (`text.words`: no accents, dense scripts by pairs of signs); the index stems them. A
query loses the words that every text of its language has.
"""

from collections.abc import Iterable

from threadkeep.text.stop_words import BY_LANGUAGE
from threadkeep.text.words import words_in_order

MAX_TERMS = 64
"""How many different words of a query are looked for; the rest of a page that was pasted adds nothing but time."""
MAX_CHARACTERS = 8_000
"""How much of a query is looked at; embeddings of a provider take no more either."""


def indexed(text: str) -> str:
    """Return the words of a text, ready to be indexed."""
    return " ".join(words_in_order(text))


def query_terms(texts: Iterable[str]) -> list[str]:
    """Return the different words to look for, in order; stop words only if there is nothing else."""
    words = dict.fromkeys(word for text in texts for word in words_in_order(text[:MAX_CHARACTERS]))
    stop_words = max(BY_LANGUAGE, key=lambda language: len(language & words.keys()))
    return ([word for word in words if word not in stop_words] or list(words))[:MAX_TERMS]
