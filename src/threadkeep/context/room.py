"""How many tokens each part of a context may have.

The model's budget is for everything. The system message, notes, passages and the summary take what they need; once
something was cut off, recall gets a share of the rest; the history gets what is left, or less where the policy says so.
"""

from threadkeep.context.base import Window, Working
from threadkeep.context.marks import own
from threadkeep.context.summary import text_of_summary

DEFAULT_TOKENS = 2000
RECALL_TOKENS = 3000
RECALL_SHARE = 0.75
"""On LoCoMo, with 4,000 tokens in all, a quarter as window and 3,000 tokens of recall found the most evidence."""


def room_for_history(working: Working, *, has_cut: bool) -> int:
    """Return how many tokens the history may have, the current turn included."""
    room = _unspent(working) - (room_for_recall(working) if has_cut else 0)
    return max(1, min(room, _policy_tokens(working)))


def room_for_recall(working: Working) -> int:
    """Return how many tokens recalled entries may have, once something was cut off.

    Three quarters of a small room, no more than 3,000 tokens, and no more than the window has where it has a budget.
    """
    if not working.material.policy.recall:
        return 0
    return max(0, min(RECALL_TOKENS, int(_unspent(working) * RECALL_SHARE), _policy_tokens(working)))


def _policy_tokens(working: Working) -> int:
    policy = working.material.policy
    return policy.size or DEFAULT_TOKENS if policy.window is Window.BUDGET else working.material.budget


def _unspent(working: Working) -> int:
    """Return what is left of the budget beside the parts that are neither history nor recall."""
    material = working.material
    ours = (working.system, *working.beside, *material.notes, text_of_summary(material.summary))
    return material.budget - sum(material.count(own("size", text)) for text in ours if text)
