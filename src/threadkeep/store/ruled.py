"""A store whose writing follows the rules: every verb that writes to a log, once, for all backends.

What a backend adds is `_write`: read the end of a log, let the rules decide, commit the record, answer.
"""

from abc import abstractmethod
from datetime import timedelta
from typing import TypeVar

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Update
from threadkeep.conversation.ids import IdSource
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, Turn
from threadkeep.errors import ConversationNotFound, LeaseLost
from threadkeep.store.base import Append, Appended, Begin, Begun, Store
from threadkeep.store.rules import Rules, Verb

T = TypeVar("T")


class RuledStore(Store):
    """Writes what the rules decide."""

    def __init__(self, clock: Clock, ids: IdSource, max_bytes: int) -> None:
        self._clock = clock
        self._ids = ids
        self._rules = Rules(clock, max_bytes)

    @abstractmethod
    async def _write(self, scope: Scope, conversation: str, verb: Verb[T]) -> T:
        """Commit what is decided about the end of a log, if that is still its end, and return the answer."""

    async def _write_for(self, holder: Lease | Turn, verb: Verb[T]) -> T:
        """Write for a turn; when its conversation is gone, so is the lease."""
        try:
            return await self._write(holder.scope, holder.conversation, verb)
        except ConversationNotFound:
            raise LeaseLost from None

    async def update(
        self, scope: Scope, conversation: str, change: Update, *, expected_version: int | None = None
    ) -> Conversation:
        await self._write(scope, conversation, Verb(lambda end: self._rules.update(end, change, expected_version)))
        return await self.get(scope, conversation)

    async def choose_head(
        self, scope: Scope, conversation: str, head: int, *, expected_version: int | None = None
    ) -> Conversation:
        verb = Verb(lambda end: self._rules.choose_head(end, head, expected_version), parent=head)
        await self._write(scope, conversation, verb)
        return await self.get(scope, conversation)

    async def append(self, scope: Scope, conversation: str, append: Append) -> Appended:
        verb = Verb(lambda end: self._rules.append(end, append), append.key, append.parent)
        return await self._write(scope, conversation, verb)

    async def begin(self, scope: Scope, conversation: str, begin: Begin) -> Begun:
        verb = Verb(lambda end: self._rules.begin(end, begin), begin.key, begin.parent)
        return await self._write(scope, conversation, verb)

    async def start(self, scope: Scope, conversation: str, owner: str, lease_for: timedelta) -> Begun | None:
        return await self._write(scope, conversation, Verb(lambda end: self._rules.start(end, owner, lease_for)))

    async def take(self, turn: Turn, owner: str, lease_for: timedelta) -> Lease:
        return await self._write_for(turn, Verb(lambda end: self._rules.take(end, turn, owner, lease_for)))

    async def extend(self, lease: Lease, lease_for: timedelta) -> None:
        await self._write_for(lease, Verb(lambda end: self._rules.extend(end, lease, lease_for)))

    async def write(self, lease: Lease, message: str, offset: int, text: str) -> None:
        verb = Verb(lambda end: self._rules.write(end, lease, message, offset, text), patient=True)
        await self._write_for(lease, verb)
