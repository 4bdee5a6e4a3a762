"""Titles of conversations: how a model is asked for one.

The demo model recognises the request and answers it from the words, so a title never depends on a provider.
"""

from threadkeep.conversation.message import Message, Role
from threadkeep.llm.base import Request
from threadkeep.text.title import title_from_words

_INSTRUCTIONS = (
    "Write a title for the conversation that follows: at most six words, in the language of the conversation, "
    "without quotation marks and without a full stop. Answer with the title alone."
)
_SHARE = 2_000


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
