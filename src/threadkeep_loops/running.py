"""Turns that begin and end with a block of Python, and those of loops elsewhere, which begin and go on by requests."""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from dataclasses import replace
from typing import Any

from threadkeep.conversation.events import TurnStarted
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Failure, Lease, TurnState
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.errors import ThreadkeepError
from threadkeep.loop_turn import Loops, LoopTurn, TurnOver
from threadkeep.store.values import Begun
from threadkeep.turn.active_turn import LOOP_LEASE, ActiveTurn
from threadkeep.turn.runner import TurnRunner
from threadkeep.turn.steps.accept import Loop, accept
from threadkeep.turn.steps.settle import finish_draft
from threadkeep.turn_handle import TurnHandle
from threadkeep_loops.leases import SeenLoop, Token, open_turn, seen_loop, taken
from threadkeep_loops.turn import OwnTurn

LEFT = "the loop was cancelled"


class OwnLoops(Loops):
    """The turns of a conversation that loops of your own run, here or elsewhere."""

    def __init__(self, conversation: ConversationHandle, runner: TurnRunner) -> None:
        self._conversation = conversation
        self._runner = runner
        self.of = self._of = conversation.scope, conversation.id

    def begin(self, content: str | list[Any] | None, **how: Any) -> AbstractAsyncContextManager[LoopTurn]:
        deps = self._runner.deps
        loop = Loop(deps.owner, deps.lease_for, how.pop("id", None))
        how["id"] = how.pop("message", None)
        return run_loop(self._runner, *self._of, lambda: self._begin(content, loop, **how))

    def take_up(self, number: int) -> AbstractAsyncContextManager[LoopTurn]:
        return run_loop(self._runner, *self._of, number)

    async def _begin(self, content: str | list[Any] | None, loop: Loop, **how: Any) -> Begun:
        sending = self._conversation.sending(content, loop=loop, **how)
        if content is None and sending.parent is None:
            sending = replace(sending, parent=(await self._conversation.read()).head)
        return await accept(self._runner, *self._of, sending)

    # Loops elsewhere

    async def begin_elsewhere(
        self, content: str | list[Any] | None, *, turn: str | None = None, **how: Any
    ) -> tuple[Begun, Token]:
        """Begin a turn for a loop in another process, or queue it; the token is good if there is a lease."""
        token = Token.new()
        return await self._begin(content, Loop(token.owner, LOOP_LEASE, turn), **how), token

    async def seen(self, number: int) -> SeenLoop:
        """Return how a turn stands."""
        return await seen_loop(self._runner, *self._of, number)

    async def with_token(self, number: int, token: str) -> OwnTurn:
        """Return a turn for whom shows its token, with what it was writing, and keep its lease for longer."""
        await open_turn(self._runner, *self._of, number)
        deps, shown = self._runner.deps, Token.read(token)
        lease = Lease(scope=self._of[0], conversation=self._of[1], turn=number, owner=shown.owner, fence=shown.fence)
        loop = OwnTurn(self._runner, await ActiveTurn.load(deps, lease))
        await loop.keep()
        draft = (await deps.store.snapshot(*self._of)).draft
        if draft is not None and draft.turn == number:
            loop.go_on(draft)
        return loop

    async def lease(self, number: int, *, anew: bool = False) -> Token:
        """Take up an open turn for a loop elsewhere, and return its new token; `anew` keeps what was half written as
        interrupted."""
        token = Token.new()
        lease = await taken(self._runner, *self._of, number, token)
        if anew:
            await finish_draft(await ActiveTurn.load(self._runner.deps, lease))
        return Token(lease.fence, token.secret)

    async def settled(self, turn: OwnTurn) -> None:
        """Do what comes after a turn of a loop elsewhere: a title, and the next turn of the queue."""
        await self._runner.after(turn.active)


@asynccontextmanager
async def run_loop(
    runner: TurnRunner, scope: Scope, conversation: str, begin: Callable[[], Awaitable[Begun]] | int
) -> AsyncGenerator[OwnTurn, None]:
    """Begin a turn, or take one up, for the code inside the block, and end it with the block: as completed, as failed
    by an exception, as interrupted if the task is cancelled, or as it was stopped, which ends the block quietly."""
    loop = await _begun(runner, scope, conversation, begin)
    try:
        yield loop
        if not loop.is_over:
            await loop.complete()
    except (TurnOver, asyncio.CancelledError) as error:
        if loop.was_stopped:
            if isinstance(error, asyncio.CancelledError) and (task := asyncio.current_task()) is not None:
                task.uncancel()
            return
        if isinstance(error, asyncio.CancelledError):
            await loop.end_as(TurnState.INTERRUPTED, detail=LEFT)
        raise
    except Exception as error:
        code = error.code if isinstance(error, ThreadkeepError) else "loop_failed"
        await loop.end_as(TurnState.FAILED, failure=Failure(code=code, detail=f"{type(error).__name__}: {error}"))
        raise
    finally:
        loop.leave()


async def _begun(
    runner: TurnRunner, scope: Scope, conversation: str, begin: Callable[[], Awaitable[Begun]] | int
) -> OwnTurn:
    """Begin or take up a turn; one that was queued is waited for."""
    begun = None if isinstance(begin, int) else await begin()
    number = begin if isinstance(begin, int) else begun.turn if begun else 0
    lease, entries = (begun.lease, begun.entries) if begun else (None, ())
    if begun is not None and lease is None and not begun.replayed:
        async with aclosing(TurnHandle(runner.deps, scope, conversation, number).events()) as events:
            async for event in events:
                if isinstance(event.what, TurnStarted) and event.what.turn == number:
                    break
    if lease is None:
        lease, entries = await taken(runner, scope, conversation, number), ()
    loop = OwnTurn(runner, await ActiveTurn.load(runner.deps, lease, entries))
    if not entries:
        await finish_draft(loop.active)
    await loop.host(lease, entries)
    return loop
