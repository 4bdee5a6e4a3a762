"""A turn that runs in this process: what its steps share, and how its entries get into the log."""

import asyncio
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import cached_property
from typing import Any, TypeVar

from threadkeep.context.base import Counter, Cut
from threadkeep.context.tokens import count_tokens
from threadkeep.conversation.clock import Clock
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Approval, Entry
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.ids import IdSource
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import State, StateChange
from threadkeep.conversation.turn import Lease, TurnChange, TurnState
from threadkeep.conversion import Converter
from threadkeep.errors import LeaseLost, StoreUnavailable
from threadkeep.llm.base import Model, ModelOptions
from threadkeep.llm.loading import Loader
from threadkeep.llm.prices import Price
from threadkeep.store.attachments import Attachments
from threadkeep.store.audit import Act, act_now
from threadkeep.store.base import MAX_LIMIT, Store
from threadkeep.store.values import Append, Appendable
from threadkeep.tools.base import DEFAULT_TIMEOUT
from threadkeep.tools.client import AwaitedTool
from threadkeep.turn.admission import Admission, Budgets
from threadkeep.turn.agent import Agent
from threadkeep.turn.assistant import AgentSource, Assistant, ModelSource, agent_of
from threadkeep.turn.branches import Branches, KeptBranch
from threadkeep.turn.local_bus import LocalBus
from threadkeep.turn.lookup import LookedUp
from threadkeep.turn.observer import Observer

BodyT = TypeVar("BodyT", bound=Appendable)

LOOP_LEASE = timedelta(seconds=60)
"""How long a loop outside of this process may be silent before its turn is interrupted."""
STORE_PATIENCE = 5.0
"""Seconds that a stopped turn waits for a write that has begun."""


@dataclass(frozen=True, kw_only=True)
class EngineDeps:
    """What the engine is put together from. Times are in seconds.

    - `is_gone`: whether the process of an owner has surely ended
    - `silence`: how long a model may say nothing; `pauses`: the waits before each further attempt after a failure
    - `tool_timeout`: how long a call may take unless its tool sets another limit
    - `count`: counts the tokens of a message; `prices`: what they cost, by patterns of model names
    - `attachments`: where files are kept, if anywhere; `converter`: extracts their text and makes images smaller
    - `branches`: what the last turns have read
    """

    store: Store
    bus: LocalBus = field(default_factory=LocalBus)
    assistant_of: Callable[[Conversation], Assistant]
    models: ModelSource
    agents: AgentSource = agent_of
    clock: Clock
    ids: IdSource
    owner: str
    is_gone: Callable[[str], bool] = lambda owner: False
    lease_for: timedelta = timedelta(seconds=10)
    silence: float = 120.0
    tool_timeout: float = DEFAULT_TIMEOUT
    pauses: tuple[float, ...] = (0.5, 2.0, 6.0)
    count: Counter = count_tokens
    admission: Admission = field(default_factory=Admission)
    observers: tuple[Observer, ...] = ()
    loader: Loader = field(default_factory=Loader)
    attachments: Attachments | None = None
    converter: Converter = field(default_factory=Converter)
    prices: Mapping[str, Price] = field(default_factory=dict)
    budgets: Budgets | None = None
    branches: Branches = field(default_factory=Branches)

    async def load_model(self, name: str | None, assistant: Assistant) -> None:
        """Load the model that answers for an assistant; `name` is the conversation's own choice, if it has one."""
        await self.loader.load((name, assistant.name), lambda: self.models(name, assistant))

    def counted(self, body: BodyT) -> BodyT:
        """Return a body; a message without a token count gets one."""
        if isinstance(body, Message) and body.tokens is None:
            return body.model_copy(update={"tokens": self.count(body)})
        return body


@dataclass(kw_only=True)
class ActiveTurn:
    """One running turn: its lease, what it works with, and its entries so far.

    `history` is its branch as far as it matters, with the cut of the last answer; `found` is what was looked up for
    the question; `recalled` are related earlier entries, and those just before the window, as fields of a `Material`.
    Each is None until it was read. `stop` is set to end the turn as `stop_as`; `ended` is set when it no longer runs
    here. `began` is when it began to run here, by the monotonic clock.
    """

    deps: EngineDeps
    lease: Lease
    conversation: Conversation
    lease_for: timedelta
    entries: list[Entry] = field(default_factory=list)
    history: tuple[KeptBranch, Cut] | None = None
    found: LookedUp | None = None
    recalled: dict[str, Any] | None = None
    stop: asyncio.Event = field(default_factory=asyncio.Event)
    stop_as: TurnState = TurnState.CANCELLED
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    began: float = field(default_factory=time.monotonic)
    has_spoken: bool = False

    @classmethod
    async def load(cls, deps: EngineDeps, lease: Lease, entries: Sequence[Entry] = ()) -> "ActiveTurn":
        """Read a turn from the log; a new one has just these `entries`. `StoreUnavailable` if there are none: in an
        outage this instance may know of a conversation only what came later."""
        conversation = await deps.store.get(lease.scope, lease.conversation)
        found = entries or await turn_entries(deps.store, lease.scope, lease.conversation, lease.turn)
        if not any(entry.turn == lease.turn for entry in found):
            raise StoreUnavailable("The database is away, and this turn is not known here.")
        lasts = deps.lease_for if lease.owner == deps.owner else LOOP_LEASE
        return cls(deps=deps, lease=lease, conversation=conversation, lease_for=lasts, entries=list(found))

    @property
    def _opening(self) -> TurnChange | None:
        """The first change of the turn, which says how it was asked for."""
        return next((entry.body for entry in self.entries if isinstance(entry.body, TurnChange)), None)

    @property
    def has_waited(self) -> bool:
        """Whether it waited in the queue, and was not answered yet."""
        is_answered = any(isinstance(each.body, Message) and each.body.role is Role.ASSISTANT for each in self.entries)
        return self._opening is not None and self._opening.state is TurnState.QUEUED and not is_answered

    @property
    def left_out(self) -> set[tuple[str, int]]:
        """The entries that are not to be recalled, each with its conversation."""
        named = self._opening.without_recall if self._opening else ()
        return {(each.conversation or self.lease.conversation, each.entry) for each in named}

    @cached_property
    def assistant(self) -> Assistant:
        """Who answers, with the tools that the client runs; an error if it does not exist any more."""
        assistant = self.deps.assistant_of(self.conversation)
        theirs = [AwaitedTool(tool) for tool in self._opening.tools] if self._opening else ()
        return replace(assistant, tools=assistant.tools.plus(theirs)) if theirs else assistant

    @cached_property
    def model(self) -> Model:
        """The model that is asked; an error if it does not exist any more."""
        return self.deps.models(self.conversation.model, self.assistant)

    @cached_property
    def options(self) -> ModelOptions:
        """How the model is called: `metadata.model_options` of the conversation goes before the assistant's options."""
        return ModelOptions.of(self.conversation.metadata).over(self.assistant.options)

    async def agent(self) -> Agent | None:
        """Return the agent that answers in place of the bare model, if any; an error if it cannot be loaded."""
        return await self.deps.agents(self.assistant)

    @property
    def head(self) -> int:
        """The entry that this turn continues: its own last one on the branch, or the parent of its first entry."""
        own = [entry for entry in self.entries if entry.turn == self.lease.turn]
        on_branch = [entry.seq for entry in own if entry.continues_branch]
        return on_branch[-1] if on_branch else (own[0].parent or 0)

    @property
    def is_settled(self) -> bool:
        """Whether the turn ended or waits for a person, and so has no lease any more."""
        states = [entry.body.state for entry in self.entries if isinstance(entry.body, TurnChange)]
        return bool(states) and states[-1] is not TurnState.RUNNING

    async def state(self) -> State:
        """Return the state of the conversation at the head of this turn."""
        return await self.deps.store.state(self.lease.scope, self.lease.conversation, at=self.head or None)

    def state_change(self, state: State, new: Mapping[str, Any], unset: tuple[str, ...] = ()) -> StateChange:
        """Return the entry that changes a state. Raises IllegalTransition if the assistant's machine forbids it."""
        machine = self.assistant.machine
        return state.change(machine.move(state.values, new, unset) if machine else new, unset)

    async def confirm(self) -> None:
        """Raise LeaseLost if the turn was settled or taken by another: a process that was frozen cannot know."""
        lease = self.lease
        turns = await self.deps.store.turns(lease.scope, lease.conversation)
        if (lease.turn, lease.owner, lease.fence) not in [(turn.number, turn.owner, turn.fence) for turn in turns]:
            raise LeaseLost

    async def unless_stopped(self, work: Coroutine[Any, Any, None], due: Callable[[], float | None]) -> bool:
        """Do some work until somebody stops the turn; return whether it came to its end, or raise what it raised.

        `due` returns in how many seconds it is to be asked again, none if never; it may raise an error to end the work.
        """
        working, stopping = asyncio.create_task(work), asyncio.create_task(self.stop.wait())
        try:
            while not working.done() and not stopping.done():
                await asyncio.wait((working, stopping), timeout=due(), return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
            is_done = working.done()
            working.cancel()
            await asyncio.wait((working,))
        if is_done:
            working.result()
        return is_done

    async def append(
        self, *bodies: Appendable, settle: TurnChange | None = None, key: IdempotencyKey | None = None
    ) -> None:
        """Store entries of this turn, and with `settle` its end, in one commit."""
        counted = tuple(self.deps.counted(body) for body in bodies)
        act = await self._transition(bodies)
        append = Append(bodies=counted, parent=self.head, lease=self.lease, settle=settle, act=act, key=key)
        asked = time.monotonic()
        writing = asyncio.ensure_future(self.deps.store.append(self.lease.scope, self.lease.conversation, append))
        try:
            await asyncio.shield(writing)
        finally:
            # Even if this task is cancelled, the outcome of a write that has begun should be known; but a store that
            # hangs must not prevent stopping.
            await asyncio.wait((writing,), timeout=STORE_PATIENCE)
            if writing.done() and writing.exception() is None:
                self.entries += writing.result().entries
                self._tell_observers(append, time.monotonic() - asked)

    async def _transition(self, bodies: Sequence[Appendable]) -> Act | None:
        """Return the audit record for a guided conversation that moves to another state, if it does."""
        change = next((body for body in bodies if isinstance(body, StateChange)), None)
        if change is None or (machine := self.assistant.machine) is None:
            return None
        state, concerned = await self.state(), f"conversation:{self.lease.conversation}"
        here, there = machine.current(state.values), machine.current(state.after(change).values)
        return None if here == there else act_now(self.deps.clock, "state.changed", concerned, before=here, after=there)

    def _tell_observers(self, append: Append, seconds: float) -> None:
        for observer in self.deps.observers:
            observer.stored(self.lease, append.bodies, seconds)
            if append.settle is not None:
                observer.settled(self.lease, append.settle, time.monotonic() - self.began, self.entries)

    def note_text(self) -> None:
        """Tell observers of the first text of the turn, which is what a person waits for."""
        if not self.has_spoken:
            self.has_spoken = True
            for observer in self.deps.observers:
                observer.spoke(self.lease, time.monotonic() - self.began)


async def turn_entries(store: Store, scope: Scope, conversation: str, turn: int) -> list[Entry]:
    """Return the entries of a turn in order, and the approvals that were given since it began."""
    found: list[Entry] = []
    seq = turn - 1
    while True:
        page = await store.log(scope, conversation, Cursor(seq=seq), limit=MAX_LIMIT)
        found += [entry for entry in page.entries if entry.turn == turn or isinstance(entry.body, Approval)]
        if len(page.entries) < MAX_LIMIT:
            return found
        seq = page.entries[-1].seq
