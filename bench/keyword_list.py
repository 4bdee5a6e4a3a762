"""The list of R-E6: follow-up detection by a handful of words. The baseline that `follow_up` is measured against."""

import re

_WORDS = (
    "that", "this", "it", "they", "them", "those", "these", "the one", "the same", "which one",
    "tell me more", "more about", "what about", "how about", "how does it", "how do they", "can you compare",
    "what's the difference", "is it better", "any other", "similar to", "like that", "another option",
)  # fmt: skip
_LIST = re.compile(rf"\b(?:{'|'.join(map(re.escape, _WORDS))})\b", re.IGNORECASE)


def mentions_reference(question: str) -> bool:
    """Return whether a question holds a word or phrase of the list."""
    return _LIST.search(question.replace("\u2019", "'")) is not None
