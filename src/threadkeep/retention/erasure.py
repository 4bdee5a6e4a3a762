"""Erasing a person: all conversations of one user, also deleted ones, files, keys and what assistants saved, for good.

Each step can be repeated, so an erasure that was cut off is done again: on the next request, or by the next process
that finds one in the audit log that began before it and did not end. The audit log keeps the act with a pseudonym of
the person. If all that is left was deleted and not purged, nobody is left to whom the pseudonym leads: then everything
that was deleted before is purged, and only then the erasure is completed.
"""

import asyncio
import logging
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
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
Eraser = Callable[[Scope], int]
"""Removes what an assistant keeps of a user elsewhere than in the store; returns how many things."""


class Receipt(Value):
    """What an erasure removed, without any content. `saved` counts what assistants had saved elsewhere; `person` is the
    pseudonym in the audit log, `left` names what an erasure cannot reach. `signature` is made with the key that signs
    heads of the audit log."""

    tenant: str
    person: str
    begun_at: Moment
    completed_at: Moment
    conversations: int
    files: int
    keys: int
    saved: int = 0
    left: str = LEFT
    signature: str = ""

    def signed(self, key: bytes) -> "Receipt":
        """Return the receipt with its signature."""
        said = self.model_dump(mode="json", exclude={"signature"})
        return self.model_copy(update={"signature": signature(key, said)})


class Erasure:
    """Erases people and their files from one store. `stop` stops the turns of a conversation; `erasers` remove what
    assistants keep of a person elsewhere."""

    def __init__(
        self, store: Store, files: Attachments | None, clock: Clock, stop: Stop, erasers: Sequence[Eraser] = ()
    ) -> None:
        self._store = store
        self._files = files
        self._clock = clock
        self._stop = stop
        self._erasers = erasers
        self._since = clock()

    async def preview(self, scope: Scope) -> tuple[Statistics, int, int]:
        """Return what a user has stored, and the numbers of files and keys; `LegalHold` if it may not be erased."""
        await check_not_held(self._store, scope)
        keys = [key for key in await self._store.keyring.all(scope.tenant) if key.scope == scope]
        files = (await self._files.usage(scope.tenant, scope.user)).files if self._files else 0
        return await self._store.operations.statistics(scope.tenant, user=scope.user), files, len(keys)

    async def erase(self, scope: Scope, key: bytes | None = None, *, earlier: Counter[str] | None = None) -> Receipt:
        """Erase a user and return the signed receipt; `LegalHold`, with nothing erased, if any of it is held. `earlier`
        is what there was when an erasure began that was cut off."""
        stored, had_files, had_keys = await self.preview(scope)
        person = f"{USER}{scope.user}"
        had = {"conversations": stored.conversations, "files": had_files, "keys": had_keys}
        begun_at = await self._record(scope.tenant, BEGUN, person, **had) if earlier is None else self._clock()
        # The keys first, so that nothing more can be stored.
        keys = await self._store.keyring.forget(scope)
        # While conversations tell whose it is: a process that dies behind their deletion leaves nobody's name.
        saved = await self._erase_saved(scope)
        while page := (await self._store.list(scope, limit=100)).items:
            for conversation in page:
                with suppress(ConversationNotFound):
                    await self._stop(scope, conversation.id)
                    await delete_unless_held(self._store, scope, conversation.id)
        files = await self._files.erase(scope) if self._files else 0
        saved += await self._erase_saved(scope)  # what turns saved until they were stopped
        removed = await self._store.operations.purge(timedelta(0), owner=scope)
        done = Counter(conversations=removed, files=files, keys=keys, saved=saved) | (earlier or Counter())
        counts = {name: done[name] for name in ("conversations", "files", "keys", "saved")}
        completed_at = await self._record(scope.tenant, COMPLETED, person, **counts)
        known = self._store.audit.alias(scope.tenant, person)
        about = {"tenant": scope.tenant, "person": known, "begun_at": begun_at, "completed_at": completed_at}
        receipt = Receipt.model_validate({**about, **counts})
        return receipt.signed(key or await self._store.keyring.secret())

    async def _erase_saved(self, scope: Scope) -> int:
        return sum([await asyncio.to_thread(eraser, scope) for eraser in self._erasers])

    async def _record(self, tenant: str, action: str, person: str, **details: int) -> datetime:
        act = act_now(self._clock, action, person, **details)
        await self._store.audit.append(tenant, act)
        return act.at

    async def resume(self, kept: timedelta = timedelta(0)) -> bool:
        """Finish erasures that were cut off, unless a hold forbids it; return whether none is left. If no name of a
        person is left, that is once all that was deleted before is purged, which others may restore for `kept`; then
        the audit log is completed, so that somebody who comes back under that name is not erased."""
        operations = self._store.operations
        tenants = await operations.tenants()
        done = await operations.unreached.each("finishing erasures", tenants, lambda each: self._resume(each, kept))
        if len(done) < len(tenants):
            raise StoreUnavailable("Some tenants cannot be reached, of whom an erasure may have been cut off.")
        return all(done)

    async def _resume(self, tenant: str, kept: timedelta) -> bool:
        if cut_off := await self._cut_off(tenant):
            users = await users_of(self._store, tenant)
            if self._files is not None:
                users |= {file.user async for file in self._files.files(tenant)}
            for user in users:
                if (person := self._store.audit.alias(tenant, f"{USER}{user}")) in cut_off:
                    earlier = cut_off.pop(person)
                    logger.info("an erasure in tenant %s was cut off and is done again", tenant)
                    with suppress(LegalHold):
                        await self.erase(Scope(tenant=tenant, user=user), earlier=earlier)
        if cut_off:
            if self._clock() - self._since < kept:
                return False
            await self._store.operations.purge(kept)
            for person, earlier in cut_off.items():
                await self._record(tenant, COMPLETED, person, **earlier)
        return True

    async def _cut_off(self, tenant: str) -> dict[str, Counter[str]]:
        """Return the pseudonyms of those whose erasure an earlier process began and did not end, and how much they had:
        one that runs here may end and its person come back meanwhile."""
        people: dict[str, Counter[str]] = {}
        async for record in self._store.audit.walk(tenant, Wanted(actions=(BEGUN, COMPLETED))):
            if record.act.action == COMPLETED:
                people.pop(record.act.object, None)
            elif record.act.at <= self._since:
                people[record.act.object] = people.get(record.act.object, Counter()) | Counter(record.act.details)
        return people
