"""Titles of conversations as their words make them, without a model."""

import re

MAX_LENGTH = 60

_GREETING = re.compile(
    r"^\s*(?:hi|hello|hey|hallo|good (?:morning|afternoon|evening)|please)\b[\s,.!?:-]*", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?<=[.!?…。！？])\s+|\n")


def title_from_words(question: str) -> str:
    """Return a title from the words of the first question; empty if it has none."""
    text = _GREETING.sub("", question) or question
    return clean_title(_SENTENCE.split(text.strip(), maxsplit=1)[0])


def clean_title(text: str) -> str:
    """Return what a model answered as a title: one line, no quotation marks, cut at a word."""
    line = " ".join(text.strip().partition("\n")[0].split()).strip("\"'“”„«»*#` ").rstrip(".:,; ")
    if len(line) > MAX_LENGTH:
        cut = line[:MAX_LENGTH]
        line = (cut.rpartition(" ")[0] or cut).rstrip(".:,; ") + "…"
    return line[:1].upper() + line[1:]
