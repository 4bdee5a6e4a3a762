"""Going on with a turn that was taken up: what was left half-written is kept and marked, then the loop runs."""

from threadkeep.turn.active_turn import ActiveTurn
from threadkeep.turn.engine import run_turn
from threadkeep.turn.steps.finish_draft import finish_draft


async def resume_turn(active: ActiveTurn) -> None:
    """Go on where the log ends."""
    await finish_draft(active)
    await run_turn(active)
