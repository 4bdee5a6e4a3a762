"""Outcomes of the market's tools: compact JSON for a model, blocks for people, and what is kept for later turns.

The JSON begins with `shown`, the tickers in order, so that they are still there when an old result is shortened. What
was listed is kept in the state of the conversation too, because a context of 2,000 tokens does not reach back for ever.
"""

import json
from collections.abc import Iterable
from typing import Any

from threadkeep.conversation.blocks import Block, Narrative
from threadkeep.tools.base import ToolContext, ToolOutcome
from threadkeep.tools.outcome import failure
from threadkeep_assistants.market.companies import FICTION, Company
from threadkeep_assistants.market.names import close_to

LIST = "list "
"""How the keys of kept lists begin; turn and call follow, so that they are in order and calls do not get in the way
of each other."""
COMPANY = "company"
"""The key of the company that was looked at last."""


def told(
    summary: str,
    shown: Iterable[Company],
    *blocks: Block,
    facts: dict[str, Any] | None = None,
    state: dict[str, Any] | None = None,
) -> ToolOutcome:
    """Return what a tool found; `summary` can be read out as it is."""
    tickers = [company.ticker for company in shown]
    value = {"shown": tickers, "summary": summary, **(facts or {}), "note": FICTION}
    content = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return ToolOutcome(content=content, blocks=blocks, state=state or {})


def caption(text: str) -> Narrative:
    """Return the words beside lists and charts: they stand for an old answer, and say what the figures are."""
    return Narrative(text=f"{text} {FICTION}")


def unknown(text: str) -> ToolOutcome:
    """Return the failure of a call that names a company which is not in the data, with the closest ones that are."""
    close = " or ".join(str(each) for each in close_to(text))
    meant = f"Did you mean {close}?" if close else "find_companies lists those that are."
    return failure(f"{text.strip()!r} is not in the data. {meant}")


def list_key(context: ToolContext) -> str:
    """Return the key of the state under which the list of this call is kept."""
    return f"{LIST}{context.turn:09d} {context.call_id}"
