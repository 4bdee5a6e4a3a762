"""The words of a question that say what it is about: what recall looks for in the conversation's full-text index."""

import re

from threadkeep.conversation.stop_words import STOP_WORDS

MAX_WORDS = 32

_WORD = re.compile(r"[^\W_]+")


def content_words(question: str) -> tuple[str, ...]:
    """Return the different words of a question without those that every text has, in order, 32 at most.

    The stop words are those of English, German, French and Spanish. It may return none: "what about it?" says nothing
    that could be looked up.
    """
    words = dict.fromkeys(word for word in _WORD.findall(question.lower()) if word not in STOP_WORDS)
    return tuple(words)[:MAX_WORDS]
