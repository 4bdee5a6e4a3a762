"""What a store tells: whatever a reader could see change, by every verb of the contract."""

from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Any

import pytest

from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Entry, Update
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.turn import Lease, TurnChange, TurnState
from threadkeep.errors import ConversationNotFound
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.store.values import Adopt, Append, Begin, Import
from threadkeep.testing.samples import ADA, key
from threadkeep.turn.local_bus import LocalBus, Nudge, list_topic

ID = "c"
LEASE_FOR = timedelta(seconds=10)
Call = Callable[[Store, Lease], Awaitable[Any]]
"""Calls a verb on a store with the conversation `ID`, in which a turn runs whose lease is given."""


async def _queue(store: Store, lease: Lease) -> None:
    queued = Begin(message=Message(role=Role.USER, content="Then?"), owner="me", lease_for=LEASE_FOR)
    await store.begin(ADA, ID, queued)


async def _queue_and_settle(store: Store, lease: Lease) -> None:
    await _queue(store, lease)
    await store.append(ADA, ID, Append(lease=lease, settle=TurnChange(state=TurnState.COMPLETED)))


BEFORE: dict[str, Callable[[Store, Lease], Awaitable[None]]] = {
    "restore": lambda store, lease: store.delete(ADA, ID),
    "purge": lambda store, lease: store.delete(ADA, ID),
    "start": _queue_and_settle,
    "withdraw": _queue,
}
"""What must have happened before a verb has something to do."""


async def _take(store: Store, lease: Lease) -> None:
    (turn,) = await store.turns(ADA, ID)
    await store.take(turn, "another", LEASE_FOR)


async def _withdraw(store: Store, lease: Lease) -> None:
    await store.withdraw(ADA, ID, (await store.turns(ADA, ID))[-1].number)


CALLS: dict[str, Call] = {
    "ping": lambda store, lease: store.operations.ping(),
    "create": lambda store, lease: store.create(ADA, NewConversation(id="another")),
    "get": lambda store, lease: store.get(ADA, ID),
    "snapshot": lambda store, lease: store.snapshot(ADA, ID),
    "list": lambda store, lease: store.list(ADA),
    "update": lambda store, lease: store.update(ADA, ID, Update(title="New")),
    "delete": lambda store, lease: store.delete(ADA, ID),
    "restore": lambda store, lease: store.restore(ADA, ID),
    "purge": lambda store, lease: store.operations.purge(timedelta(0)),
    "append": lambda store, lease: store.append(
        ADA, ID, Append(bodies=(Message(role=Role.ASSISTANT, content="Yes"),), lease=lease)
    ),
    "import_entries": lambda store, lease: store.import_entries(
        ADA, Import(new=NewConversation(id="another"), created_at=utc_now())
    ),
    "adopt": lambda store, lease: store.adopt(
        ADA,
        ID,
        Adopt(
            entries=(
                Entry(
                    conversation=ID, seq=3, parent=1, created_at=utc_now(), body=Message(role=Role.USER, content="Else")
                ),
            ),
            key=key("adopted"),
        ),
    ),
    "choose_head": lambda store, lease: store.choose_head(ADA, ID, 0),
    "entry": lambda store, lease: store.entry(ADA, ID, 1),
    "newest": lambda store, lease: store.newest(ADA, ID),
    "after": lambda store, lease: store.after(ADA, ID, 0),
    "count": lambda store, lease: store.count(ADA, ID),
    "log": lambda store, lease: store.log(ADA, ID, Cursor()),
    "state": lambda store, lease: store.state(ADA, ID),
    "summary": lambda store, lease: store.summary(ADA, ID),
    "begin": lambda store, lease: store.begin(
        ADA, ID, Begin(message=Message(role=Role.USER, content="Then?"), owner="me", lease_for=LEASE_FOR)
    ),
    "start": lambda store, lease: store.start(ADA, ID, "me", LEASE_FOR),
    "take": _take,
    "withdraw": _withdraw,
    "extend": lambda store, lease: store.extend(lease, LEASE_FOR),
    "turns": lambda store, lease: store.turns(ADA, ID),
    "expired": lambda store, lease: store.operations.expired(LEASE_FOR),
    "write": lambda store, lease: store.write(lease, "answer", 0, "Well"),
    "search": lambda store, lease: store.search(ADA, "Hello"),
    "related": lambda store, lease: store.related(ADA, ID, [["hello"]], head=1),
    "close": lambda store, lease: store.close(),
}


async def _told() -> tuple[Store, LocalBus]:
    """Return a store and the bus that it tells what is written."""
    store, bus = await open_store("memory:"), LocalBus()
    store.listeners = (bus.hear,)
    return store, bus


async def _seen(store: Store) -> tuple[Any, Any]:
    """Return all that a reader of the conversation and one of the list could see."""
    listed = (await store.list(ADA, limit=100)).items
    states = [[turn.state for turn in await store.turns(ADA, each.id)] for each in listed]
    try:
        return (await store.get(ADA, ID), await store.log(ADA, ID, Cursor())), (listed, states)
    except ConversationNotFound:
        return None, (listed, states)


@pytest.mark.parametrize("verb", sorted(Store.__abstractmethods__))
async def test_a_verb_publishes_if_and_only_if_a_reader_could_see_what_it_did(verb: str) -> None:
    store, bus = await _told()
    await store.create(ADA, NewConversation(id=ID, title="Old"))
    hello = Begin(message=Message(role=Role.USER, content="Hello"), owner="me", lease_for=LEASE_FOR)
    lease = (await store.begin(ADA, ID, hello)).lease
    assert lease is not None
    if verb in BEFORE:
        await BEFORE[verb](store, lease)
    before = await _seen(store)
    with (
        bus.subscribed(ADA.tenant, ID) as conversation,
        bus.subscribed(ADA.tenant, list_topic(ADA.user)) as listing,
    ):
        await CALLS[verb](store, lease)
        after = before if verb == "close" else await _seen(store)
        assert bool(conversation._nudges) == (before[0] != after[0])
        # A line of the list is told of at the ends of a turn only, and not with each result of a tool.
        assert bool(listing._nudges) == (before[1] != after[1] and verb != "append")
    if verb == "write":
        assert conversation._nudges == [Nudge("answer", 0, "Well")], "the text travels along, in one nudge"


async def test_the_end_of_a_turn_and_what_no_turn_says_are_told_to_the_list() -> None:
    store, bus = await _told()
    await store.create(ADA, NewConversation(id=ID))
    with bus.subscribed(ADA.tenant, list_topic(ADA.user)) as listing:
        await store.append(ADA, ID, Append(bodies=(Message(role=Role.USER, content="Hello"),)))
        assert len(await listing.get(1)) == 1
        begun = await store.begin(ADA, ID, Begin(parent=1, owner="me", lease_for=LEASE_FOR))
        assert len(await listing.get(1)) == 1
        await store.append(ADA, ID, Append(lease=begun.lease, settle=TurnChange(state=TurnState.COMPLETED)))
        assert len(await listing.get(1)) == 1


async def test_a_write_that_is_refused_tells_nobody() -> None:
    store, bus = await _told()
    with bus.subscribed(ADA.tenant, "none") as reader:
        with pytest.raises(ConversationNotFound):
            await store.update(ADA, "none", Update(title="New"))
        assert reader._nudges == []
