"""A store around the database and a spool: in an outage what people send is kept on this instance's disk. `passing` has
what is asked and changed; here are the turns, which run in one of the two."""

from collections.abc import Callable
from contextlib import suppress
from datetime import timedelta
from typing import Any

from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, Turn, TurnChange, TurnState
from threadkeep.errors import (
    LeaseLost,
    StoreUnavailable,
)
from threadkeep.store.rules import WAITS
from threadkeep.store.spool.copies import Copy
from threadkeep.store.spool.outage import OUTAGES
from threadkeep.store.spool.passing import NOT_HERE, PassingStore
from threadkeep.store.values import (
    Append,
    Appended,
    Begin,
    Begun,
)


class SpoolingStore(PassingStore):
    """Runs turns in the database and, in an outage, in the spool."""

    async def append(self, scope: Scope, conversation: str, append: Append) -> Appended:
        answer: Appended
        if append.lease is None:
            answer = await self._write("append", scope, conversation, (append,), {})
            return answer
        copy, answer = await self._of_turn(append.lease, self.database.append, scope, conversation, append)
        if copy is None:
            self._memory.note_sent(scope, conversation, answer, append.key)
        else:
            answer = await self.kept.write(copy, "append", (append,), {})
        return answer

    async def _of_turn(self, lease: Lease, call: Callable[..., Any], *args: Any) -> tuple[Copy | None, Any]:
        """Do something for a turn that runs here; return the copy in which it is to be done if the database is away.
        Raises why if too little is known here for the turn to go on."""
        copy, answer = self.kept.holder(lease), None
        if copy is None:
            try:
                answer = await self._watch.ask(call, *args)
            except LeaseLost:
                self._memory.let_go(lease.scope, lease.conversation)
                raise
            except OUTAGES as error:
                copy = await self._hold(lease.scope, lease.conversation, error)
                if not copy.runs(lease.turn):
                    raise
            else:
                copy = self.kept.holder(lease)
                copy = None if copy is None or await self.kept.discard(copy) else copy
        return copy, answer

    async def begin(self, scope: Scope, conversation: str, begin: Begin) -> Begun:
        self._owners.add(begin.owner)
        begun: Begun = await self._write("begin", scope, conversation, (begin,), {})
        return begun

    async def start(self, scope: Scope, conversation: str, owner: str, lease_for: timedelta) -> Begun | None:
        self._owners.add(owner)
        copy = self.kept.find(scope, conversation)
        if copy is not None and not await self._may_start(copy):
            return None  # it is started in the database, when it is there
        begun: Begun | None = await self._write("start", scope, conversation, (owner, lease_for), {})
        return begun

    async def _may_start(self, copy: Copy) -> bool:
        """Whether the next queued turn of a copy may begin in the spool: not one that the database has, or may have."""
        turns = await self.spool.turns(copy.inside, copy.id)
        if not self._watch.is_down or not copy.answers or not turns or turns[0].number <= copy.base:
            return False
        body = (await self.spool.entry(copy.inside, copy.id, turns[0].number)).body
        return not isinstance(body, TurnChange) or body.detail != WAITS

    async def take(self, turn: Turn, owner: str, lease_for: timedelta) -> Lease:
        self._owners.add(owner)
        if (copy := self.kept.holder(turn)) is None:
            taken = await self._watch.ask(self.database.take, turn, owner, lease_for)
            self._memory.learn(turn.scope, turn.conversation, taken)
            return taken
        async with copy.lock:
            lease: Lease = copy.out(await self.spool.take(copy.into(turn), owner, lease_for))
            return lease

    async def extend(self, lease: Lease, lease_for: timedelta) -> None:
        copy, _ = await self._of_turn(lease, self.database.extend, lease, lease_for)
        if copy is not None:
            await self.spool.extend(copy.into(lease), lease_for)

    async def write(self, lease: Lease, message: str, offset: int, text: str) -> None:
        copy, _ = await self._of_turn(lease, self.database.write, lease, message, offset, text)
        if copy is None:
            self._memory.note_text(lease, message, text)
        else:
            copy.is_writing = True
            await self.spool.write(copy.into(lease), message, offset, text)

    async def turns(self, scope: Scope, conversation: str) -> tuple[Turn, ...]:
        turns: tuple[Turn, ...] = await self._read("turns", scope, conversation)
        if self.kept.find(scope, conversation) is None:
            self._memory.note_turns(scope, conversation, turns)
        return turns

    async def withdraw(self, scope: Scope, conversation: str, turn: int) -> None:
        copy = self.kept.find(scope, conversation)
        if copy is not None and not copy.runs(turn):
            raise StoreUnavailable(NOT_HERE)
        await self._write("withdraw", scope, conversation, (turn,), {})
        self._memory.let_go(scope, conversation)

    async def reach(self, lease: Lease) -> None:
        copy = self.kept.holder(lease)
        if copy is None:
            return
        # What acts on the world waits until the database has said that nobody else did: the turn goes there as it is.
        self.kept.parked[copy.place] = copy.out(lease)
        try:
            while self.kept.copies.get(copy.place) is copy:
                self._watch.look()
                await copy.left.wait()
        finally:
            self.kept.parked.pop(copy.place, None)

    async def expired(self, lease_for: timedelta, *, limit: int = 100) -> tuple[Turn, ...]:
        turns: list[Turn] = []
        with suppress(*OUTAGES):
            found = await self._watch.ask(self.database.expired, lease_for, limit=limit)
            # What is in the spool comes first: it may be how one of these turns goes on, or ended.
            turns += [turn for turn in found if self.kept.find(turn.scope, turn.conversation) is None]
        if self.kept.copies:
            left = {(turn.conversation, turn.number) for turn in await self.spool.expired(lease_for, limit=limit)}
            for turn in await self.spool.expired(timedelta(0), limit=limit):
                copy = self.kept.copies.get((turn.scope.tenant, turn.conversation))
                if copy is None or not copy.runs(turn.number):
                    continue
                # Of the spool only this process has turns; one that another ran is left, whatever its lease says.
                is_left = (turn.conversation, turn.number) in left or turn.owner not in self._owners
                if is_left if turn.state is TurnState.RUNNING else await self._may_start(copy):
                    turns.append(copy.out(turn))
        return tuple(turns[:limit])
