"""Sending for one tenant: which conversations have grown, and what of them a target is to get, by one process of all.

Conversations that have grown are found by their last activity: at each look those of the last minute, and now and then
those of the last day, because an outage or a clock may bring older entries later. For each target and conversation the
log is sent from the position that is noted on. What fails is tried again later, and given up at last; until then only
that conversation waits, for that target.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import random
from secrets import token_hex
from time import monotonic

from threadkeep.background import supervised
from threadkeep.conversation.clock import Clock
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.ids import IdSource
from threadkeep.conversation_handle import ConversationHandle
from threadkeep.conversations import Conversations
from threadkeep.errors import ConversationNotFound, EntryNotFound, StoreError
from threadkeep_webhooks.events import Sendable, sendable
from threadkeep_webhooks.positions import LeaseGone, Position, Positions
from threadkeep_webhooks.posting import Post, Undelivered
from threadkeep_webhooks.tables import WebhookTarget
from threadkeep_webhooks.targets import DeadLetter, Targets

logger = logging.getLogger("threadkeep.webhooks")

LOOK_EVERY = 1.0
LOOK_BACK_EVERY = 60.0
FORGET_EVERY = 24 * 3600.0
RECENT, LONG_AGO = timedelta(minutes=1), timedelta(days=1)
KEPT = timedelta(days=30)
"""For how long the position of a conversation is kept to which nothing is added."""
AT_ONCE = 4
"""How many conversations are sent to one target at a time."""
MOST_WAITING = 10_000
"""How many conversations may wait for a target before no more are looked for."""
PAGE = 20
PAUSES = (5.0, 20.0, 80.0, 320.0, 1280.0, 3600.0)
Key = tuple[str, str]
"""A target and a conversation."""


@dataclass(frozen=True, kw_only=True)
class Means:
    """What sending needs."""

    conversations: Conversations
    targets: Targets
    post: Post
    attempts: int
    clock: Clock
    ids: IdSource


class TenantSender:
    """Sends what happens in a tenant while this process holds its lease. `_failed` is what a note says is to be tried
    again, and `_pauses` says when."""

    def __init__(self, means: Means, tenant: str) -> None:
        self._means = means
        self._admin = means.conversations.admin
        self._targets = means.targets
        self._clock = means.clock
        self._tenant = tenant
        self._positions = Positions(means.conversations.operations.notes, tenant, means.clock)
        self._owner = token_hex(8)
        self._now: dict[str, WebhookTarget] = {}
        self._failed: set[Key] = set()
        self._known: dict[Key, int] = {}
        self._waiting: dict[Key, datetime] = {}
        self._pauses: dict[Key, float] = {}
        self._sending: dict[Key, asyncio.Task[None]] = {}
        self._looked_back = self._forgot = float("-inf")

    async def run(self) -> None:
        """Look and send for ever."""
        try:
            while True:
                if await self._positions.hold(self._owner):
                    await self._look()
                    self._send()
                else:
                    await self._stop()
                await asyncio.sleep(LOOK_EVERY)
        finally:
            await self._stop()
            await self._positions.let_go()

    async def _stop(self) -> None:
        """Send nothing any more, and forget what was known: another process may send meanwhile."""
        for task in self._sending.values():
            task.cancel()
        await asyncio.gather(*self._sending.values(), return_exceptions=True)
        self._failed.clear()
        for known in (self._sending, self._known, self._waiting, self._pauses):
            known.clear()
        self._looked_back = float("-inf")

    # What there is to send

    async def _look(self) -> None:
        """Find conversations that have grown, unless too much waits already."""
        self._now = targets = {target.id: target for target in await self._targets.of(self._tenant)}
        if len(self._waiting) > MOST_WAITING or not targets:
            return
        began, is_first = self._clock(), self._looked_back < 0
        looks_back = monotonic() - self._looked_back > LOOK_BACK_EVERY
        since = began - (LONG_AGO if looks_back else RECENT)
        if is_first:
            since = min(since, await self._take_over(began))
        async for item in self._active(since):
            self._note_grown(item)
        if looks_back:
            self._looked_back = monotonic()
            await self._positions.note_seen(
                min([began, *(at for key, at in self._waiting.items() if key not in self._failed)])
            )
        if monotonic() - self._forgot > FORGET_EVERY:
            self._forgot = monotonic()
            await self._positions.forget_old(KEPT)

    async def _take_over(self, now: datetime) -> datetime:
        """Return from when on it is not known what was sent; what failed before is tried now."""
        self._failed = set(await self._positions.open())
        self._waiting |= dict.fromkeys(self._failed, now)
        seen = await self._positions.seen()
        return seen - RECENT if seen else min(each.since for each in self._now.values())

    async def _active(self, since: datetime) -> AsyncIterator[Conversation]:
        """Yield the conversations of the tenant to which something was added since then."""
        after: str | None = None
        while True:
            page = await self._admin.list(self._tenant, limit=PAGE if after is None else 100, after=after)
            for item in page.items:
                if item.updated_at < since:
                    return
                yield item
            if page.next is None:
                return
            after = page.next

    def _note_grown(self, item: Conversation) -> None:
        for target in self._now.values():
            key = (target.id, item.id)
            if self._known.get(key, -1) < item.entries and item.updated_at >= target.since:
                self._waiting.setdefault(key, item.updated_at)
                if len(self._known) > 10 * MOST_WAITING:
                    self._known.clear()
                self._known[key] = item.entries

    # Sending it

    def _send(self) -> None:
        """Begin to send what waits and may be tried now, not too much at a time to each target."""
        self._sending = {key: task for key, task in self._sending.items() if not task.done()}
        now = monotonic()
        for key in list(self._waiting):
            busy = sum(target == key[0] for target, _ in self._sending)
            if key not in self._sending and busy < AT_ONCE and self._pauses.get(key, 0) <= now:
                self._sending[key] = asyncio.create_task(self._send_one(key))

    async def _send_one(self, key: Key) -> None:
        """Send what a target has not got of a conversation."""
        try:
            is_gone, known = False, -1
            while not is_gone and known != self._known.get(key, 0):
                known = self._known.get(key, 0)
                is_gone = await self._send_what_is_there(key)
                if key in self._pauses:
                    return
            self._waiting.pop(key, None)
        except LeaseGone:
            self._known.clear()
        except StoreError as error:
            self._pauses[key] = monotonic() + PAUSES[0]
            logger.info("what happens in %s cannot be read now: %s", key[1], error)
        except Exception:
            self._pauses[key] = monotonic() + PAUSES[-1]
            logger.exception("what happens in %s cannot be sent", key[1])

    async def _send_what_is_there(self, key: Key) -> bool:
        """Send a log to its present end, or note when to try again; return whether conversation or target is gone: then
        what was not sent is not sent any more."""
        self._pauses.pop(key, None)
        try:
            handle = await self._admin.conversation(self._tenant, key[1], act=None)
            if (target := self._now.get(key[0])) is not None:
                await self._send_log(target, handle)
                return False
        except ConversationNotFound:
            pass
        self._failed.discard(key)
        await self._positions.close(*key, is_gone=True)
        return True

    async def _send_log(self, target: WebhookTarget, handle: ConversationHandle) -> None:
        """Send a log from its position on, until something is not taken."""
        key = (target.id, handle.id)
        version, position = await self._positions.read(*key)
        if position is None:
            position = Position(await self._before(handle, target.since))
        while entries := (await handle.reading.log(Cursor(seq=position.seq), limit=PAGE)).entries:
            for entry in entries:
                for event in sendable(target, handle.scope, entry)[position.done :]:
                    reason = await self._try(target, event)
                    failed = position._replace(attempts=position.attempts + 1)
                    if reason is not None and failed.attempts < self._means.attempts:
                        await self._positions.write(*key, version, failed)
                        self._failed.add(key)
                        pause = PAUSES[min(failed.attempts, len(PAUSES)) - 1] * (0.75 + random() / 2)  # noqa: S311
                        self._pauses[key] = monotonic() + pause
                        return
                    if reason is not None:
                        await self._give_up(target, handle.id, event, failed.attempts, reason)
                    position = position._replace(done=position.done + 1, attempts=0)
                position = Position(entry.seq)
            version = await self._positions.write(*key, version, position)
        if key in self._failed:
            self._failed.discard(key)
            await self._positions.close(*key)

    async def _try(self, target: WebhookTarget, event: Sendable) -> str | None:
        """Send an event; return why it was not taken, if it was not."""
        if not await self._positions.hold(self._owner):
            raise LeaseGone
        try:
            await self._means.post.send(target, event.id, event.body)
        except Undelivered as reason:
            return str(reason)
        return None

    async def _give_up(
        self, target: WebhookTarget, conversation: str, event: Sendable, attempts: int, reason: str
    ) -> None:
        letter = DeadLetter(
            id=self._means.ids(),
            conversation=conversation,
            seq=event.seq,
            index=event.place,
            type=event.type,
            attempts=attempts,
            reason=reason,
            at=self._clock(),
        )
        await self._targets.bury(target, letter)
        logger.warning("a webhook of tenant %s was given up: %s", self._tenant, reason)

    async def _before(self, handle: ConversationHandle, since: datetime) -> int:
        """Return the last entry of a log from before a target began, or from before what is kept of positions."""
        bound = max(since, self._clock() - KEPT)
        first, last = 0, (await handle.read()).entries
        while first < last:
            middle = (first + last + 1) // 2
            try:
                is_before = (await handle.reading.entry(middle)).created_at < bound
            except EntryNotFound:
                is_before = False
            first, last = (middle, last) if is_before else (first, middle - 1)
        return first


class Sender:
    """Sends for all tenants that have targets: one `TenantSender` for each."""

    def __init__(self, means: Means) -> None:
        self._means = means
        self._running: dict[str, asyncio.Task[None]] = {}

    async def run(self) -> None:
        """Look for ever which tenants have targets."""
        try:
            while True:
                tenants = await self._means.targets.tenants()
                for tenant in tenants - self._running.keys():
                    work = supervised(f"sending webhooks of {tenant}", TenantSender(self._means, tenant).run)
                    self._running[tenant] = asyncio.create_task(work)
                for tenant in self._running.keys() - tenants:
                    self._running.pop(tenant).cancel()
                await asyncio.sleep(LOOK_EVERY)
        finally:
            for task in self._running.values():
                task.cancel()
            await asyncio.gather(*self._running.values(), return_exceptions=True)
