"""The standard list of processors. An assistant may bring another; its last five should then be these last five."""

from dataclasses import replace

from threadkeep.context.alternation import alternation
from threadkeep.context.base import Processor, Working
from threadkeep.context.blocks import blocks
from threadkeep.context.history import history, instructions, summary
from threadkeep.context.marks import interrupted, notes
from threadkeep.context.placing import passages, placing
from threadkeep.context.recall import recall
from threadkeep.context.tokens import counter_name
from threadkeep.context.tool_pairs import told_calls, tool_pairs
from threadkeep.context.window import window


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


STANDARD: tuple[Processor, ...] = (
    history,
    instructions,
    blocks,
    interrupted,
    passages,
    window,
    summary,
    recall,
    placing,
    tool_pairs,
    told_calls,
    notes,
    alternation,
    trace,
)
"""What is said, how much of it fits, what stands for the rest, and what makes it valid everywhere, in this order."""
