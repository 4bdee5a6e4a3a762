"""Going on with a turn that was taken up: what was left half-written is kept and marked, then the loop runs."""

from threadkeep.turn.engine import run_turn
from threadkeep.turn.running import Running
from threadkeep.turn.steps.finish_draft import finish_draft


async def resume_turn(running: Running) -> None:
    """Go on where the log ends."""
    await finish_draft(running)
    await run_turn(running)
