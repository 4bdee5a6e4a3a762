"""Obeying the rules of retention: find what is due in a tenant, and do it in small steps.

Several instances may do this at once: each step names the length of the log that it was decided by, and is refused if a
message came meanwhile. Claims in the audit log, of which the first counts, only save work: one instance at a time works
on a tenant, once a day and whenever a time to live has ended. What was read is in the audit log too, a record for some
minutes: reading costs no write.
"""

import asyncio
import time
from asyncio import gather
from collections import Counter, OrderedDict
from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.conversation import Conversation
from threadkeep.conversation.entry import Update
from threadkeep.conversation.facts import Status
from threadkeep.conversation.ids import IdSource
from threadkeep.conversation.scope import Scope
from threadkeep.errors import ConversationBusy, ConversationNotFound, LegalHold
from threadkeep.retention.holds import Held, delete_unless_held, held_in
from threadkeep.retention.rules import Action, Facts, Retention, Verdict, judge
from threadkeep.store.audit import Wanted, act_now, at_text
from threadkeep.store.base import Store
from threadkeep.store.codec import microseconds
from threadkeep.store.paging import activity_cursor

PAGE = 25
"""How many conversations are read in one step, during which an embedded store blocks others."""
REST = 3
"""The pause after a step, as a multiple of how long it took: the rest of the time is for turns."""
EVERY = timedelta(days=1)
LATELY = timedelta(hours=1)
"""How far behind their end temporary conversations are looked for between two daily runs, which look for all."""
CLAIMED_FOR = timedelta(minutes=15)
"""How long a claim counts unless it is renewed: an instance that died blocks others no longer than this."""
BEGAN, RAN, READ = "retention.began", "retention.ran", "retention.read"
ALL = datetime.min.replace(tzinfo=UTC)
MOST_READ = 20_000
"""How many conversations that were read are remembered between two records."""
READ_TOGETHER = 1000
TOGETHER = 4
"""How much is done at once. An embedded store does it in one commit, during which turns wait."""
READS_ARRIVE = timedelta(minutes=15)
"""How late the rules are obeyed: others put on record every ten minutes what was read there, and that keeps it."""


class Planned(NamedTuple):
    """What is due for a conversation, by which rule and since when, with what it was like when it was read."""

    scope: Scope
    conversation: str
    assistant: str | None
    status: Status
    last_activity: datetime
    entries: int
    action: Action
    reason: str
    due: datetime


class RetentionRunner:
    """Keeps the rules of tenants, and obeys them. `base` are the rules for tenants that have set none."""

    def __init__(self, store: Store, base: Retention, clock: Clock, ids: IdSource) -> None:
        self._store = store
        self._base = base
        self._clock = clock
        self._owner = ids()
        self._read: OrderedDict[tuple[str, str], datetime] = OrderedDict()

    # Reading is access

    def note_read(self, scope: Scope, conversation: str) -> None:
        """Remember that a conversation was read, until `record_reads`."""
        self._read.pop((scope.tenant, conversation), None)
        self._read[scope.tenant, conversation] = self._clock()
        if len(self._read) > MOST_READ:
            self._read.popitem(last=False)

    async def record_reads(self) -> None:
        """Put on record what was read in tenants where conversations have a time to live."""
        read, self._read = self._read, OrderedDict()
        for tenant in {tenant for tenant, _ in read}:
            if (await self.rules(tenant)).longest_life() is not None:
                times = [(name, at_text(at)) for (whose, name), at in read.items() if whose == tenant]
                for start in range(0, len(times), READ_TOGETHER):
                    some = dict(times[start : start + READ_TOGETHER])
                    act = act_now(self._clock, READ, f"tenant:{tenant}", read=some)
                    await self._store.audit.append(tenant, act)

    async def _reads(self, tenant: str, rules: Retention, now: datetime) -> dict[str, datetime]:
        """Return when conversations were last read, as far as it matters."""
        if (life := rules.longest_life()) is None:
            return {}
        times: dict[str, str] = {}
        since = min(now, self._clock()) - life
        async for audited in self._store.audit.walk(tenant, Wanted(actions=(READ,), since=since)):
            times |= audited.act.details["read"]
        read = {name: datetime.fromisoformat(at) for name, at in times.items()}
        return read | {name: at for (whose, name), at in self._read.items() if whose == tenant}

    async def rules(self, tenant: str) -> Retention:
        """Return the rules of a tenant: its own, completed with `base`."""
        fact = (await self._store.audit.facts(tenant)).get(("retention", f"tenant:{tenant}"))
        return self._base.merged(None if fact is None else Retention.model_validate(fact.details))

    async def set_rules(self, tenant: str, own: Retention) -> Retention:
        """Replace a tenant's own rules; return those that hold now."""
        rules = self._base.merged(own)
        details = own.model_dump(mode="json", exclude_unset=True)
        await self._store.audit.append(tenant, act_now(self._clock, "retention.set", f"tenant:{tenant}", **details))
        return rules

    # Looking

    async def preview(self, tenant: str, now: datetime | None = None) -> AsyncGenerator[Planned, None]:
        """Yield what is due at a moment (none: now)."""
        async with aclosing(self._groups(tenant, now or self._clock())) as groups:
            async for group in groups:
                for planned in group:
                    yield planned

    async def _groups(
        self, tenant: str, now: datetime, since: datetime | None = None
    ) -> AsyncGenerator[list[Planned], None]:
        """Yield what is due, a few at a time that concern different conversations; `since` leaves out what was not
        active since then, and the caps. A caller that obeys does so before it asks for the next ones."""
        rules, held = await self.rules(tenant), await held_in(self._store, tenant)
        gone: set[str] = set()
        group: list[Planned] = []
        async with aclosing(self._due(tenant, rules, held, now, since)) as due:
            async for planned in due:
                gone |= {planned.conversation} if planned.action is Action.DELETE else set()
                group.append(planned)
                if len(group) == TOGETHER:
                    yield group
                    group = []
        yield group
        if since is not None:
            return
        async for planned in self._surplus(tenant, rules, held, gone, now):
            yield [planned]

    async def _due(
        self, tenant: str, rules: Retention, held: Held, now: datetime, since: datetime | None = None
    ) -> AsyncGenerator[Planned, None]:
        """Yield what is due by time, the last active first. What is too young for all rules is not read."""
        shortest = rules.shortest()
        if shortest is None:
            return
        start = activity_cursor(tenant, microseconds(now - shortest) + 1, 0)
        reads = await self._reads(tenant, rules, now)
        async for seen in self._list(tenant, start):
            if since is not None and seen.updated_at < since:
                return
            is_held = held.has(seen.scope, seen.id)
            known = Facts(seen.assistant, seen.status, seen.updated_at, is_held=is_held, is_temporary=seen.temporary)
            facts = known._replace(read_at=reads.get(seen.id))
            verdict = judge(rules, facts, now)
            if verdict.action is not Action.KEEP and not await self._is_running(seen.scope, seen.id):
                yield _planned(seen, verdict)

    async def _surplus(
        self, tenant: str, rules: Retention, held: Held, gone: set[str], now: datetime
    ) -> AsyncGenerator[Planned, None]:
        """Yield what exceeds the caps, the oldest first, not counting what is in `gone`."""
        users = await self._store.operations.users(tenant) if rules.user_conversations or rules.user_bytes else ()
        for user in users:
            scope = Scope(tenant=tenant, user=user)
            for name in ("user_conversations", "user_bytes"):
                async for planned in self._over(scope, name, getattr(rules, name), held, gone, now):
                    yield planned
        async for planned in self._over(tenant, "tenant_bytes", rules.tenant_bytes, held, gone, now):
            yield planned

    async def _over(
        self, whose: Scope | str, reason: str, cap: int, held: Held, gone: set[str], now: datetime
    ) -> AsyncGenerator[Planned, None]:
        """Yield what must go for a cap to hold. What is in `gone` does not count, even if it is not deleted yet."""
        tenant, user = (whose, None) if isinstance(whose, str) else (whose.tenant, whose.user)
        is_counted = reason == "user_conversations"

        async def measure(name: str | None = None) -> int:
            found = await self._store.operations.statistics(tenant, user=user, conversation=name)
            files = self._store.files
            if is_counted or files is None:
                return found.conversations if is_counted else found.bytes
            return found.bytes + await files.used_bytes(tenant, user, name)

        if not cap or (total := await measure()) <= cap:
            return
        oldest_first = [_planned(seen, Verdict(Action.DELETE, reason, now)) async for seen in self._list(whose, None)]
        oldest_first.reverse()
        for planned in oldest_first:
            total -= await measure(planned.conversation) if planned.conversation in gone else 0
        for planned in oldest_first:
            if total <= cap:
                return
            if planned.conversation in gone or held.has(planned.scope, planned.conversation):
                continue
            if not await self._is_running(planned.scope, planned.conversation):
                total -= await measure(planned.conversation)
                gone.add(planned.conversation)
                yield planned

    async def _list(self, whose: Scope | str, after: str | None) -> AsyncGenerator[Conversation, None]:
        """Yield the conversations of a user or a tenant, the last active first."""
        while True:
            began = time.monotonic()
            page = await self._store.list(whose, limit=PAGE, after=after)
            await asyncio.sleep(REST * (time.monotonic() - began))
            for seen in page.items:
                yield seen
            if (after := page.next) is None:
                return

    async def _is_running(self, scope: Scope, conversation: str) -> bool:
        try:
            return bool(await self._store.turns(scope, conversation))
        except ConversationNotFound:
            return True  # it was deleted meanwhile: nothing is left to do

    # Obeying

    async def run(self, tenant: str, now: datetime | None = None, *, only_if_due: bool = False) -> Counter[str] | None:
        """Do what is due at a moment (none: now), and return how many of each action were done.

        None if another instance does so right now or, `only_if_due`, if it was done within a day and nothing has come
        to the end of its time to live since, nor anything temporary lately.
        """
        now, since = now or self._clock(), None
        if only_if_due and (since := await self._since(tenant, now)) is None:
            return None
        until = await self._claim(tenant)
        if until is None or (only_if_due and (since := await self._since(tenant, now)) is None):
            return None  # another instance does so, or was faster
        done: Counter[str] = Counter()
        lately = {"since": at_text(since)} if since not in (None, ALL) else {}
        async with aclosing(self._groups(tenant, now, since if lately else None)) as groups:
            async for group in groups:
                if self._clock() >= until and (until := await self._claim(tenant)) is None:
                    return done
                began = time.monotonic()
                for planned, is_done in zip(group, await gather(*map(self._obey, group)), strict=True):
                    done[planned.action] += is_done
                await asyncio.sleep(REST * (time.monotonic() - began))
        await self._store.audit.append(tenant, act_now(self._clock, RAN, f"tenant:{tenant}", **done, **lately))
        return done

    async def _obey(self, planned: Planned) -> bool:
        """Do what is due, unless the conversation has changed or is held by now."""
        try:
            if planned.action is Action.DELETE:
                await delete_unless_held(
                    self._store, planned.scope, planned.conversation, expected_entries=planned.entries
                )
            else:
                await self._store.update(
                    planned.scope,
                    planned.conversation,
                    Update(status=Status.ABANDONED),
                    expected_entries=planned.entries,
                    at=planned.last_activity,  # marking it is no activity: it keeps its place in lists
                )
        except (ConversationBusy, ConversationNotFound, LegalHold):
            return False
        return True

    async def run_all(self) -> Counter[str]:
        """Do what is due in every tenant where that was not done within a day, or something has outlived its time."""
        await self.record_reads()
        then = self._clock() - READS_ARRIVE
        each = await self._store.operations.unreached.each(
            "retention", await self._store.operations.tenants(), lambda tenant: self.run(tenant, then, only_if_due=True)
        )
        return sum((done for done in each if done), Counter[str]())

    async def _since(self, tenant: str, now: datetime) -> datetime | None:
        """Return since when what is due was active at least (`ALL`: whenever); None if nothing is due."""
        if not (await self._claims(tenant))[0]:
            return ALL
        rules = await self.rules(tenant)
        if rules.longest_life() is not None:
            since = ALL
        elif (kept := rules.longest_temporary()) is not None:
            since = now - kept - LATELY
        else:
            return None
        held = await held_in(self._store, tenant)
        async with aclosing(self._due(tenant, rules, held, now, since)) as due:
            async for planned in due:
                if planned.action is Action.DELETE:
                    return since
        return None

    async def _claim(self, tenant: str) -> datetime | None:
        """Return until when this instance may work on a tenant, or None."""
        _, holder = await self._claims(tenant)
        if holder not in (None, self._owner):
            return None
        now = self._clock()
        await self._store.audit.append(tenant, act_now(self._clock, BEGAN, f"tenant:{tenant}", owner=self._owner))
        _, holder = await self._claims(tenant)
        return now + CLAIMED_FOR if holder == self._owner else None

    async def _claims(self, tenant: str) -> tuple[bool, str | None]:
        """Return whether the rules were obeyed within a day, and which instance has the present claim."""
        now = self._clock()
        wanted = Wanted(actions=(BEGAN, RAN), since=now - EVERY, newest_first=True)
        acts = [audited.act for audited in await self._store.audit.read(tenant, wanted, limit=1000)]
        is_done, owner, until = False, None, now
        for act in reversed(acts):
            if act.action == RAN:
                is_done, owner = is_done or "since" not in act.details, None
            elif owner in (None, act.details["owner"]) or act.at >= until:
                owner, until = act.details["owner"], act.at + CLAIMED_FOR
        return is_done, owner if until > now else None


def _planned(seen: Conversation, verdict: Verdict) -> Planned:
    about = (seen.scope, seen.id, seen.assistant, seen.status, seen.updated_at, seen.entries)
    return Planned(*about, verdict.action, verdict.reason, verdict.due or seen.updated_at)
