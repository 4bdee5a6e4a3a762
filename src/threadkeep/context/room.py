"""How many tokens each part of a context may have.

The model's budget is for everything. The tool definitions, the system message, notes, passages and the summary take
what they need; once something was cut off, recall gets a share of the rest; the history gets what is left, or less
where the policy says so.
"""

from threadkeep.context.base import Window, Working
from threadkeep.context.history import Turn
from threadkeep.context.marks import own
from threadkeep.context.history import text_of_summary

DEFAULT_TOKENS = 2000
RECALL_TOKENS = 3000
RECALL_SHARE = 0.75
"""Issue 3 measured this split on LoCoMo: of 4,000 tokens a quarter as window and the other 3,000 as recall."""


def room_for_history(working: Working, current: Turn, *, has_cut: bool) -> int:
    """Return how many tokens the history may have, the current turn included.

    A budget of the policy is for what was said before: the current question does not count (R-D6).
    """
    room = _unspent(working) - (_share_of_recall(working) if has_cut else 0)
    asked = sum(working.material.count(line.message) for line in current if line.opens)
    return max(1, min(room, _policy_tokens(working) + asked))


def room_for_question(working: Working) -> int:
    """Return how many tokens the current question may have: all that the model has room for, whatever the policy."""
    return max(1, _unspent(working))


def room_left_for_recall(working: Working) -> int:
    """Return how many tokens recalled entries may have once the lines are decided: their share, or what they left."""
    lines = sum(working.material.count(line.message) for line in working.lines)
    return max(0, min(_share_of_recall(working), _unspent(working) - lines))


def _share_of_recall(working: Working) -> int:
    """Return three quarters of a small room, no more than 3,000 tokens, and no more than the budget of the window."""
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
    return material.budget - material.tool_tokens - sum(material.count(own("size", text)) for text in ours if text)
