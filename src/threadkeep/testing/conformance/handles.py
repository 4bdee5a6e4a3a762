"""Handles: several on the same data, writing at once; closing."""

import asyncio
from contextlib import suppress

import pytest

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.entry import Update
from threadkeep.errors import AlreadyExists, StaleVersion
from threadkeep.store.base import Store
from threadkeep.store.values import Append
from threadkeep.testing.samples import ADA, answered, asked, new, running, say, settle, texts_of
from threadkeep.testing.stores import OpenAnother, everything, whole_log


@pytest.mark.asyncio
class TestHandles:
    async def test_what_was_released_is_read_again_and_nothing_is_lost(self, store: Store) -> None:
        name = await new(store, ADA, "before")
        lease = await running(store, name)
        await store.write(lease, "m1", 0, "half an ")
        before = await everything(store, ADA)
        await store.operations.release()
        assert await everything(store, ADA) == before
        await store.write(lease, "m1", 8, "answer")
        await settle(store, lease, answered("half an answer").model_copy(update={"id": "m1"}))
        assert texts_of(await store.newest(ADA, name)) == ["before", "hello", "half an answer"]

    async def test_a_store_that_works_can_be_pinged(self, store: Store) -> None:
        name = await new(store, ADA, "hello")
        before = await everything(store, ADA)
        await store.operations.ping()
        assert await everything(store, ADA) == before
        assert (await store.get(ADA, name)).entries == 1

    async def test_closing_twice_is_closing_once(self, open_another: OpenAnother) -> None:
        opened = await open_another()
        await opened.close()
        await opened.close()

    async def test_what_one_handle_stored_the_other_sees_at_once(self, store: Store, open_another: OpenAnother) -> None:
        other = await open_another()
        name = await new(store, ADA, "one")
        await say(other, name, "two")
        lease = await running(store, name)
        await other.write(lease, "m1", 0, "half")
        await store.update(ADA, name, Update(title="seen"))
        await other.choose_head(ADA, name, 1)
        assert await everything(other, ADA) == await everything(store, ADA)
        assert (await store.get(ADA, name)).head == 1
        assert (await other.get(ADA, name)).title == "seen"
        await store.delete(ADA, name)
        assert await everything(other, ADA) == await everything(store, ADA)
        await other.close()

    async def test_appends_at_once_through_two_handles_are_all_stored_without_a_gap(
        self, store: Store, open_another: OpenAnother
    ) -> None:
        name = await new(store)
        other = await open_another()
        stored = await asyncio.gather(
            *(say(handle, name, f"{at} a", f"{at} b") for at, handle in enumerate((store, other) * 20))
        )
        entries, _ = await whole_log(store, ADA, name)
        assert [entry.seq for entry in entries] == list(range(1, 81))
        assert sorted(entry.seq for pair in stored for entry in pair) == list(range(1, 81))
        assert [entry.parent for entry in entries] == [None, *range(1, 80)]
        texts = texts_of(entries)
        for at in range(40):
            place = texts.index(f"{at} a")
            assert texts[place + 1] == f"{at} b"
        await other.close()

    async def test_handles_that_write_for_long_at_once_do_not_disturb_each_other(
        self, store: Store, open_another: OpenAnother
    ) -> None:
        name = await new(store)
        other = await open_another()
        for _ in range(500):
            await asyncio.gather(say(store, name, "x " * 50), say(other, name, "y " * 50))
        assert (await store.get(ADA, name)).entries == 1000
        await other.close()

    async def test_appends_to_many_conversations_at_once_keep_apart(
        self, store: Store, open_another: OpenAnother
    ) -> None:
        other = await open_another()
        names = [await new(store) for _ in range(8)]

        async def fill(handle: Store, name: str) -> None:
            for number in range(10):
                await say(handle, name, f"{number} of {name}")

        await asyncio.gather(*(fill((store, other)[at % 2], name) for at, name in enumerate(names)))
        for name in names:
            assert texts_of(await store.newest(ADA, name)) == [f"{number} of {name}" for number in range(10)]
        await other.close()

    async def test_writes_of_many_turns_at_once_are_all_kept(self, store: Store) -> None:
        leases = [await running(store, await new(store)) for _ in range(8)]
        for number in range(10):
            await asyncio.gather(*(store.write(lease, "m1", number, str(number)) for lease in leases))
        for lease in leases:
            _, draft = await whole_log(store, ADA, lease.conversation)
            assert draft is not None
            assert draft.text == "0123456789"

    async def test_of_updates_that_expect_the_same_version_one_wins(
        self, store: Store, open_another: OpenAnother
    ) -> None:
        name = await new(store)
        other = await open_another()
        results = await asyncio.gather(
            *(
                handle.update(ADA, name, Update(title=f"{at}"), expected_version=1)
                for at, handle in enumerate((store, other) * 3)
            ),
            return_exceptions=True,
        )
        losers = [result for result in results if isinstance(result, StaleVersion)]
        assert len(losers) == 5
        assert {loser.version for loser in losers} == {2}
        (winner,) = (result for result in results if not isinstance(result, BaseException))
        assert await store.get(ADA, name) == winner
        await other.close()

    async def test_of_creates_with_the_same_id_one_wins(self, store: Store, open_another: OpenAnother) -> None:
        other = await open_another()
        results = await asyncio.gather(
            *(
                handle.create(ADA, NewConversation(id="same", title=f"{at}"))
                for at, handle in enumerate((store, other) * 3)
            ),
            return_exceptions=True,
        )
        assert sum(isinstance(result, AlreadyExists) for result in results) == 5
        (winner,) = (result for result in results if not isinstance(result, BaseException))
        assert (await store.get(ADA, "same")).title == winner.conversation.title
        await other.close()

    async def test_a_cancelled_append_leaves_the_store_usable(self, store: Store) -> None:
        name = await new(store)
        task = asyncio.ensure_future(store.append(ADA, name, Append(bodies=(asked("cancelled"),))))
        await asyncio.sleep(0)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
        await say(store, name, "after")
        entries, _ = await whole_log(store, ADA, name)
        assert texts_of(entries)[-1] == "after"
        assert [entry.seq for entry in entries] == list(range(1, len(entries) + 1))
