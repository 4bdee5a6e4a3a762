"""The conversations that are in the spool: how they get there, what is done with them, how they leave it again."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, Turn, TurnState
from threadkeep.errors import ConversationNotFound, KeyReused, LeaseLost, SpoolFull, StoreError, ThreadkeepError
from threadkeep.store.ruled import RuledStore
from threadkeep.store.rules import key_use
from threadkeep.store.spool.draining import Draining
from threadkeep.store.spool.memory import Memory, unknown
from threadkeep.store.spool.outage import OUTAGES, SpoolLimits
from threadkeep.store.spool.spool_file import Copy, Holding, SpoolFile
from threadkeep.store.values import Append, Snapshot

logger = logging.getLogger(__name__)

DRAINED_AT_ONCE = 8
KEPT_FOR = timedelta(seconds=10)
"""How long a lease is extended in the database for a turn that goes on here, whenever its end is waited for."""
WRITES = frozenset({"update", "choose_head", "append", "begin", "start", "withdraw", "take", "extend", "write"})
Place = tuple[Scope, str]


class KeptConversations:
    """The copies, by their places. `moved` tells for each place how often its entries got other numbers by being
    drained, and the last time which; `parked` are turns that wait here to act on the world; `gone` are the owners of
    turns that an earlier process has left; `drained` is told of conversations that have left."""

    def __init__(self, database: RuledStore, spool: SpoolFile, limits: SpoolLimits, memory: Memory) -> None:
        self._database = database
        self._spool = spool
        self._limits = limits
        self._memory = memory
        self._making = asyncio.Lock()
        self.copies: dict[Place, Copy] = {}
        self.moved: dict[Place, tuple[int, dict[int, int]]] = {}
        self.parked: dict[Place, Lease] = {}
        self.gone: set[str | None] = set()
        self.drained: Callable[[Scope, str], None] = lambda scope, conversation: None

    async def load(self) -> None:
        """Take up what an earlier process has left."""
        for copy in await self._spool.copies():
            scope = copy.scope
            copy.bytes = (
                await self._spool.operations.statistics(scope.tenant, user=scope.user, conversation=copy.id)
            ).bytes
            self.gone.update(turn.owner for turn in await self._spool.turns(*copy.place))
            self.copies[copy.place] = copy

    def spooled(self) -> list[Copy]:
        """Return those that hold something that is not in the database."""
        return [copy for copy in self.copies.values() if copy.is_spooled]

    def find(self, scope: Scope, conversation: str) -> Copy | None:
        return self.copies.get((scope, conversation)) if self.copies else None

    def made_by(self, scope: Scope, key: IdempotencyKey | None) -> Copy | None:
        """Return the conversation that was begun here with this key."""
        use = key_use(scope, key)
        for copy in self.copies.values():
            if use and copy.key and copy.scope == scope and copy.key.name == use.name:
                if copy.key != use:
                    raise KeyReused
                return copy
        return None

    # How they get there

    async def create(self, scope: Scope, new: NewConversation, key: IdempotencyKey | None, at: datetime | None) -> None:
        """Begin a conversation here; it has an id."""
        copy = Copy(scope=scope, id=new.id or "", answers=self._limits.answers, is_new=True, key=key_use(scope, key))
        async with self._making:
            await self._take_in(Holding(copy=copy, new=new, created_at=at))

    async def hold(self, scope: Scope, conversation: str, outage: StoreError, *, is_sent: bool) -> Copy:
        """Return the copy of a conversation, made from what is known of it. What is sent to one that is not known here
        is kept all the same, unless it is known to be somebody else's."""
        async with self._making:
            if (copy := self.find(scope, conversation)) is not None:
                return copy
            known = self._memory.find(scope, conversation)
            held = known.hold(scope) if known is not None else None
            if held is None:
                if not is_sent:
                    raise outage
                same = [each for each in self.copies.values() if each.id == conversation and not each.is_blind]
                owners = {each.scope.user for each in same if each.scope.tenant == scope.tenant}
                if {*owners, self._memory.owner(scope.tenant, conversation)} - {None, scope.user}:
                    raise ConversationNotFound
                held = unknown(scope, conversation)
            held.copy.answers = held.copy.answers and self._limits.answers
            await self._take_in(held)
            return held.copy

    async def _take_in(self, holding: Holding) -> None:
        entries = holding.adopt.entries if holding.adopt else ()
        self._make_room(holding.copy, sum(len(each.model_dump_json()) for each in (holding.new, *entries)))
        await self._spool.hold(holding)
        self.copies[holding.copy.place] = holding.copy

    def _make_room(self, copy: Copy, size: int, *, is_sent: bool = True) -> None:
        """Count what is to be kept; `SpoolFull` if that is too much: half of what others leave is for each user."""
        own = sum(each.bytes for each in self.copies.values() if each.scope == copy.scope)
        others = sum(each.bytes for each in self.copies.values()) - own
        if is_sent and own + size > (self._limits.max_bytes - others) // 2:
            raise SpoolFull
        copy.bytes += size

    async def discard(self, copy: Copy) -> bool:
        """Forget a copy that holds nothing of its own, and return whether it did not: the database has answered after
        all, and has more."""
        async with copy.lock:
            if self.copies.get(copy.place) is copy and not copy.is_spooled:
                await self._remove(copy)
        return self.copies.get(copy.place) is not copy

    async def _remove(self, copy: Copy) -> None:
        await self._spool.remove(copy)
        del self.copies[copy.place]
        copy.left.set()

    # What is done with them

    async def do(self, copy: Copy, verb: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Do something in the spool. A turn that runs may go beyond what that may hold; what is new is refused."""
        sent = args[-1]
        if verb == "log" and sent.seq < copy.first - 1:
            args = (*args[:-1], Cursor(seq=copy.first - 1))
        elif verb in ("append", "begin"):
            bodies = sent.bodies if isinstance(sent, Append) else filter(None, (sent.message,))
            size = sum(len(body.model_dump_json()) for body in bodies)
            self._make_room(copy, size, is_sent=verb == "begin" or sent.lease is None)
        # Before it is written: nobody may discard it meanwhile.
        copy.is_changed = copy.is_changed or (verb in WRITES and verb != "extend")
        answer = await getattr(self._spool, verb)(*args, **kwargs)
        if verb in WRITES and verb != "write":
            copy.last = (await self._spool.get(*copy.place)).entries
        if isinstance(answer, Snapshot):
            return replace(answer, conversation=_incomplete(answer.conversation))
        return _incomplete(answer) if isinstance(answer, Conversation) else answer

    # How they leave

    async def erase(self, scope: Scope) -> None:
        """Throw away what a user has here."""
        for copy in [copy for copy in self.copies.values() if copy.scope == scope]:
            async with copy.lock:
                await self._remove(copy)
        await self._spool.purge(timedelta(0))

    async def drain(self, copy: Copy) -> bool:
        """Bring a copy into the database; return whether it is there, or a turn that runs must end before."""
        async with copy.lock:
            if self.copies.get(copy.place) is not copy:
                return True
            turns = [turn for turn in await self._spool.turns(*copy.place) if copy.runs(turn.number)]
            lease = self.parked.get(copy.place)
            if lease is None and any(turn.state is TurnState.RUNNING for turn in turns):
                if copy.lease is not None:  # nobody may take up meanwhile what goes on here
                    with suppress(LeaseLost):
                        await self._database.extend(copy.lease, KEPT_FOR)
                return False
            draining = Draining(self._database, self._spool, copy, lease)
            await draining.run()
            await self._remove(copy)
            moved = {here: there for here, there in draining.places.items() if here != there}
            if moved:
                self._memory.forget(*copy.place)
                self.moved[copy.place] = (self.moved.get(copy.place, (0, {}))[0] + 1, moved)
            else:
                self._memory.learn("newest", *copy.place, (), draining.written)
                self._memory.let_go(*copy.place, lease)
        self.drained(*copy.place)
        return True

    async def drain_all(self) -> bool:
        """Drain every copy, some at a time because they share commits; return whether the spool is empty."""
        limit, copies = asyncio.Semaphore(DRAINED_AT_ONCE), list(self.copies.values())

        async def drain(copy: Copy) -> None:
            async with limit:
                await self.drain(copy)

        outcomes = await asyncio.gather(*map(drain, copies), return_exceptions=True)
        for copy, failure in zip(copies, outcomes, strict=True):
            if isinstance(failure, ThreadkeepError) and not isinstance(failure, OUTAGES):
                logger.warning("conversation %s stays in the spool, and is tried again: %s", copy.id, failure)
            elif failure is not None:
                raise failure
        if self.copies:
            return False
        await self._spool.purge(timedelta(0))
        return True

    async def leave(self, turn: Turn) -> None:
        """Let a turn go to the database as it is: what was written of its answer is a message that was cut off."""
        place = (turn.scope, turn.conversation)
        lease = await self._spool.take(turn, "nobody", timedelta(0))
        draft = (await self._spool.log(*place, Cursor(seq=(await self._spool.get(*place)).entries))).draft
        if draft is not None:
            cut = Message(id=draft.message, role=Role.ASSISTANT, content=draft.text, status=MessageStatus.INTERRUPTED)
            await self._spool.append(*place, Append(bodies=(cut,), lease=lease))
        self.parked[place] = lease


def _incomplete(conversation: Conversation) -> Conversation:
    return conversation.model_copy(update={"incomplete": True})
