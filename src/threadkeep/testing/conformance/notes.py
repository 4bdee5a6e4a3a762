"""Notes: small texts by tenant and name, of which each change is one's own."""

import pytest

from threadkeep.store.base import Store
from threadkeep.store.notes import Note
from threadkeep.testing.stores import OpenAnother


@pytest.mark.asyncio
class TestNotes:
    async def test_a_note_is_written_changed_and_removed_by_who_knows_its_version(self, store: Store) -> None:
        notes = store.operations.notes
        assert await notes.read("acme", ["a"]) == {}
        assert await notes.write("acme", "a", "one")
        assert not await notes.write("acme", "a", "again")
        assert await notes.write("acme", "a", "two", 1)
        assert not await notes.write("acme", "a", "late", 1)
        assert await notes.read("acme", ["a", "b"]) == {"a": Note(2, "two")}
        assert not await notes.write("acme", "a", None, 1)
        assert not await notes.write("acme", "a", None)
        assert await notes.write("acme", "a", None, 2)
        assert await notes.read("acme", ["a"]) == {}

    async def test_notes_are_listed_by_the_beginnings_of_their_names_and_by_tenant(self, store: Store) -> None:
        notes = store.operations.notes
        for name in ("x/2", "x/1", "y/1", "x", "x/3"):
            assert await notes.write("acme", name, name)
        assert await notes.write("umbrella", "y/1", "theirs")
        assert [name for name, _ in await notes.list("acme", "x/")] == ["x/1", "x/2", "x/3"]
        assert await notes.list("acme", "x/", after="x/1", limit=1) == [("x/2", Note(1, "x/2"))]
        assert await notes.list("nobody", "x/") == []
        assert (await notes.tenants("y/"), await notes.tenants("x/")) == (("acme", "umbrella"), ("acme",))

    async def test_of_two_handles_one_writes(self, store: Store, open_another: OpenAnother) -> None:
        other = await open_another()
        assert await store.operations.notes.write("acme", "lease", "mine")
        assert not await other.operations.notes.write("acme", "lease", "mine")
        assert await other.operations.notes.write("acme", "lease", "taken", 1)
        assert not await store.operations.notes.write("acme", "lease", "still mine", 1)
        await other.close()
