"""Where turns live: starts them, keeps their leases, stops them, takes up those of dead owners. One per process."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from datetime import timedelta

from threadkeep.conversation.turn import Lease, Turn, TurnChange, TurnState
from threadkeep.errors import LeaseLost, StoreError, ThreadkeepError
from threadkeep.store.base import Append
from threadkeep.turn.decision import RunTools, Wait, decide
from threadkeep.turn.engine import run_turn
from threadkeep.turn.resume import finish_draft, resume_turn
from threadkeep.turn.running import Parts, Running
from threadkeep.turn.steps.run_tools import run_tools
from threadkeep.turn.steps.settle import settle

logger = logging.getLogger(__name__)

Key = tuple[str, str]


class Host:
    """The turns that run in this process, each in its own task, independent of whoever asked for it."""

    def __init__(self, parts: Parts, after_turn: Callable[[Running], Awaitable[None]]) -> None:
        self.parts = parts
        self._after_turn = after_turn
        self._running: dict[Key, Running] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._keeper: asyncio.Task[None] | None = None

    def begin(self, lease: Lease) -> None:
        """Run a turn that was just begun, and then those that are queued behind it."""
        self._spawn(self._run_all(lease, run_turn))

    def take_up(self, lease: Lease) -> None:
        """Go on with a turn that another owner left, or that waited for a person."""
        self._spawn(self._run_all(lease, resume_turn))

    def _spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if self._keeper is None or self._keeper.done():
            self._keeper = asyncio.create_task(self._keep_leases())

    async def _run_all(self, lease: Lease, run: Callable[[Running], Awaitable[None]]) -> None:
        held: Lease | None = lease
        try:
            while held is not None:
                held = await self._run(held, run)
                run = run_turn
        except LeaseLost:
            logger.info("a turn of %s was taken up elsewhere", lease.conversation)
        except StoreError as error:
            logger.warning("a turn of %s is left for recovery: %s", lease.conversation, error)

    async def _run(self, lease: Lease, run: Callable[[Running], Awaitable[None]]) -> Lease | None:
        """Run one turn to its end; return the lease of the next queued one, if there is one."""
        try:
            running = await Running.load(self.parts, lease)
        except (StoreError, LeaseLost):
            raise
        except ThreadkeepError as error:
            await self._fail(lease, error)
            return await self.start_next(lease)
        key = (lease.scope.tenant, lease.conversation)
        self._running[key] = running
        try:
            await run(running)
        finally:
            self._running.pop(key, None)
            running.ended.set()
        self._spawn(self._after_turn(running))
        return await self.start_next(lease)

    async def _fail(self, lease: Lease, error: ThreadkeepError) -> None:
        """Settle a turn that cannot even be loaded: its assistant or its model is not there."""
        change = TurnChange(state=TurnState.FAILED, error=f"{error.code}: {error}")
        append = Append(parent=None, lease=lease, settle=change)
        await self.parts.store.append(lease.scope, lease.conversation, append)
        self.parts.bus.publish(lease.scope.tenant, lease.conversation)

    async def start_next(self, lease: Lease) -> Lease | None:
        """Start the oldest queued turn of the conversation, unless another turn is open."""
        parts = self.parts
        begun = await parts.store.start(lease.scope, lease.conversation, parts.owner, parts.lease_for)
        if begun is None:
            return None
        parts.bus.publish(lease.scope.tenant, lease.conversation)
        return begun.lease

    def running(self, tenant: str, conversation: str) -> Running | None:
        """Return the turn that runs here in a conversation."""
        return self._running.get((tenant, conversation))

    async def stop_turn(self, turn: Turn, state: TurnState) -> None:
        """Stop an open turn, wherever it runs: keep what was said, marked, and settle the turn."""
        running = self.running(turn.scope.tenant, turn.conversation)
        if running is not None and running.lease.turn == turn.number:
            running.stop_as = state
            running.stop.set()
            await running.ended.wait()
            return
        lease = await self.parts.store.take(turn, self.parts.owner, self.parts.lease_for)
        running = await Running.load(self.parts, lease)
        await finish_draft(running)
        step = decide(running.entries, running.assistant.tools, running.assistant.iterations)
        if isinstance(step, Wait):
            refused = {call.id: "the conversation went on" for call in step.calls}
            await run_tools(running, RunTools(step.calls, refused=refused), {})
        await settle(running, state)
        self._spawn(self._run_next(lease))

    async def _run_next(self, lease: Lease) -> None:
        begun = await self.start_next(lease)
        if begun is not None:
            await self._run_all(begun, run_turn)

    async def recover(self, limit: int = 100) -> int:
        """Take up turns whose owner did not keep its lease; return how many."""
        taken = 0
        for turn in await self.parts.store.expired(limit=limit):
            if self.running(turn.scope.tenant, turn.conversation) is not None:
                continue
            try:
                lease = await self.parts.store.take(turn, self.parts.owner, self.parts.lease_for)
            except LeaseLost:
                continue
            self.take_up(lease)
            taken += 1
        return taken

    async def close(self, patience: float) -> None:
        """Give running turns some time to end; the rest is left for recovery."""
        if self._keeper is not None:
            self._keeper.cancel()
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=patience)
        for running in list(self._running.values()):
            await self._let_go(running)
        left = list(self._tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _let_go(self, running: Running) -> None:
        """End a lease now, so that whoever starts next can take the turn up at once."""
        try:
            await self.parts.store.extend(running.lease, timedelta(0))
        except (LeaseLost, StoreError) as error:
            logger.info("a lease of %s ends by itself: %s", running.lease.conversation, error)

    async def _keep_leases(self) -> None:
        """Extend every lease in time, as long as turns run here."""
        while self._tasks:
            await asyncio.sleep(self.parts.lease_for.total_seconds() / 3)
            for running in list(self._running.values()):
                try:
                    await self.parts.store.extend(running.lease, self.parts.lease_for)
                except LeaseLost:
                    running.stop.set()
                except StoreError as error:
                    logger.warning("a lease could not be extended: %s", error)
