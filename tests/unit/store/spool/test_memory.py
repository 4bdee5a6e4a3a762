"""The memory of conversations: what a copy holds that is made from it, what may be known of keys, what is forgotten."""

from pathlib import Path

import pytest

from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.state import StateChange
from threadkeep.runtime import open_store
from threadkeep.store.base import MAX_BYTES
from threadkeep.store.spool import memory
from threadkeep.store.spool.memory import Known, Memory, holding
from threadkeep.store.spool.spool_file import SpoolFile
from threadkeep.store.values import Append, Begin
from threadkeep.testing.samples import ADA, BOB, MINUTE, answered, asked, key, new, say, settle, texts_of


def _of(known: Memory, name: str) -> Known:
    found = known.find(ADA, name)
    assert found is not None
    return found


async def test_a_copy_begins_with_the_first_entry_that_is_known_and_keeps_its_number(tmp_path: Path) -> None:
    store, known = await open_store("memory:"), Memory()
    name = await new(store, ADA, "1", "2", "3", "4", "5", "6")
    assert known.find(ADA, name) is None
    known.learn(ADA, name, await store.newest(ADA, name, limit=2))
    assert holding(_of(known, name)) is None, "whose it is and who answers is not known"
    known.learn(ADA, name, await store.get(ADA, name))
    assert known.find(BOB, name) is None
    held = holding(_of(known, name))
    assert held is not None
    spool = await SpoolFile.open_in(tmp_path, utc_now, new_id, MAX_BYTES)
    await spool.hold(ADA, held)
    assert [(entry.seq, entry.parent) for entry in await spool.newest(ADA, name)] == [(5, None), (6, 5)]
    appended = await spool.append(ADA, name, Append(bodies=(asked("7"),)))
    assert [(entry.seq, entry.parent) for entry in appended.entries] == [(7, 6)]
    assert texts_of(await spool.newest(ADA, name)) == ["5", "6", "7"]
    await spool.close()


async def test_a_state_that_is_known_in_part_answers_nothing() -> None:
    store, known = await open_store("memory:"), Memory()
    name = await new(store, ADA, "1")
    await store.append(ADA, name, Append(bodies=(StateChange(set={"a": 1}, depth=1), answered("2"))))
    known.learn(ADA, name, await store.get(ADA, name))
    known.learn(ADA, name, await store.newest(ADA, name, limit=2))
    assert not _of(known, name).is_enough
    known.learn(ADA, name, await store.newest(ADA, name, limit=3))
    assert _of(known, name).is_enough


async def test_a_branch_that_was_chosen_is_the_one_that_goes_on(tmp_path: Path) -> None:
    store, known = await open_store("memory:"), Memory()
    name = await new(store, ADA, "1", "2")
    await say(store, name, "beside", parent=1)
    known.learn(ADA, name, await store.newest(ADA, name))
    known.learn(ADA, name, await store.newest(ADA, name, head=2))
    known.learn(ADA, name, await store.choose_head(ADA, name, 2), by_us=True)
    held, spool = holding(_of(known, name)), await SpoolFile.open_in(tmp_path, utc_now, new_id, MAX_BYTES)
    assert held is not None
    await spool.hold(ADA, held)
    assert (await spool.get(ADA, name)).head == 2
    await spool.close()


async def test_nothing_is_answered_while_a_turn_is_open_that_runs_elsewhere() -> None:
    store, known = await open_store("memory:"), Memory()
    name = await new(store, ADA, "1", "2")
    known.learn(ADA, name, await store.get(ADA, name))
    known.learn(ADA, name, await store.newest(ADA, name))
    known.note_turns(ADA, name, await store.turns(ADA, name))
    assert _of(known, name).is_enough
    begun = await store.begin(ADA, name, Begin(message=asked("3"), owner="other", lease_for=MINUTE))
    known.learn(ADA, name, begun.entries)
    assert not _of(known, name).is_enough
    assert begun.lease is not None
    await settle(store, begun.lease, answered("4"))
    known.learn(ADA, name, await store.get(ADA, name))
    assert not _of(known, name).is_enough, "others have written what was not read"
    known.learn(ADA, name, await store.newest(ADA, name))
    assert _of(known, name).is_enough


async def test_a_turn_that_was_taken_up_is_carried_along_only_when_all_of_it_is_known() -> None:
    store, known = await open_store("memory:"), Memory()
    name = await new(store, ADA, "1", "2")
    await store.begin(ADA, name, Begin(message=asked("3"), owner="other", lease_for=MINUTE))
    (turn,) = await store.turns(ADA, name)
    known.learn(ADA, name, await store.get(ADA, name))
    known.learn(ADA, name, await store.newest(ADA, name))
    known.learn(ADA, name, await store.take(turn, "one", MINUTE))
    held = holding(_of(known, name))
    assert held is not None
    assert held.lease is None
    known.learn(ADA, name, await store.log(ADA, name, Cursor(seq=turn.number - 1)))
    held = holding(_of(known, name))
    assert held is not None
    assert held.lease is not None


async def test_a_message_with_the_text_of_one_of_which_the_key_is_not_known_may_be_that_one() -> None:
    store, known = await open_store("memory:"), Memory()
    name = await new(store, ADA, "from elsewhere")
    known.learn(ADA, name, await store.newest(ADA, name))
    for text, named in (("keyed", key("k")), ("without", None)):
        known.note_sent(ADA, name, await store.append(ADA, name, Append(bodies=(asked(text),), key=named)), named)

    def may_have(text: str, named: str) -> bool:
        return known.may_have(ADA, name, key(named), asked(text))

    assert may_have("from elsewhere", "new")
    assert not may_have("new", "new")
    assert not may_have("keyed", "k")
    assert not may_have("without", "new")


async def test_what_was_used_longest_ago_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_CHARACTERS", 5000)
    store, known = await open_store("memory:"), Memory()
    names = [await new(store, ADA, "x" * 1500) for _ in range(4)]
    for name in names:
        known.learn(ADA, name, await store.get(ADA, name))
        known.learn(ADA, name, await store.newest(ADA, name))
    assert [known.find(ADA, name) is not None for name in names] == [False, False, True, True]
    known.forget(ADA, names[3])
    assert [conversation.id for conversation in known.conversations(ADA)] == [names[2]]
