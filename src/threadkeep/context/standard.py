"""The standard list of processors. An assistant may bring another; its last five should then be these last five."""

from threadkeep.context.alternation import alternation
from threadkeep.context.base import Processor
from threadkeep.context.blocks import blocks
from threadkeep.context.history import history
from threadkeep.context.instructions import instructions
from threadkeep.context.interrupted import interrupted
from threadkeep.context.notes import notes
from threadkeep.context.passages import passages
from threadkeep.context.placing import placing
from threadkeep.context.recall import recall
from threadkeep.context.summary import summary
from threadkeep.context.told_calls import told_calls
from threadkeep.context.tool_pairs import tool_pairs
from threadkeep.context.trace import trace
from threadkeep.context.window import window

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
