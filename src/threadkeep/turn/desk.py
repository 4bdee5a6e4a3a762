"""What can be asked of conversations: send, answer again, cancel, approve, follow. The server, the command line and
Python programs all ask here; reading and listing is asked of the store itself."""

from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress

from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Approval, Entry
from threadkeep.conversation.events import Event, TurnWaiting
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message, Role, ToolCall
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, Turn, TurnState
from threadkeep.errors import InvalidParent, LeaseLost, ThreadkeepError, TurnNotFound
from threadkeep.store.base import MAX_LIMIT, Append, Begun
from threadkeep.store.history import backwards
from threadkeep.turn.active_turn import turn_entries
from threadkeep.turn.decision import waiting_calls
from threadkeep.turn.follow import follow
from threadkeep.turn.runner import TurnRunner
from threadkeep.turn.steps.accept import BusyPolicy, Sending, accept

LATELY = 200
"""How many entries back a repeated answer is looked for."""


class Desk:
    """Takes requests for one store and one host of turns."""

    def __init__(self, runner: TurnRunner) -> None:
        self.runner = runner
        self.store = runner.deps.store

    async def send(self, scope: Scope, conversation: str, sending: Sending) -> Begun:
        """Store a message and begin (or queue) the turn that answers it."""
        return await accept(self.runner, scope, conversation, sending)

    async def regenerate(
        self, scope: Scope, conversation: str, *, entry: int | None = None, key: IdempotencyKey | None = None
    ) -> Begun:
        """Answer the question behind an answer (none: the newest) again, beside the old answer."""
        asked = await self._question(scope, conversation, entry)
        sending = Sending(content=None, parent=asked.seq, policy=BusyPolicy.QUEUE, key=key)
        return await accept(self.runner, scope, conversation, sending)

    async def _question(self, scope: Scope, conversation: str, entry: int | None) -> Entry:
        """Return the user message that an entry of a branch belongs to."""
        async with aclosing(backwards(self.store, scope, conversation, head=entry)) as entries:
            async for found in entries:
                if isinstance(found.body, Message) and found.body.role is Role.USER:
                    return found
        raise InvalidParent("There is no question to answer again.")

    async def cancel(self, scope: Scope, conversation: str) -> Turn:
        """Stop the turn that runs or waits, keep what was said of it, and return the turn."""
        turn = await self._active(scope, conversation)
        try:
            await self.runner.stop_turn(turn, TurnState.CANCELLED)
        except LeaseLost:
            raise TurnNotFound from None
        return turn

    async def approve(
        self,
        scope: Scope,
        conversation: str,
        tool_call_id: str,
        *,
        approved: bool,
        reason: str | None = None,
        key: IdempotencyKey | None = None,
    ) -> Entry:
        """Answer for a person whether a waiting call may run; the turn goes on when every call is decided."""
        answer = Approval(tool_call_id=tool_call_id, approved=approved, reason=reason)
        turn = await self._waiting(scope, conversation)
        waiting = await self.waiting_calls(turn) if turn is not None else ()
        if turn is None or tool_call_id not in (call.id for call in waiting):
            return await self._earlier(scope, conversation, answer)
        lease = None
        if len(waiting) == 1:
            # Taken up first: who dies between the answer and the going on leaves a turn that is recovered.
            lease = await self._taken(turn)
        try:
            done = await self.store.append(scope, conversation, Append(bodies=(answer,), key=key, lease=lease))
        except ThreadkeepError:
            if lease is not None:
                self.runner.take_up(lease)  # the answer was refused: the turn waits again
            raise
        self.runner.deps.bus.publish(scope.tenant, conversation)
        if lease is not None:
            self.runner.take_up(lease)
        elif not await self.waiting_calls(turn):
            with suppress(TurnNotFound):  # others decided the other calls at the same time, and one of us goes on
                self.runner.take_up(await self._taken(turn))
        return done.entries[0]

    async def waiting_calls(self, turn: Turn) -> tuple[ToolCall, ...]:
        """Return the calls that a person has yet to decide about; none if the turn does not wait."""
        if turn.state is not TurnState.WAITING:
            return ()
        return waiting_calls(await turn_entries(self.store, turn.scope, turn.conversation, turn.number))

    async def _waiting(self, scope: Scope, conversation: str) -> Turn | None:
        turns = await self.store.turns(scope, conversation)
        return next((turn for turn in turns if turn.state is TurnState.WAITING), None)

    async def _earlier(self, scope: Scope, conversation: str, answer: Approval) -> Entry:
        """Return the entry that holds the same answer already: who answers twice is not refused the second time."""
        last = (await self.store.get(scope, conversation)).entries
        page = await self.store.log(scope, conversation, Cursor(seq=max(0, last - LATELY)), limit=LATELY)
        for entry in reversed(page.entries):
            if entry.body == answer:
                return entry
        raise TurnNotFound("No such call waits for a person.")

    async def _taken(self, turn: Turn) -> Lease:
        deps = self.runner.deps
        try:
            return await self.store.take(turn, deps.owner, deps.lease_for)
        except LeaseLost:
            raise TurnNotFound("Somebody else has just decided about this call.") from None

    async def _active(self, scope: Scope, conversation: str) -> Turn:
        for turn in await self.store.turns(scope, conversation):
            if turn.state is not TurnState.QUEUED:
                return turn
        raise TurnNotFound

    async def is_over(self, scope: Scope, conversation: str, event: Event, turn: int) -> bool:
        """Whether an event is the last of a turn: it ended, or waits for a person and has not gone on since."""
        if not event.ends(turn):
            return False
        if not isinstance(event.what, TurnWaiting):
            return True
        page = await self.store.log(scope, conversation, Cursor(seq=event.what.seq), limit=MAX_LIMIT)
        return not any(entry.turn == turn for entry in page.entries)

    async def follow_turn(self, scope: Scope, conversation: str, begun: Begun) -> AsyncGenerator[Event, None]:
        """Yield what happens in the conversation from a turn's first entry on, until it ends or waits for a person."""
        async with aclosing(self.follow(scope, conversation, Cursor(seq=begun.entries[0].seq - 1))) as events:
            async for event in events:
                yield event
                if await self.is_over(scope, conversation, event, begun.turn):
                    return

    def follow(
        self,
        scope: Scope,
        conversation: str,
        after: Cursor | None = None,
        *,
        presence: bool = False,
    ) -> AsyncGenerator[Event, None]:
        """Yield every event of a conversation behind the cursor (none: from now on), for ever."""
        return follow(self.store, self.runner.deps.bus, scope, conversation, after, presence=presence)
