"""What is remembered of how a context came about: the cut, for the next call, and the sizes, for people."""

from dataclasses import replace

from threadkeep.context.base import Working
from threadkeep.context.tokens import counter_name


def trace(working: Working) -> Working:
    """Count what came out and add the item that tells of the window."""
    material = working.material
    tokens = material.tool_tokens + sum(material.count(message) for message in working.messages)
    item = {
        "kind": "context",
        "first": working.cut.first,
        "masked": working.cut.masked,
        "tokens": tokens,
        "counter": counter_name(material.count),
        "budget": material.budget,
        "dropped": working.cut.first > 0,
    }
    return replace(working, tokens=tokens, trace=(*working.trace, item))
