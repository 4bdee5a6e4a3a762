"""The memory of conversations: what a copy holds that is made from it, and what is forgotten."""

import pytest

from threadkeep.conversation.message import Message
from threadkeep.conversation.state import StateChange
from threadkeep.runtime import open_store
from threadkeep.store.spool import memory
from threadkeep.store.spool.memory import Memory
from threadkeep.store.values import Append, Import
from threadkeep.testing.samples import ADA, BOB, new, say


def _texts(imported: Import) -> list[str | None]:
    return [entry.body.content if isinstance(entry.body, Message) else None for entry in imported.entries]


async def test_a_copy_begins_with_the_first_entry_that_is_known_and_holds_places_for_the_others() -> None:
    store, known = await open_store("memory:"), Memory()
    name = await new(store, ADA, "1", "2", "3", "4", "5", "6")
    assert known.copy(ADA, name) is None
    known.learn(ADA, name, await store.newest(ADA, name, limit=1))
    assert known.copy(ADA, name) is None, "whose it is and who answers is not known"
    known.learn(ADA, name, (await store.entry(ADA, name, 4),))
    known.learn(ADA, name, await store.get(ADA, name))
    found = known.copy(ADA, name)
    assert found is not None
    copy, imported = found
    assert (copy.shift, copy.base, _texts(imported)) == (3, 6, ["4", None, "6"])
    assert [entry.parent for entry in imported.entries] == [None, None, None]
    assert copy.answers
    assert known.copy(BOB, name) is None


async def test_a_state_that_is_known_in_part_answers_nothing() -> None:
    store, known = await open_store("memory:"), Memory()
    name = await new(store, ADA, "1")
    await store.append(ADA, name, Append(bodies=(StateChange(set={"a": 1}, depth=1),)))
    known.learn(ADA, name, await store.get(ADA, name))
    known.learn(ADA, name, await store.newest(ADA, name, limit=1))
    found = known.copy(ADA, name)
    assert found is not None
    assert not found[0].answers
    known.learn(ADA, name, await store.newest(ADA, name, limit=2))
    found = known.copy(ADA, name)
    assert found is not None
    assert found[0].answers


async def test_a_branch_that_was_chosen_is_the_one_that_goes_on() -> None:
    store, spool, known = await open_store("memory:"), await open_store("memory:"), Memory()
    name = await new(store, ADA, "1", "2")
    await say(store, name, "beside", parent=1)
    known.learn(ADA, name, await store.newest(ADA, name))
    known.learn(ADA, name, await store.newest(ADA, name, head=2))
    known.learn(ADA, name, await store.choose_head(ADA, name, 2))
    found = known.copy(ADA, name)
    assert found is not None
    await spool.import_entries(ADA, found[1])
    assert (await spool.get(ADA, name)).head == 2


async def test_what_was_used_longest_ago_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_CHARACTERS", 5000)
    store, known = await open_store("memory:"), Memory()
    names = [await new(store, ADA, "x" * 1500) for _ in range(4)]
    for name in names:
        known.learn(ADA, name, await store.get(ADA, name))
        known.learn(ADA, name, await store.newest(ADA, name))
    assert [known.copy(ADA, name) is not None for name in names] == [False, False, True, True]
    known.forget(ADA, names[3])
    assert [conversation.id for conversation in known.conversations(ADA)] == [names[2]]
