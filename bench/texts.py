"""Chat-like text to measure with: pieces of conversations that the compression dictionary was not trained on."""

import json
import random
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path

from threadkeep.conversation.message import Message, Role

_HELD_OUT = Path(__file__).parent / "chats" / "heldout.jsonl"


def chat_text() -> str:
    """Return all the held-out chat text in one piece."""
    lines = _HELD_OUT.read_text(encoding="utf-8").splitlines()
    return "\n".join(message["content"] for line in lines for message in json.loads(line)["messages"])


def turns(seed: int = 1, count: int = 2000) -> Iterator[tuple[Message, Message]]:
    """Return turns without end: a user message of 100 and an answer of 400 characters, cut from the chat text.

    They are made beforehand and come round again, so that making them is not part of what is timed.
    """
    text, dice = chat_text(), random.Random(seed)

    def cut(size: int) -> str:
        at = dice.randrange(len(text) - size)
        return text[at : at + size]

    return cycle(
        [
            (Message(role=Role.USER, content=cut(100)), Message(role=Role.ASSISTANT, content=cut(400)))
            for _ in range(count)
        ]
    )
