"""A store around another one that tells readers of every write, so that no caller has to remember to.

Readers of a conversation are told of everything that its log or draft gains. Readers of the user's list are told of
what the list shows: conversations and the states of their turns, but not what a running turn appends on its way.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, TypeVar, cast

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.turn import Lease, Turn
from threadkeep.store.base import Store
from threadkeep.store.values import Append, Appended, Begun, Created, Import
from threadkeep.turn.local_bus import LocalBus, Nudge

VerbT = TypeVar("VerbT", bound=Callable[..., Any])


def _unchanged(verb: VerbT) -> VerbT:
    """Return a verb that calls the store inside and tells nobody."""
    name = verb.__name__

    def ask(self: "PublishingStore", *args: Any, **kwargs: Any) -> Any:
        return getattr(self.inside, name)(*args, **kwargs)

    return cast(VerbT, ask)


def _published(verb: VerbT) -> VerbT:
    """Return a verb that writes into a conversation, and tells its readers and those of the list."""
    name = verb.__name__

    async def write(self: "PublishingStore", scope: Scope, conversation: str, *args: Any, **kwargs: Any) -> Any:
        done = await getattr(self.inside, name)(scope, conversation, *args, **kwargs)
        self.publish(scope, conversation)
        return done

    return cast(VerbT, write)


def _noted(verb: VerbT) -> VerbT:
    """Return a verb that reads a conversation, and tells who wants to know what is read."""
    name = verb.__name__

    async def read(self: "PublishingStore", scope: Scope, conversation: str, *args: Any, **kwargs: Any) -> Any:
        found = await getattr(self.inside, name)(scope, conversation, *args, **kwargs)
        self.on_read(scope, conversation)
        return found

    return cast(VerbT, read)


class PublishingStore(Store):
    """Passes everything on to the store `inside`, publishes on its `bus` what was written, and tells `on_read` what was
    read."""

    def __init__(self, inside: Store) -> None:
        self.inside = inside
        self.keyring = inside.keyring
        self.audit = inside.audit
        self.files = inside.files
        self.unreached = inside.unreached
        self.bus = LocalBus()
        self.on_read: Callable[[Scope, str], None] = lambda scope, conversation: None

    def publish(self, scope: Scope, conversation: str, *, in_list: bool = True) -> None:
        """Tell the readers of a conversation, and of its user's list, that there is something new."""
        self.bus.publish(scope.tenant, conversation)
        if in_list:
            self.bus.publish_list(scope.tenant, scope.user)

    update = _published(Store.update)
    delete = _published(Store.delete)
    restore = _published(Store.restore)
    choose_head = _published(Store.choose_head)
    adopt = _published(Store.adopt)
    begin = _published(Store.begin)
    withdraw = _published(Store.withdraw)

    async def create(self, scope: Scope, new: NewConversation, **options: Any) -> Created:
        created = await self.inside.create(scope, new, **options)
        self.publish(scope, created.conversation.id)
        return created

    async def append(self, scope: Scope, conversation: str, append: Append) -> Appended:
        appended = await self.inside.append(scope, conversation, append)
        self.publish(scope, conversation, in_list=append.lease is None or append.settle is not None)
        return appended

    async def import_entries(self, scope: Scope, imported: Import) -> int:
        count = await self.inside.import_entries(scope, imported)
        if imported.new.id is not None:
            self.publish(scope, imported.new.id)
        return count

    async def start(self, scope: Scope, conversation: str, owner: str, lease_for: timedelta) -> Begun | None:
        begun = await self.inside.start(scope, conversation, owner, lease_for)
        if begun is not None:
            self.publish(scope, conversation)
        return begun

    async def take(self, turn: Turn, owner: str, lease_for: timedelta) -> Lease:
        lease = await self.inside.take(turn, owner, lease_for)
        self.publish(turn.scope, turn.conversation)
        return lease

    async def write(self, lease: Lease, message: str, offset: int, text: str) -> None:
        await self.inside.write(lease, message, offset, text)
        # The nudge carries the text: a reader who is up to date need not read it from the store.
        self.bus.publish(lease.scope.tenant, lease.conversation, Nudge(message, offset, text))

    close = _unchanged(Store.close)
    ping = _unchanged(Store.ping)
    release = _unchanged(Store.release)
    notify_channel = _unchanged(Store.notify_channel)
    outage = _unchanged(Store.outage)
    spool_state = _unchanged(Store.spool_state)
    damage = _unchanged(Store.damage)
    reach = _unchanged(Store.reach)
    get = _unchanged(Store.get)
    list = _unchanged(Store.list)
    purge = _unchanged(Store.purge)
    tree = _unchanged(Store.tree)
    entry = _unchanged(Store.entry)
    newest = _noted(Store.newest)
    before = _noted(Store.before)
    after = _noted(Store.after)
    count = _unchanged(Store.count)
    walk = _unchanged(Store.walk)
    log = _noted(Store.log)
    state = _unchanged(Store.state)
    summary = _unchanged(Store.summary)
    extend = _unchanged(Store.extend)
    turns = _unchanged(Store.turns)
    expired = _unchanged(Store.expired)
    search = _unchanged(Store.search)
    related = _unchanged(Store.related)
    statistics = _unchanged(Store.statistics)
    list_tenant = _unchanged(Store.list_tenant)
    users = _unchanged(Store.users)
    owner = _unchanged(Store.owner)
    tenants = _unchanged(Store.tenants)
