"""Runs turns: starts them, keeps their leases, stops them, takes up those of dead owners. One per process."""

import asyncio
import logging
import os
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from pathlib import Path

from threadkeep import errors
from threadkeep.background import is_being_cancelled, supervised
from threadkeep.conversation.entry import Entry
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, Turn, TurnState
from threadkeep.store.base import MAX_LIMIT
from threadkeep.turn.active_turn import LOOP_LEASE, ActiveTurn, EngineDeps
from threadkeep.turn.decision import pending_calls
from threadkeep.turn.engine import resume_turn, run_turn
from threadkeep.turn.local_bus import Topic, topic_of
from threadkeep.turn.steps.run_tools import refuse
from threadkeep.turn.steps.settle import finish_draft, settle

logger = logging.getLogger(__name__)

STOPPED = "the turn was stopped before a person decided"
OTHERS_TIME = 60.0
"""Seconds that a turn whose assistant is not known here is left to processes that know it."""

Run = Callable[[ActiveTurn], Awaitable[None]]
Key = tuple[str, str, int, int]
"""Tenant, conversation, turn and fencing number, which identify a running turn."""


class TurnRunner:
    """The turns that run in this process, each in its own task, independent of whoever asked for it."""

    def __init__(self, deps: EngineDeps, after_turn: Run | None = None) -> None:
        self.deps = deps
        deps.store.listeners += (deps.bus.hear,)
        self._after_turn = after_turn
        self._active: dict[Key, ActiveTurn] = {}
        self._unknown: dict[Key, float] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._lease_task: asyncio.Task[None] | None = None

    def begin(self, lease: Lease, entries: Sequence[Entry] = ()) -> None:
        """Run a turn that was just begun, and then those that are queued behind it. A new one has these `entries`,
        which need not be read."""
        self.host(lease, run_turn, entries)

    def take_up(self, lease: Lease) -> None:
        """Go on with a turn that another owner left, or that waited for a person."""
        self.host(lease, resume_turn)

    def host(self, lease: Lease, run: Run, entries: Sequence[Entry] = ()) -> asyncio.Future[None]:
        """Keep the lease of a turn until `run` returns, and run those that are queued behind it."""
        leave = self.deps.admission.enter(lease.scope, lease.conversation)
        task = self._spawn(self._run_with_queue(lease, run, entries))
        task.add_done_callback(lambda _: leave())
        return task

    def _spawn(self, work: Awaitable[None]) -> asyncio.Future[None]:
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        if self._lease_task is None or self._lease_task.done():
            self._lease_task = asyncio.create_task(supervised("keeping leases", self._keep_leases))
        return task

    async def _run_with_queue(self, lease: Lease, run: Run, entries: Sequence[Entry]) -> None:
        held: Lease | None = lease
        try:
            while held is not None:
                held = await self._run_turn(held, run, entries)
                run, entries = run_turn, ()
        except (errors.LeaseLost, errors.ConversationNotFound) as error:
            logger.info("a turn of %s is not ours any more: %s", lease.conversation, error)
        except errors.StoreError as error:
            self._tell_left(lease, error.code)
            logger.warning("a turn of %s is left for recovery: %s", lease.conversation, error)
        except (Exception, asyncio.CancelledError) as error:
            if isinstance(error, asyncio.CancelledError) and is_being_cancelled():
                raise
            self._tell_left(lease, "internal_error")
            logger.exception("a turn of %s is left for recovery", lease.conversation)

    def _tell_left(self, lease: Lease, code: str) -> None:
        for observer in self.deps.observers:
            observer.left(lease, code)

    async def _run_turn(self, lease: Lease, run: Run, entries: Sequence[Entry]) -> Lease | None:
        """Run one turn to its end; return the lease of the next queued one, if there is one."""
        active = await ActiveTurn.load(self.deps, lease, entries)
        key = _key_of(lease.scope, lease.conversation, lease.turn, lease.fence)
        self._active[key] = active
        try:
            await run(active)
        finally:
            self._active.pop(key, None)
            active.ended.set()
        if self._after_turn is not None:
            self._spawn(self._after_turn(active))
        return await self._start_next(lease.scope, lease.conversation)

    async def _start_next(self, scope: Scope, conversation: str) -> Lease | None:
        """Start the oldest queued turn of the conversation, unless another turn is open."""
        deps = self.deps
        begun = await deps.store.start(scope, conversation, deps.owner, deps.lease_for)
        return None if begun is None else begun.lease

    async def run_next(self, scope: Scope, conversation: str) -> bool:
        """Run the queued turns of a conversation, unless another turn is open; return whether one was started."""
        begun = await self._start_next(scope, conversation)
        if begun is not None:
            self.begin(begun)
        return begun is not None

    async def after(self, active: ActiveTurn) -> None:
        """Do what comes after a turn that did not run here."""
        if self._after_turn is not None:
            self._spawn(self._after_turn(active))
        await self.run_next(active.lease.scope, active.lease.conversation)

    def _active_here(self, turn: Turn) -> ActiveTurn | None:
        """Return a turn if it runs here and is still ours."""
        return self._active.get(_key_of(turn.scope, turn.conversation, turn.number, turn.fence))

    async def stop_turn(self, turn: Turn, state: TurnState) -> None:
        """Stop an open turn, wherever it runs: keep its text as interrupted, and settle it."""
        active = self._active_here(turn)
        if active is not None:
            active.stop_as = state
            active.stop.set()
            await active.ended.wait()
            # It may have begun to wait for a person just before it saw the request to stop.
            open_turns = await self.deps.store.turns(turn.scope, turn.conversation)
            waiting = [each for each in open_turns if (each.number, each.state) == (turn.number, TurnState.WAITING)]
            if not waiting:
                return
            turn = waiting[0]
        lease = await self.deps.store.take(turn, self.deps.owner, self.deps.lease_for)
        active = await ActiveTurn.load(self.deps, lease)
        await finish_draft(active)
        if turn.state is TurnState.WAITING:
            await refuse(active, pending_calls(active.entries), STOPPED)
        await settle(active, state)
        await self.run_next(turn.scope, turn.conversation)

    def no_such_turn(self, scope: Scope, conversation: str, why: str | None = None) -> errors.ThreadkeepError:
        """Return the error for a turn that is not open, or, in an outage, may be open without being known here."""
        if self.deps.store.operations.spool_state(scope, conversation).is_partial:
            return errors.StoreUnavailable("The database is away, and this turn is not known here: try again later.")
        return errors.TurnNotFound(why)

    async def stop_here(self, scope: Scope, conversation: str) -> None:
        """Take back what is queued in a conversation, stop what runs here, and wait until it has ended."""
        for turn in await self.deps.store.turns(scope, conversation):
            if turn.state is TurnState.QUEUED:
                with suppress(errors.TurnNotFound):
                    await self.deps.store.withdraw(scope, conversation, turn.number)
        for key, active in list(self._active.items()):
            if key[:2] == (scope.tenant, conversation):
                active.stop_as = TurnState.CANCELLED
                active.stop.set()
                await active.ended.wait()
        self.deps.branches.forget(scope.tenant, conversation)

    async def recover(self, limit: int = 100) -> int:
        """Take up turns whose leases have expired; return how many.

        A turn whose assistant is not known here is left to processes that know it; if none takes it, it fails here.
        """
        waited, self._unknown = self._unknown, {}

        async def take_up(turn: Turn) -> bool:
            is_ours = self._active_here(turn) is None and (await self._is_known(turn) or self._is_overdue(turn, waited))
            return is_ours and await self._take_up(turn)

        # A lease of a loop outside may last longer than ours, and was not given by a clock that is ahead.
        longest = max(self.deps.lease_for, LOOP_LEASE)
        turns = await self.deps.store.operations.expired(longest, limit=limit)
        return await self._take_up_each(turns, take_up)

    async def recover_gone(self) -> int:
        """Take up turns of processes that have ended, even if their leases have not; return how many. For a start."""
        # With a lease time of zero, all leases count as expired.
        turns = await self.deps.store.operations.expired(timedelta(0), limit=MAX_LIMIT)
        gone = [turn for turn in turns if turn.owner is not None and self.deps.is_gone(turn.owner)]

        async def take_up(turn: Turn) -> bool:
            return await self._is_known(turn) and await self._take_up(turn)

        return await self._take_up_each(gone, take_up)

    async def _take_up_each(self, turns: Sequence[Turn], take_up: Callable[[Turn], Awaitable[bool]]) -> int:
        each = self.deps.store.operations.unreached.each
        return sum(await each("taking turns up", turns, take_up, lambda turn: turn.scope.tenant))

    def _is_overdue(self, turn: Turn, waited: Mapping[Key, float]) -> bool:
        """Whether other processes had enough time to take a turn up, by our monotonic clock."""
        key, now = _key_of(turn.scope, turn.conversation, turn.number, turn.fence), asyncio.get_running_loop().time()
        self._unknown[key] = waited.get(key, now)
        return now - self._unknown[key] > OTHERS_TIME

    async def _take_up(self, turn: Turn) -> bool:
        """Take up a turn, unless somebody else was faster."""
        if turn.state is TurnState.QUEUED:
            return await self.run_next(turn.scope, turn.conversation)
        try:
            self.take_up(await self.deps.store.take(turn, self.deps.owner, self.deps.lease_for))
        except errors.LeaseLost:
            return False
        return True

    async def _is_known(self, turn: Turn) -> bool:
        """Whether this process has the assistant of a turn."""
        try:
            self.deps.assistant_of(await self.deps.store.get(turn.scope, turn.conversation))
        except (errors.ConversationNotFound, errors.InvalidValue):
            return False
        return True

    async def close(self, patience: float) -> None:
        """Give running turns some time to end; the rest is left for recovery."""
        loop = asyncio.get_running_loop()
        until = loop.time() + patience
        while self._tasks and (left_over := until - loop.time()) > 0:
            await asyncio.wait(self._tasks, timeout=left_over)
        if self._lease_task is not None:
            self._lease_task.cancel()
        for active in list(self._active.values()):
            await self._let_go(active)
        left = list(self._tasks)
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _let_go(self, active: ActiveTurn) -> None:
        """End a lease now, so that whoever starts next can take the turn up at once."""
        try:
            await self.deps.store.extend(active.lease, timedelta(0))
        except (errors.LeaseLost, errors.StoreError) as error:
            logger.info("a lease of %s ends by itself: %s", active.lease.conversation, error)

    async def _keep_leases(self) -> None:
        """Extend every lease in time, as long as turns run here."""
        while self._tasks:
            await asyncio.sleep(self.deps.lease_for.total_seconds() / 3)
            # All at once: they share commits, and a slow one must not cost the others their leases.
            await asyncio.gather(*map(self._keep_lease, self._active.values()))

    async def _keep_lease(self, active: ActiveTurn) -> None:
        """Extend a lease; stop the turn here if another process has taken it."""
        try:
            await self.deps.store.extend(active.lease, active.lease_for)
        except errors.LeaseLost:
            active.stop.set()
        except errors.StoreError as error:
            logger.warning("a lease could not be extended: %s", error)

    async def changed_elsewhere(self, topics: frozenset[Topic]) -> None:
        """Find out at once whether a turn that runs here was stopped by another process."""
        for active in list(self._active.values()):
            if topic_of(active.lease.scope.tenant, active.lease.conversation) in topics:
                await self._keep_lease(active)


def _key_of(scope: Scope, conversation: str, turn: int, fence: int) -> Key:
    return scope.tenant, conversation, turn, fence


def new_owner() -> str:
    """Return a name for this process and this use of a store, from which another process of the same machine can tell
    whether it has ended.

    It has the process id and its start time, because ids are used again, and the machine and PID namespace, because
    containers have their own ids.
    """
    pid = os.getpid()
    return " ".join((*_machine(), str(pid), _started(pid) or "unknown", new_id()))


def is_gone(owner: str) -> bool:
    """Whether the process of an owner has surely ended. False where that cannot be known (no `/proc`, another machine,
    another container): then the lease runs out by itself."""
    host, space, pid, started, *_ = (*owner.split(" "), "", "", "", "")
    if (host, space) != _machine() or not pid.isdigit() or started == "unknown":
        return False
    return _started(int(pid)) != started


def _machine() -> tuple[str, str]:
    try:
        space = os.readlink("/proc/self/ns/pid")
    except OSError:
        space = "unknown"
    return socket.gethostname(), space


def _started(pid: int) -> str | None:
    """Return when a process started, in clock ticks of the system; None if there is no such process, or no `/proc`."""
    try:
        # The name of the program, in parentheses, may contain anything, even spaces and parentheses.
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        return None if state in "ZX" else fields[18]
    except (OSError, ValueError, IndexError):
        return None
