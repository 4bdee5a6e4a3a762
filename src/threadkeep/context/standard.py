"""The standard list of processors. An assistant may bring another; its last five should then be these last five."""

from threadkeep.context.alternation import alternation
from threadkeep.context.base import Processor
from threadkeep.context.blocks import blocks
from threadkeep.context.history import history
from threadkeep.context.history import instructions
from threadkeep.context.marks import interrupted
from threadkeep.context.marks import notes
from threadkeep.context.placing import passages
from threadkeep.context.placing import placing
from threadkeep.context.recall import recall
from threadkeep.context.history import summary
from threadkeep.context.tool_pairs import told_calls
from threadkeep.context.tool_pairs import tool_pairs
from threadkeep.context.standard import trace
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
