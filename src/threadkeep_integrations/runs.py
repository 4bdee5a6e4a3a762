"""What adapters share that make a run of a framework's agent a turn: how one is begun, and taken up again.

What the run says and does there is told by each of them.
"""

from collections.abc import Awaitable, Callable
from typing import Any

from threadkeep.conversation_handle import ConversationHandle
from threadkeep.errors import TurnNotFound

UNKNOWN = "The outcome of this call is unknown: the process that ran it ended. Check before you repeat it."
REFUSED = "A person did not allow this call."


class Runs:
    """Runs that `answer` makes, of a turn, its conversation, an agent and the calls about which a person decides."""

    def __init__(self, answer: Callable[..., Awaitable[Any]]) -> None:
        self._answer = answer

    async def run_turn(
        self,
        conversation: ConversationHandle,
        agent: Any,
        content: str | list[Any] | None,
        *,
        options: Any = None,
        **how: Any,
    ) -> Any:
        """Answer a message by a run of the agent, and return the run's result; None if somebody stopped it.

        `how` is told as to `conversation.turn`: a `key` with which it is one turn however often it is asked. `options`
        are the framework's own.
        """
        async with conversation.turn(content, **how) as turn:
            return await self._answer(turn, conversation, agent, **(options or {}))

    async def continue_turn(
        self, conversation: ConversationHandle, agent: Any, number: int, *, options: Any = None
    ) -> Any:
        """Go on with a turn whose process has ended, such as one that waits for a person, and return the result."""
        found = [turn for turn in await conversation.turns() if turn.number == number]
        if not found:
            raise TurnNotFound
        waiting = {call.id for turn in found for call in await conversation.waiting_calls(turn)}
        async with conversation.loops.take_up(number) as turn:
            return await self._answer(turn, conversation, agent, waiting, **(options or {}))
