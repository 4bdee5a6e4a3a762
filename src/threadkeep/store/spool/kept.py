"""The conversations that are in the spool: how they get there, what is done with them, how they leave it again."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, Turn, TurnState
from threadkeep.errors import KeyReused, LeaseLost, SpoolFull, StoreError, ThreadkeepError
from threadkeep.store.base import MAX_LIMIT, Store
from threadkeep.store.spool.copies import BLIND, Copy, Key
from threadkeep.store.spool.draining import Draining, Spool
from threadkeep.store.spool.memory import Memory
from threadkeep.store.spool.outage import OUTAGES
from threadkeep.store.values import Append, Appended, Begin, Begun, Created

logger = logging.getLogger(__name__)

DRAINED_AT_ONCE = 8
KEPT_FOR = timedelta(seconds=10)
"""How long a lease is extended in the database for a turn that goes on here, whenever its end is waited for."""
_NUMBERS = ("head", "after", "at", "before")
"""Arguments with a name that are numbers of entries."""


@dataclass(frozen=True, kw_only=True)
class SpoolLimits:
    """After how many seconds a database that does not answer counts as away, how much text the spool may hold, and
    whether turns are answered during an outage or wait for its end."""

    patience: float = 3.0
    max_bytes: int = 1024**3
    answers: bool = True


class KeptConversations:
    """The copies, by their places. `bytes` is about how much text they hold; `moves` counts for each place how often
    its entries got other numbers by being drained; `drained` is told of conversations that have left."""

    def __init__(self, database: Store, spool: Spool, limits: SpoolLimits, memory: Memory) -> None:
        self._database = database
        self._spool = spool
        self._limits = limits
        self._memory = memory
        self._making = asyncio.Lock()
        self.copies: dict[Key, Copy] = {}
        self.moves: dict[Key, int] = {}
        self.bytes = 0
        self.drained: Callable[[Scope, str], None] = lambda scope, conversation: None

    async def load(self) -> None:
        """Take up what an earlier process has left."""
        for tenant in await self._spool.tenants():
            self.bytes += (await self._spool.statistics(tenant)).bytes
        async for copy in copies_in(self._spool):
            if copy.last < copy.base:  # the process ended while it was made, before anything was acknowledged
                await self._spool.delete(copy.scope, copy.id)
            else:
                self.copies[copy.place] = copy

    # Which there are

    def amount(self) -> tuple[int, int]:
        """Return how many conversations hold something that is not in the database, and how many entries that is."""
        spooled = [copy for copy in self.copies.values() if copy.is_spooled]
        return len(spooled), sum(copy.last - copy.base for copy in spooled)

    def find(self, scope: Scope, conversation: str) -> Copy | None:
        return self.copies.get((scope.tenant, scope.user, conversation))

    def holder(self, holder: Lease | Turn) -> Copy | None:
        """Return the copy that a turn runs in; none if it runs in the database."""
        copy = self.find(holder.scope, holder.conversation)
        number = holder.turn if isinstance(holder, Lease) else holder.number
        return copy if copy is not None and copy.runs(number) else None

    def made_by(self, scope: Scope, key: IdempotencyKey) -> Copy | None:
        """Return the conversation that was begun here with this key."""
        for copy in self.copies.values():
            if copy.key is not None and copy.scope == scope and copy.key[0] == key.name(scope).hex():
                if copy.key[1] != key.digest.hex():
                    raise KeyReused
                return copy
        return None

    async def create(
        self, scope: Scope, new: NewConversation, key: IdempotencyKey | None, at: datetime | None
    ) -> Created:
        """Begin a conversation here; it has an id."""
        named = (key.name(scope).hex(), key.digest.hex()) if key else None
        copy = Copy(scope=scope, id=new.id or "", answers=self._limits.answers, is_new=True, key=named)
        self._make_room(len(new.model_dump_json()))
        async with self._making:
            kept = await self._spool.create(scope, _marked(new, copy), key=key, at=at)
            if not kept.replayed:
                self.copies[copy.place] = copy
        created: Created = copy.out(kept)
        return created

    async def copied(self, scope: Scope, conversation: str, outage: StoreError, *, is_sent: bool = False) -> Copy:
        """Return the copy of a conversation, made from what is known of it. What is sent to one that is not known here
        is kept all the same."""
        async with self._making:
            if (copy := self.find(scope, conversation)) is not None:
                return copy
            if (known := self._memory.copy(scope, conversation)) is not None:
                copy, imported = known
                copy.answers = copy.answers and self._limits.answers
                self._make_room(sum(len(entry.model_dump_json()) for entry in imported.entries))
                await self._spool.import_entries(scope, replace(imported, new=_marked(imported.new, copy)))
                message, text = self._memory.draft(scope, conversation)
                if text and imported.lease is not None:
                    await self._spool.write(imported.lease, message, 0, text)
            elif is_sent:
                copy = Copy(scope=scope, id=conversation, shift=BLIND, base=BLIND, last=BLIND, answers=False)
                await self._spool.create(scope, _marked(NewConversation(id=conversation), copy))
            else:
                raise outage
            self.copies[copy.place] = copy
            return copy

    async def discard(self, scope: Scope, conversation: str) -> None:
        """Forget a copy that holds nothing of its own: the database has answered after all, and has more."""
        copy = self.find(scope, conversation)
        if copy is not None and not copy.is_spooled:
            async with copy.lock:
                if self.copies.get(copy.place) is copy and not copy.is_spooled:
                    await self._spool.delete(scope, conversation)
                    del self.copies[copy.place]

    def _make_room(self, size: int) -> None:
        """Count what is to be kept; `SpoolFull` if that is too much."""
        if self.bytes + size > self._limits.max_bytes:
            raise SpoolFull
        self.bytes += size

    # What is done with them

    async def ask(self, copy: Copy, verb: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Ask the spool, in the numbers that are used outside."""
        inside = {name: copy.into(value) if name in _NUMBERS else value for name, value in kwargs.items()}
        return copy.out(await getattr(self._spool, verb)(copy.scope, copy.id, *map(copy.into, args), **inside))

    async def write(self, copy: Copy, verb: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Write to the spool. A turn that runs may go beyond what it may hold; what is new is refused."""
        for sent in args:
            size = _size(sent)
            if isinstance(sent, Append) and sent.lease is not None:
                self.bytes += size
            else:
                self._make_room(size)
        answer = await self.ask(copy, verb, args, kwargs)
        if isinstance(answer, Appended | Begun):
            copy.note(answer.entries)
        elif isinstance(answer, Conversation):
            copy.last = answer.entries
        return answer

    # How they leave

    async def drain(self, copy: Copy, *, is_left: bool = False) -> bool:
        """Bring a copy into the database; return whether it is there, or a turn that runs must end before. One that is
        left, because nobody runs turns here any more, is taken up there."""
        async with copy.lock:
            if self.copies.get(copy.place) is not copy:
                return True
            turns = await self._spool.turns(copy.scope, copy.id)
            if running := [turn for turn in turns if turn.state is TurnState.RUNNING]:
                if not is_left:
                    await self._keep_lease(copy)
                    return False
                await self._finish_text(running[0])
            draining = Draining(self._database, self._spool, copy)
            await draining.run()
            await self._spool.delete(copy.scope, copy.id)
            del self.copies[copy.place]
            self._memory.learn(copy.scope, copy.id, tuple(draining.written))
            self._memory.let_go(copy.scope, copy.id)
            if draining.is_moved:
                self.moves[copy.place] = self.moves.get(copy.place, 0) + 1
        self.drained(copy.scope, copy.id)
        return True

    async def _keep_lease(self, copy: Copy) -> None:
        """Let nobody take up a turn that goes on here."""
        for turn, owner, fence in copy.carried:
            if owner is not None:
                lease = Lease(scope=copy.scope, conversation=copy.id, turn=turn, owner=owner, fence=fence)
                with suppress(LeaseLost):
                    await self._database.extend(lease, KEPT_FOR)

    async def _finish_text(self, turn: Turn) -> None:
        """Keep what was written of an answer as a message that was cut off."""
        lease = await self._spool.take(turn, "nobody", timedelta(0))
        last = (await self._spool.get(turn.scope, turn.conversation)).entries
        draft = (await self._spool.log(turn.scope, turn.conversation, Cursor(seq=last))).draft
        if draft is not None:
            cut = Message(id=draft.message, role=Role.ASSISTANT, content=draft.text, status=MessageStatus.INTERRUPTED)
            await self._spool.append(turn.scope, turn.conversation, Append(bodies=(cut,), lease=lease))

    async def _try(self, copy: Copy, turn: asyncio.Semaphore) -> StoreError | None:
        """Drain a copy when it has a turn; return what says that the database is away."""
        async with turn:
            try:
                await self.drain(copy)
            except OUTAGES as outage:
                return outage
            except ThreadkeepError as error:
                logger.warning("conversation %s stays in the spool, and is tried again: %s", copy.id, error)
        return None

    async def drain_all(self) -> bool:
        """Drain every copy, some at a time because they share commits; return whether the spool is empty."""
        turn = asyncio.Semaphore(DRAINED_AT_ONCE)
        outcomes = await asyncio.gather(*(self._try(copy, turn) for copy in list(self.copies.values())))
        for outage in filter(None, outcomes):
            raise outage
        if self.copies:
            return False
        self.bytes = 0
        await self._spool.purge(timedelta(0))
        return True


async def copies_in(spool: Store) -> AsyncIterator[Copy]:
    """Yield what a spool holds."""
    for tenant in await spool.tenants():
        items: list[Conversation] = []
        after: str | None = None
        while True:
            page = await spool.list_tenant(tenant, limit=MAX_LIMIT, after=after)
            items += page.items
            if (after := page.next) is None:
                break
        for item in items:
            yield Copy.of(await spool.get(item.scope, item.id))


def _marked(new: NewConversation, copy: Copy) -> NewConversation:
    """Return a conversation as the spool keeps it."""
    return new.model_copy(update={"metadata": new.metadata | copy.mark})


def _size(sent: Any) -> int:
    """Return about how much a verb wants to have kept."""
    match sent:
        case Begin(message=message):
            return 0 if message is None else len(message.model_dump_json())
        case Append(bodies=bodies):
            return sum(len(body.model_dump_json()) for body in bodies)
        case _:
            return 0
