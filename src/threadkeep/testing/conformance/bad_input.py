"""Bad input: each kind is refused with an error of its own, and nothing is changed."""

from collections.abc import Awaitable, Callable
from itertools import product

import pytest

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Update
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.state import StateChange
from threadkeep.conversation.turn import TurnChange, TurnState
from threadkeep.errors import (
    ContentTooLarge,
    InvalidCursor,
    InvalidId,
    InvalidLimit,
    InvalidParent,
    InvalidText,
    InvalidValue,
    MetadataTooLarge,
)
from threadkeep.store.base import MAX_BYTES, ROOT, Store
from threadkeep.store.values import Append, Appendable, Begin
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import ADA, MINUTE, asked, new, running, settle

BAD_IDS = (
    "",
    "../../etc/passwd",
    "/etc/passwd",
    "a\\b",
    ".",
    "..",
    ".threadkeep",
    "a\x00b",
    "a\n",
    "a b",
    "a\ud83d",
    "ä",
    "x" * 129,
    "x" * 10_000_000,
)

BY_ID: tuple[Callable[[Store, str], Awaitable[object]], ...] = (
    lambda store, name: store.create(ADA, NewConversation(id=name)),
    lambda store, name: store.get(ADA, name),
    lambda store, name: store.update(ADA, name, Update(title="x")),
    lambda store, name: store.delete(ADA, name),
    lambda store, name: store.restore(ADA, name),
    lambda store, name: store.append(ADA, name, Append(bodies=(asked("x"),))),
    lambda store, name: store.choose_head(ADA, name, 1),
    lambda store, name: store.log(ADA, name, Cursor()),
    lambda store, name: store.begin(ADA, name, Begin(message=asked("x"), owner="o", lease_for=MINUTE)),
    lambda store, name: store.search(ADA, "x", conversation=name),
)

LIMITED: tuple[Callable[[Store, str, int], Awaitable[object]], ...] = (
    lambda store, name, limit: store.list(ADA, limit=limit),
    lambda store, name, limit: store.list("acme", limit=limit),
    lambda store, name, limit: store.newest(ADA, name, limit=limit),
    lambda store, name, limit: store.newest(ADA, name, before=1, limit=limit),
    lambda store, name, limit: store.after(ADA, name, 1, limit=limit),
    lambda store, name, limit: store.log(ADA, name, Cursor(), limit=limit),
    lambda store, name, limit: store.operations.expired(MINUTE, limit=limit),
    lambda store, name, limit: store.search(ADA, "hello", limit=limit),
)


@pytest.mark.asyncio
class TestBadInput:
    async def test_an_id_that_could_harm_is_refused(self, store: Store) -> None:
        await new(store, ADA, "hello")
        for call, bad in product(BY_ID, BAD_IDS):
            async with refused(store, InvalidId):
                await call(store, bad)

    async def test_a_limit_that_is_not_between_1_and_1000_is_refused(self, store: Store) -> None:
        name = await new(store, ADA, "hello")
        for call, limit in product(LIMITED, (0, -1, 1001, True, 2**31, 2**63, 2**70)):
            async with refused(store, InvalidLimit):
                await call(store, name, limit)
        for call, limit in product(LIMITED, (1, 1000)):
            await call(store, name, limit)

    @pytest.mark.parametrize(
        "body",
        [
            Message(role=Role.ASSISTANT, blocks=({"type": "raw", "text": "x" * MAX_BYTES},)),  # type: ignore[arg-type]
            Message(role=Role.USER, content="é" * (MAX_BYTES // 2 + 1)),
            Message(role=Role.USER, content="x" * (10 * MAX_BYTES)),
            StateChange(set={"key": "x" * MAX_BYTES}, depth=1),
        ],
        ids=["blocks", "two-byte characters", "ten times the limit", "state"],
    )
    async def test_an_entry_over_the_limit_is_refused(self, store: Store, body: Appendable) -> None:
        name = await new(store, ADA, "hello")
        async with refused(store, ContentTooLarge):
            await store.append(ADA, name, Append(bodies=(body,)))

    async def test_a_message_over_the_limit_begins_no_turn_and_queues_none(self, store: Store) -> None:
        name = await new(store, ADA, "hello")
        begin = Begin(message=asked("x" * (MAX_BYTES + 1)), owner="one", lease_for=MINUTE)
        async with refused(store, ContentTooLarge):
            await store.begin(ADA, name, begin)
        await running(store, name)
        async with refused(store, ContentTooLarge):
            await store.begin(ADA, name, begin)

    async def test_an_append_of_nothing_is_refused(self, store: Store) -> None:
        name = await new(store, ADA, "hello")
        async with refused(store, InvalidValue):
            await store.append(ADA, name, Append())

    async def test_a_turn_is_settled_only_with_a_lease_and_only_as_waiting_or_ended(self, store: Store) -> None:
        name = await new(store, ADA, "hello")
        lease = await running(store, name)
        async with refused(store, InvalidValue):
            await store.append(ADA, name, Append(settle=TurnChange(state=TurnState.COMPLETED)))
        for state in (TurnState.QUEUED, TurnState.RUNNING):
            async with refused(store, InvalidValue):
                await settle(store, lease, state=state)

    async def test_a_turn_without_a_message_needs_an_entry_to_answer(self, store: Store) -> None:
        name = await new(store, ADA, "hello")
        for parent in (None, ROOT):
            async with refused(store, InvalidParent):
                await store.begin(ADA, name, Begin(parent=parent, owner="one", lease_for=MINUTE))

    async def test_metadata_over_the_limit_is_refused(self, store: Store) -> None:
        name = await new(store, ADA, "hello")
        async with refused(store, MetadataTooLarge):
            await store.update(ADA, name, Update(metadata={"key": "x" * MAX_BYTES}))

    async def test_a_cursor_of_a_longer_conversation_is_refused(self, store: Store) -> None:
        short, long = await new(store, ADA, "1"), await new(store, ADA, *"1234")
        place = Cursor.decode(Cursor(seq=4).encode(long), long)
        assert (await store.log(ADA, long, place)).entries == ()
        async with refused(store, InvalidCursor):
            await store.log(ADA, short, place)

    async def test_text_that_is_no_text_is_refused_where_models_do_not_check(self, store: Store) -> None:
        async with refused(store, InvalidText):
            await store.search(ADA, "\udc80")
        async with refused(store, InvalidCursor):
            await store.list(ADA, after="\udc80")
