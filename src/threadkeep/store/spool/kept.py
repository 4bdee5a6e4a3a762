"""The conversations that are in the spool: how they get there, what is done with them, how they leave it again."""

import asyncio
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.conversation import Conversation, NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry, Update
from threadkeep.conversation.idempotency import IdempotencyKey
from threadkeep.conversation.message import Message, MessageStatus, Role
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, Turn, TurnState
from threadkeep.errors import ConversationNotFound, KeyReused, LeaseLost, SpoolFull, StoreError, ThreadkeepError
from threadkeep.store.ruled import RuledStore
from threadkeep.store.spool.copies import BLIND, Copy
from threadkeep.store.spool.draining import Draining
from threadkeep.store.spool.memory import Memory, holding
from threadkeep.store.spool.outage import OUTAGES, SpoolLimits
from threadkeep.store.spool.spool_file import Holding, Place, SpoolFile, inside
from threadkeep.store.values import Append, Appended, Begin, Begun, Created

logger = logging.getLogger(__name__)

DRAINED_AT_ONCE = 8
KEPT_FOR = timedelta(seconds=10)
"""How long a lease is extended in the database for a turn that goes on here, whenever its end is waited for."""


class KeptConversations:
    """The copies, by their places. `bytes` is about how much text those of each user hold; `moved` tells for each place
    how often its entries got other numbers by being drained, and the last time which turns; `drained` is told of
    conversations that have left."""

    def __init__(self, database: RuledStore, spool: SpoolFile, limits: SpoolLimits, memory: Memory) -> None:
        self._database = database
        self._spool = spool
        self._limits = limits
        self._memory = memory
        self._making = asyncio.Lock()
        self.copies: dict[Place, Copy] = {}
        self.moved: dict[Place, tuple[int, dict[int, int]]] = {}
        self.parked: dict[Place, Lease] = {}
        self.bytes: Counter[str] = Counter()
        self.drained: Callable[[Scope, str], None] = lambda scope, conversation: None

    async def load(self) -> None:
        """Take up what an earlier process has left."""
        for kept in await self._spool.conversations():
            copy = Copy.of(kept)
            used = await self._spool.statistics(copy.inside.tenant, conversation=copy.id)
            self._count(copy, used.bytes)
            self.copies[copy.place] = copy

    # Which there are

    def amount(self) -> tuple[int, int]:
        """Return how many conversations hold something that is not in the database, and how many entries that is."""
        spooled = [copy for copy in self.copies.values() if copy.is_spooled]
        return len(spooled), sum(copy.last - copy.base for copy in spooled)

    def find(self, scope: Scope, conversation: str) -> Copy | None:
        return self.copies.get((inside(scope).tenant, conversation)) if self.copies else None

    def holder(self, holder: Lease | Turn) -> Copy | None:
        """Return the copy that a turn runs in; none if it runs in the database."""
        copy = self.find(holder.scope, holder.conversation)
        number = holder.turn if isinstance(holder, Lease) else holder.number
        return copy if copy is not None and copy.runs(number) else None

    def made_by(self, scope: Scope, key: IdempotencyKey) -> Copy | None:
        """Return the conversation that was begun here with this key."""
        named = (key.name(scope).hex(), key.digest.hex())
        for copy in self.copies.values():
            if copy.key is not None and copy.scope == scope and copy.key[0] == named[0]:
                if copy.key != named:
                    raise KeyReused
                return copy
        return None

    def _owner(self, tenant: str, conversation: str) -> str | None:
        """Return whose a conversation is, if that is known here."""
        begun = [copy.scope for copy in self.copies.values() if copy.id == conversation and copy.base != BLIND]
        here = next((scope.user for scope in begun if scope.tenant == tenant), None)
        return here or self._memory.owner(tenant, conversation)

    # How they get there

    async def create(
        self, scope: Scope, new: NewConversation, key: IdempotencyKey | None, at: datetime | None
    ) -> Created:
        """Begin a conversation here; it has an id."""
        named = (key.name(scope).hex(), key.digest.hex()) if key else None
        copy = Copy(scope=scope, id=new.id or "", answers=self._limits.answers, is_new=True, key=named)
        async with self._making:
            self._make_room(copy, len(new.model_dump_json()))
            created = await self._spool.create(copy.inside, copy.new(new), at=at)
            self.copies[copy.place] = copy
        made: Created = copy.out(created)
        return made

    async def hold(self, scope: Scope, conversation: str, outage: StoreError, *, is_sent: bool = False) -> Copy:
        """Return the copy of a conversation, made from what is known of it. What is sent to one that is not known here
        is kept all the same, unless it is known to be somebody else's."""
        async with self._making:
            if (copy := self.find(scope, conversation)) is not None:
                return copy
            known = self._memory.find(scope, conversation)
            kept = holding(known) if known is not None else None
            copy = Copy(scope=scope, id=conversation)
            if known is not None and kept is not None:
                copy.base = copy.last = known.tip.last
                copy.first = kept.entries[0].seq if kept.entries else 1
                copy.answers = known.is_enough and self._limits.answers
                copy.is_blind = bool(known.tip.head) and not known.branch()
                held = kept.lease
                copy.carried = (held.turn, held.owner, held.fence) if held else None
                self._make_room(copy, sum(len(entry.model_dump_json()) for entry in kept.entries))
            elif is_sent and self._owner(scope.tenant, conversation) in (None, scope.user):
                copy.first = copy.base = copy.last = BLIND
                copy.answers, copy.is_blind = False, True
                unknown = Entry(seq=BLIND, parent=None, conversation=conversation, created_at=utc_now(), body=Update())
                kept = Holding(new=NewConversation(id=conversation), entries=[unknown])
            else:
                raise ConversationNotFound if is_sent else outage
            lease = copy.into(kept.lease) if kept.lease else None
            await self._spool.hold(copy.inside, replace(kept, new=copy.new(kept.new), lease=lease))
            self.copies[copy.place] = copy
            return copy

    async def discard(self, copy: Copy) -> bool:
        """Forget a copy that holds nothing of its own, and return whether it did not: the database has answered after
        all, and has more."""
        async with copy.lock:
            if self.copies.get(copy.place) is copy and not copy.is_spooled:
                await self._remove(copy)
        return self.copies.get(copy.place) is not copy

    async def _remove(self, copy: Copy) -> None:
        with suppress(ConversationNotFound):
            await self._spool.delete(copy.inside, copy.id)
        del self.copies[copy.place]
        copy.left.set()
        self._count(copy, -copy.bytes)

    def _make_room(self, copy: Copy, size: int) -> None:
        """Count what is to be kept; `SpoolFull` if that is too much: half of what others leave is for each user."""
        used, own = self.bytes.total(), self.bytes[copy.inside.tenant]
        if own + size > (self._limits.max_bytes - used + own) // 2:
            raise SpoolFull
        self._count(copy, size)

    def _count(self, copy: Copy, size: int) -> None:
        copy.bytes += size
        self.bytes[copy.inside.tenant] += size

    # What is done with them

    async def ask(self, copy: Copy, verb: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Ask the spool."""
        return copy.out(await getattr(self._spool, verb)(copy.inside, copy.id, *map(copy.into, args), **kwargs))

    async def write(self, copy: Copy, verb: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Write to the spool. A turn that runs may go beyond what it may hold; what is new is refused."""
        for sent in args:
            is_turn = isinstance(sent, Append) and sent.lease is not None
            (self._count if is_turn else self._make_room)(copy, _size(sent))
        answer = await self.ask(copy, verb, args, kwargs)
        entries = answer.entries if isinstance(answer, Appended | Begun) else ()
        last = answer.entries if isinstance(answer, Conversation) else max([0, *(entry.seq for entry in entries)])
        copy.last = max(copy.last, last)
        return answer

    # How they leave

    async def erase(self, scope: Scope) -> None:
        """Throw away what a user has here."""
        for copy in [copy for copy in self.copies.values() if copy.scope == scope]:
            async with copy.lock:
                await self._remove(copy)
        await self._spool.purge(timedelta(0))

    async def drain(self, copy: Copy, *, is_left: bool = False) -> bool:
        """Bring a copy into the database; return whether it is there, or a turn that runs must end before. One that is
        left, because nobody runs turns here any more, is taken up there."""
        async with copy.lock:
            if self.copies.get(copy.place) is not copy:
                return True
            turns = [turn for turn in await self._spool.turns(copy.inside, copy.id) if copy.runs(turn.number)]
            running = next((turn for turn in turns if turn.state is TurnState.RUNNING), None)
            lease = self.parked.get(copy.place)
            if running is not None and lease is None:
                if not is_left:
                    await self._keep_lease(copy)
                    return False
                await self._finish_text(running)
            draining = Draining(self._database, self._spool, copy, lease)
            await draining.run()
            await self._remove(copy)
            moved = {here: there for here, there in draining.places.items() if here != there}
            if moved:
                self._memory.forget(copy.scope, copy.id)
                self.moved[copy.place] = (self.moved.get(copy.place, (0, {}))[0] + 1, moved)
            else:
                self._memory.learn(copy.scope, copy.id, tuple(draining.written))
                self._memory.let_go(copy.scope, copy.id, lease)
        self.drained(copy.scope, copy.id)
        return True

    async def _keep_lease(self, copy: Copy) -> None:
        """Let nobody take up a turn that goes on here."""
        if copy.carried is not None:
            turn, owner, fence = copy.carried
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
        await self._spool.purge(timedelta(0))
        return True


def _size(sent: Any) -> int:
    """Return about how much a verb wants to have kept."""
    match sent:
        case Begin(message=message):
            return 0 if message is None else len(message.model_dump_json())
        case Append(bodies=bodies):
            return sum(len(body.model_dump_json()) for body in bodies)
        case _:
            return 0
