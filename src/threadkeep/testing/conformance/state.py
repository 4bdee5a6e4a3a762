"""State and summaries: what a branch adds up to at any of its entries."""

import pytest

from threadkeep.conversation.entry import Summary
from threadkeep.conversation.state import WHOLE_EVERY, State, StateChange
from threadkeep.errors import EntryNotFound, StaleVersion
from threadkeep.store.base import ROOT, Store
from threadkeep.store.values import Append
from threadkeep.testing.conformance.refusal import refused
from threadkeep.testing.samples import ADA, asked, new, say


async def _change(store: Store, name: str, *unset: str, parent: int | None = None, **values: object) -> int:
    """Change the state at `parent` (none: the head) as a caller would, and return the number of the change."""
    state = await store.state(ADA, name, at=parent)
    appended = await store.append(ADA, name, Append(bodies=(state.change(values, unset),), parent=parent))
    return appended.entries[0].seq


async def _summarise(store: Store, name: str, content: str, *, of: int) -> int:
    return (await store.append(ADA, name, Append(bodies=(Summary(content=content),), parent=of))).entries[0].seq


@pytest.mark.asyncio
class TestState:
    async def test_the_state_is_empty_where_nothing_was_set(self, store: Store) -> None:
        name = await new(store)
        assert await store.state(ADA, name) == State()
        await say(store, name, "hello")
        assert await store.state(ADA, name) == State()
        assert await store.state(ADA, name, at=1) == State()

    async def test_changes_add_up(self, store: Store) -> None:
        name = await new(store)
        await _change(store, name, city="Bern", size=2)
        await say(store, name, "hello")
        await _change(store, name, "size", city="Zürich", note="\x00")
        assert (await store.state(ADA, name)).values == {"city": "Zürich", "note": "\x00"}

    async def test_a_state_change_continues_the_branch_and_raises_the_version(self, store: Store) -> None:
        name = await new(store, ADA, "hello")
        await _change(store, name, city="Bern")
        conversation = await store.get(ADA, name)
        assert (conversation.version, conversation.head) == (2, 2)
        assert [entry.seq for entry in await store.newest(ADA, name)] == [1, 2]
        assert (await say(store, name, "on"))[0].parent == 2

    async def test_a_message_and_a_state_change_are_stored_in_one_step(self, store: Store) -> None:
        name = await new(store)
        bodies = (asked("I live in Bern"), State().change({"city": "Bern"}))
        append = Append(bodies=bodies, expected_version=1)
        await store.append(ADA, name, append)
        async with refused(store, StaleVersion):
            await store.append(ADA, name, append)
        assert (await store.state(ADA, name, at=1)).values == {}
        assert (await store.state(ADA, name, at=2)).values == {"city": "Bern"}

    async def test_the_state_is_known_as_of_every_entry(self, store: Store) -> None:
        name = await new(store)
        for number in range(3 * WHOLE_EVERY):
            await _change(store, name, f"k{number - 5}", **{f"k{number}": number, "last": number})
        assert (await store.get(ADA, name)).version == 1 + 3 * WHOLE_EVERY
        for number in (0, 1, WHOLE_EVERY - 2, WHOLE_EVERY - 1, WHOLE_EVERY, 2 * WHOLE_EVERY, 3 * WHOLE_EVERY - 1):
            expected = {f"k{at}": at for at in range(max(0, number - 4), number + 1)} | {"last": number}
            assert (await store.state(ADA, name, at=number + 1)).values == expected

    async def test_a_branch_brings_back_the_state_it_had(self, store: Store) -> None:
        name = await new(store, ADA, "hello")
        await _change(store, name, city="Bern")
        await say(store, name, "on")
        await _change(store, name, city="Zürich", zip=8000)
        other = await _change(store, name, parent=2, colour="red")
        assert (await store.state(ADA, name)).values == {"city": "Bern", "colour": "red"}
        assert (await store.state(ADA, name, at=4)).values == {"city": "Zürich", "zip": 8000}
        assert (await store.state(ADA, name, at=3)).values == {"city": "Bern"}
        await store.choose_head(ADA, name, 3)
        assert (await store.state(ADA, name)).values == {"city": "Bern"}
        assert (await store.state(ADA, name, at=other)).values == {"city": "Bern", "colour": "red"}
        await store.choose_head(ADA, name, ROOT)
        assert (await store.state(ADA, name)).values == {}

    async def test_changes_that_two_writers_made_of_the_same_state_add_up(self, store: Store) -> None:
        name = await new(store)
        seen = await store.state(ADA, name)
        await store.append(ADA, name, Append(bodies=(seen.change({"a": 1}),)))
        await store.append(ADA, name, Append(bodies=(seen.change({"b": 2}),)))
        assert (await store.state(ADA, name)).values == {"a": 1, "b": 2}

    async def test_a_whole_change_forgets_what_was_before(self, store: Store) -> None:
        name = await new(store)
        await _change(store, name, a=1)
        await store.append(ADA, name, Append(bodies=(StateChange(set={"b": 2}, whole=True),)))
        assert (await store.state(ADA, name)).values == {"b": 2}

    async def test_the_state_at_a_remark_or_a_missing_entry_is_not_found(self, store: Store) -> None:
        name = await new(store, ADA, "hello")
        remark = await _summarise(store, name, "they met", of=1)
        for at in (remark, 99, -1, 2**63, 2**70):
            async with refused(store, EntryNotFound):
                await store.state(ADA, name, at=at)

    async def test_the_newest_summary_of_a_branch_is_the_one_stored_last(self, store: Store) -> None:
        name = await new(store, ADA, *"1234")
        assert await store.summary(ADA, name) is None
        await _summarise(store, name, "up to three", of=3)
        newest = await _summarise(store, name, "up to two", of=2)
        found = await store.summary(ADA, name)
        assert found == await store.entry(ADA, name, newest)
        assert found.body == Summary(content="up to two")

    async def test_a_summary_of_another_branch_is_not_seen(self, store: Store) -> None:
        name = await new(store, ADA, *"1234")
        shared = await _summarise(store, name, "up to two", of=2)
        await _summarise(store, name, "up to four", of=4)
        await say(store, name, "other", parent=2)
        found = await store.summary(ADA, name)
        assert found is not None
        assert found.seq == shared
        theirs = await store.summary(ADA, name, head=4)
        assert theirs is not None
        assert theirs.body == Summary(content="up to four")
        assert await store.summary(ADA, name, head=1) is None
