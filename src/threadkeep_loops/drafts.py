"""Text that comes request by request: which turns are being written, so that a token costs one write and no reading.

What is remembered here may be old, because a loop may speak to another instance meanwhile: the store, which knows how
much there is, refuses what does not fit, and it is read again.
"""

import time
from collections import OrderedDict
from typing import Any

from threadkeep.conversation.scope import Scope
from threadkeep.errors import DraftMismatch
from threadkeep_loops.bodies import DraftBody
from threadkeep_loops.leases import LEASE_SECONDS
from threadkeep_loops.running import OwnLoops
from threadkeep_loops.turn import DraftBehind, OwnTurn

MOST_TURNS = 256
Key = tuple[Scope, str, int, str]


class Drafts:
    """The turns that were written to lately, with when their leases were kept last."""

    def __init__(self) -> None:
        self._turns: OrderedDict[Key, tuple[OwnTurn, float]] = OrderedDict()

    async def write(self, loops: OwnLoops, number: int, token: str, body: DraftBody) -> int:
        """Write some text, and return where to go on."""
        key = (*loops.of, number, token)
        turn, kept_at = self._turns.pop(key, (None, 0.0))
        told: dict[str, Any] = {"reasoning": body.reasoning, "message": body.message}
        if turn is not None and turn.offset == body.offset > 0:
            if time.monotonic() - kept_at > LEASE_SECONDS / 3:
                await turn.keep()
                kept_at = time.monotonic()
            try:
                offset = await turn.draft(body.offset, body.text, **told)
            except DraftBehind:
                raise
            except DraftMismatch:
                pass  # it was written elsewhere
            else:
                self._remember(key, turn, kept_at)
                return offset
        turn = await loops.with_token(number, token)
        offset = await turn.draft(body.offset, body.text, **told)
        self._remember(key, turn, time.monotonic())
        return offset

    def _remember(self, key: Key, turn: OwnTurn, kept_at: float) -> None:
        self._turns[key] = turn, kept_at
        if len(self._turns) > MOST_TURNS:
            self._turns.popitem(last=False)
