"""Legal holds: nobody and no rule can delete what is held. A hold is an act in the audit log of its tenant, and the
present holds are derived from that log."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from pydantic import Field

from threadkeep.conversation.clock import Clock
from threadkeep.conversation.ids import IdSource, check_id
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.value import Moment, Text, Value, checked
from threadkeep.errors import ConversationNotFound, HoldNotFound, HoldOnNobody, LegalHold
from threadkeep.store.audit import USER, Act, act_now
from threadkeep.store.base import Store

_TOPIC = "hold"


class Hold(Value):
    """A hold on a conversation, a user, or (neither) a whole tenant. People are named as in the audit log, where erased
    ones are pseudonyms."""

    id: str
    conversation: str | None = None
    user: str | None = None
    reason: Text = Field(min_length=1, max_length=500)
    by: str
    at: Moment


class Held(NamedTuple):
    """What is held in a tenant, by the names of the audit log."""

    names: frozenset[str]
    alias: Callable[[str, str], str]

    def has(self, scope: Scope, conversation: str | None = None) -> bool:
        """Whether a user, or a conversation of it, may not be deleted."""
        user = self.alias(scope.tenant, f"{USER}{scope.user}")
        return not self.names.isdisjoint((f"tenant:{scope.tenant}", user, f"conversation:{conversation}"))

    @property
    def conversations(self) -> list[str]:
        """The conversations that are held one by one."""
        return [name.partition(":")[2] for name in self.names if name.startswith("conversation:")]


async def held_in(store: Store, tenant: str) -> Held:
    """Return what is held in a tenant now."""
    facts = await store.audit.facts(tenant)
    names = (str(act.details["on"]) for (topic, _), act in facts.items() if topic == _TOPIC)
    return Held(frozenset(names), store.audit.alias)


async def check_not_held(store: Store, scope: Scope) -> None:
    """Raise `LegalHold` if a user, or one of its conversations, is held."""
    held = await held_in(store, scope.tenant)
    if held.has(scope):
        raise LegalHold
    for conversation in held.conversations:
        try:
            await store.get(scope, conversation)
        except ConversationNotFound:
            continue
        raise LegalHold


async def delete_unless_held(
    store: Store, scope: Scope, conversation: str, *, expected_entries: int | None = None
) -> None:
    """Delete a conversation; `LegalHold` if it is held. If a hold is added meanwhile, the conversation is restored."""
    if (await held_in(store, scope.tenant)).has(scope, conversation):
        await store.get(scope, conversation)  # raises if there is no such conversation, held or not
        raise LegalHold
    await store.delete(scope, conversation, expected_entries=expected_entries)
    if (await held_in(store, scope.tenant)).has(scope, conversation):
        await store.restore(scope, conversation)
        raise LegalHold


async def users_of(store: Store, tenant: str) -> set[str]:
    """Return everybody in a tenant who has a conversation or an API key."""
    keys = await store.keyring.all(tenant)
    return {*await store.operations.users(tenant), *(key.scope.user for key in keys)}


class Holds:
    """Adds, removes and lists the holds of tenants."""

    def __init__(self, store: Store, clock: Clock, ids: IdSource) -> None:
        self._store = store
        self._clock = clock
        self._ids = ids

    async def list(self, tenant: str) -> tuple[Hold, ...]:
        """Return the holds of a tenant, oldest first."""
        audit = self._store.audit
        people = (f"{USER}{user}" for user in await users_of(self._store, tenant))
        names = {audit.alias(tenant, name): name for name in people}
        facts = await audit.facts(tenant)
        return tuple(_hold(about, act, names) for (topic, about), act in facts.items() if topic == _TOPIC)

    @checked
    async def add(self, tenant: str, *, reason: str, conversation: str | None = None, user: str | None = None) -> Hold:
        """Hold a conversation, a user, or (neither) the tenant; `HoldOnNobody` if there is none."""
        if conversation is not None:
            there = (
                await self._store.operations.statistics(tenant, user=user, conversation=check_id(conversation))
            ).conversations
            on = f"conversation:{conversation}"
        elif user is not None:
            there, on = check_id(user) in await users_of(self._store, tenant), f"{USER}{user}"
        else:
            there, on = check_id(tenant) in await self._store.operations.tenants(), f"tenant:{tenant}"
        if not there:
            raise HoldOnNobody
        details = {"on": self._store.audit.alias(tenant, on), "reason": reason}
        act = act_now(self._clock, "hold.added", f"hold:{self._ids()}", **details)
        hold = _hold(act.object, act, {details["on"]: on})
        await self._store.audit.append(tenant, act)
        return hold

    async def remove(self, tenant: str, id: str) -> None:
        """Remove a hold; `HoldNotFound` if there is none with this id."""
        if all(hold.id != id for hold in await self.list(tenant)):
            raise HoldNotFound
        await self._store.audit.append(tenant, act_now(self._clock, "hold.removed", f"hold:{id}"))


def _hold(about: str, act: Act, names: Mapping[str, str]) -> Hold:
    """Return the hold that an act records, with the names of people that are known."""
    on = str(act.details["on"])
    kind, _, name = names.get(on, on).partition(":")
    return Hold(
        id=about.partition(":")[2],
        conversation=name if kind == "conversation" else None,
        user=name if kind == "user" else None,
        reason=act.details["reason"],
        by=names.get(act.actor, act.actor),
        at=act.at,
    )
