"""What is remembered of how a context came about: the cut, for the next call, and the sizes, for people."""

from dataclasses import replace

from threadkeep.context.base import Working


def trace(working: Working) -> Working:
    """Count what came out and add the item that tells of the window."""
    tokens = sum(working.material.count(message) for message in working.messages)
    item = {
        "kind": "context",
        "first": working.cut.first,
        "masked": working.cut.masked,
        "tokens": tokens,
        "budget": working.material.budget,
        "dropped": working.cut.first > 0,
    }
    return replace(working, tokens=tokens, trace=(*working.trace, item))
