"""Erasing a person: all conversations of one user, also deleted ones, files and keys, for good.

Each step can be repeated, so an erasure that was cut off is done again: on the next request, or by the next process
that finds one in the audit log that began and did not end. The audit log keeps the act with a pseudonym of the person.
"""

import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress
from datetime import datetime, timedelta

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.value import Moment, Value
from threadkeep.errors import ConversationNotFound, LegalHold, StoreUnavailable
from threadkeep.retention.holds import check_not_held, delete_unless_held, users_of
from threadkeep.store.attachments import Attachments
from threadkeep.store.audit import ERASURE_BEGUN, USER, Wanted, act_now, signature
from threadkeep.store.base import Store
from threadkeep.store.values import Statistics

logger = logging.getLogger(__name__)

BEGUN, COMPLETED = ERASURE_BEGUN, "erasure.completed"
LEFT = (
    "copies that are not the store's: backups, exports, the write-ahead log of a PostgreSQL server, and what other "
    "instances keep in their spools, which they throw away instead of storing it"
)
Stop = Callable[[Scope, str], Awaitable[None]]


class Receipt(Value):
    """What an erasure removed, without any content; `person` is the pseudonym in the audit log, `left` names what an
    erasure cannot reach. `signature` is made with the key that signs heads of the audit log."""

    tenant: str
    person: str
    begun_at: Moment
    completed_at: Moment
    conversations: int
    files: int
    keys: int
    left: str = LEFT
    signature: str = ""

    def signed(self, key: bytes) -> "Receipt":
        """Return the receipt with its signature."""
        said = self.model_dump(mode="json", exclude={"signature"})
        return self.model_copy(update={"signature": signature(key, said)})


class Erasure:
    """Erases people and their files from one store. `stop` stops the turns of a conversation."""

    def __init__(self, store: Store, files: Attachments | None, clock: Clock, stop: Stop) -> None:
        self._store = store
        self._files = files
        self._clock = clock
        self._stop = stop

    async def preview(self, scope: Scope) -> tuple[Statistics, int, int]:
        """Return what a user has stored, and the numbers of files and keys; `LegalHold` if it may not be erased."""
        await check_not_held(self._store, scope)
        keys = [key for key in await self._store.keyring.all(scope.tenant) if key.scope == scope]
        files = (await self._files.usage(scope.tenant, scope.user)).files if self._files else 0
        return await self._store.statistics(scope.tenant, user=scope.user), files, len(keys)

    async def erase(self, scope: Scope, key: bytes | None = None) -> Receipt:
        """Erase a user and return the signed receipt; `LegalHold`, with nothing erased, if any of it is held."""
        await check_not_held(self._store, scope)
        person = f"{USER}{scope.user}"
        begun_at = await self._record(scope.tenant, BEGUN, person)
        # The keys first, so that nothing more can be stored.
        keys = await self._store.keyring.forget(scope)
        while page := (await self._store.list(scope, limit=100)).items:
            for conversation in page:
                with suppress(ConversationNotFound):
                    await self._stop(scope, conversation.id)
                    await delete_unless_held(self._store, scope, conversation.id)
        files = await self._files.erase(scope) if self._files else 0
        removed = await self._store.purge(timedelta(0), owner=scope)
        completed_at = await self._record(
            scope.tenant, COMPLETED, person, conversations=removed, files=files, keys=keys
        )
        receipt = Receipt(
            tenant=scope.tenant,
            person=self._store.audit.alias(scope.tenant, person),
            begun_at=begun_at,
            completed_at=completed_at,
            conversations=removed,
            files=files,
            keys=keys,
        )
        return receipt.signed(key or await self._store.keyring.secret())

    async def _record(self, tenant: str, action: str, person: str, **details: int) -> datetime:
        act = act_now(self._clock, action, person, **details)
        await self._store.audit.append(tenant, act)
        return act.at

    async def resume(self) -> None:
        """Finish erasures that were cut off, unless a hold forbids it. If nothing of a person is left, the audit log
        is completed, so that somebody who comes back under that name is not erased."""
        tenants = await self._store.tenants()
        done = await self._store.unreached.each("finishing erasures", tenants, self._resume)
        if len(done) < len(tenants):
            raise StoreUnavailable("Some tenants cannot be reached, of whom an erasure may have been cut off.")

    async def _resume(self, tenant: str) -> None:
        if cut_off := await self._cut_off(tenant):
            users = await users_of(self._store, tenant)
            if self._files is not None:
                users |= {file.user async for file in self._files.files(tenant)}
            for user in users:
                if (person := self._store.audit.alias(tenant, f"{USER}{user}")) in cut_off:
                    cut_off.remove(person)
                    logger.info("an erasure in tenant %s was cut off and is done again", tenant)
                    with suppress(LegalHold):
                        await self.erase(Scope(tenant=tenant, user=user))
            for person in cut_off:
                await self._record(tenant, COMPLETED, person, conversations=0, files=0, keys=0)

    async def _cut_off(self, tenant: str) -> set[str]:
        """Return the pseudonyms of those whose erasure began and did not end."""
        people: set[str] = set()
        async for record in self._store.audit.walk(tenant, Wanted(actions=(BEGUN, COMPLETED))):
            (people.add if record.act.action == BEGUN else people.discard)(record.act.object)
        return people
