"""Titles of conversations: how a model is asked for one, and how one is made from words alone.

The demo model recognises the request and answers it from the words, so a title never depends on a provider.
"""

import re

from threadkeep.conversation.message import Message, Role
from threadkeep.llm.base import Request

MAX_LENGTH = 60

_INSTRUCTIONS = (
    "Write a title for the conversation that follows: at most six words, in the language of the conversation, "
    "without quotation marks and without a full stop. Answer with the title alone."
)
_SHARE = 2_000
_GREETING = re.compile(
    r"^\s*(?:hi|hello|hey|hallo|good (?:morning|afternoon|evening)|please)\b[\s,.!?:-]*", re.IGNORECASE
)
_SENTENCE = re.compile(r"(?<=[.!?…。！？])\s+|\n")  # noqa: RUF001 - Chinese and Japanese text too


def title_request(question: str, answer: str) -> Request:
    """Return the request that asks a model for the title of a conversation, given its first exchange."""
    exchange = f"User: {question[:_SHARE]}\n\nAssistant: {answer[:_SHARE]}"
    return Request(
        messages=(Message(role=Role.SYSTEM, content=_INSTRUCTIONS), Message(role=Role.USER, content=exchange))
    )


def is_title_request(request: Request) -> bool:
    return bool(request.messages) and request.messages[0].content == _INSTRUCTIONS


def title_of(request: Request) -> str:
    """Return a title for a request made by `title_request`, from its words."""
    exchange = request.messages[-1].content
    return title_from_words(exchange.removeprefix("User: ").partition("\n\nAssistant: ")[0])


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
