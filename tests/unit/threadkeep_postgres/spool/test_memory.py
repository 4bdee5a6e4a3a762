"""The memory of conversations: what a copy holds that is made from it, what may be known of keys, what is forgotten."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.scope import Scope
from threadkeep.conversation.state import StateChange
from threadkeep.errors import StoreUnavailable
from threadkeep.runtime import open_store
from threadkeep.store.base import MAX_BYTES, Store
from threadkeep.store.values import Append, Begin
from threadkeep.testing.samples import ADA, BOB, MINUTE, answered, asked, key, new, say, settle, texts_of
from threadkeep_postgres.spool import memory
from threadkeep_postgres.spool.memory import Known, Memory, Remembering
from threadkeep_postgres.spool.spool_file import Holding, SpoolFile


class Reader:
    """Asks a store, and has what it answers remembered."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.memory = Memory()

    async def ask(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        answer = await getattr(self._store, verb)(*args, **kwargs)
        place: Sequence[Any] = args if isinstance(args[0], Scope) else (args[0].scope, args[0].conversation)
        self.memory.learn(verb, place[0], place[1], args, answer)
        return answer

    def known(self, name: str) -> Known:
        found = self.memory.find(ADA, name)
        assert found is not None
        return found

    def held(self, name: str) -> Holding:
        held = self.known(name).hold(ADA)
        assert held is not None
        return held


async def _reader() -> tuple[Store, Reader]:
    store = await open_store("memory:")
    return store, Reader(store)


async def _spool(folder: Path) -> SpoolFile:
    return await SpoolFile.open_in(folder, utc_now, new_id, MAX_BYTES)


async def test_a_copy_begins_with_the_first_entry_that_is_known_and_keeps_its_number(tmp_path: Path) -> None:
    store, reader = await _reader()
    name = await new(store, ADA, "1", "2", "3", "4", "5", "6")
    assert reader.memory.find(ADA, name) is None
    await reader.ask("newest", ADA, name, limit=2)
    assert reader.known(name).hold(ADA) is None, "whose it is and who answers is not known"
    whole = await reader.ask("get", ADA, name)
    assert reader.memory.find(BOB, name) is None
    spool = await _spool(tmp_path)
    await spool.hold(reader.held(name))
    assert [(entry.seq, entry.parent) for entry in await spool.newest(ADA, name)] == [(5, None), (6, 5)]
    assert (await spool.get(ADA, name)).version == whole.version
    appended = await spool.append(ADA, name, Append(bodies=(asked("7"),)))
    assert [(entry.seq, entry.parent) for entry in appended.entries] == [(7, 6)]
    assert texts_of(await spool.newest(ADA, name)) == ["5", "6", "7"]
    await spool.close()


async def test_a_conversation_of_which_the_newest_entries_are_not_known_is_not_held() -> None:
    store, reader = await _reader()
    name = await new(store, ADA, "1", "2")
    await reader.ask("get", ADA, name)
    assert reader.known(name).hold(ADA) is None


async def test_a_state_that_is_known_in_part_answers_nothing() -> None:
    store, reader = await _reader()
    name = await new(store, ADA, "1")
    await store.append(ADA, name, Append(bodies=(StateChange(set={"a": 1}, depth=1), answered("2"))))
    await reader.ask("get", ADA, name)
    await reader.ask("newest", ADA, name, limit=2)
    assert not reader.held(name).copy.answers
    await reader.ask("newest", ADA, name, limit=3)
    assert reader.held(name).copy.answers


async def test_a_branch_that_was_chosen_is_the_one_that_goes_on(tmp_path: Path) -> None:
    store, reader = await _reader()
    name = await new(store, ADA, "1", "2")
    await say(store, name, "beside", parent=1)
    await reader.ask("newest", ADA, name)
    await reader.ask("newest", ADA, name, head=2)
    await reader.ask("choose_head", ADA, name, 2)
    spool = await _spool(tmp_path)
    await spool.hold(reader.held(name))
    assert (await spool.get(ADA, name)).head == 2
    await spool.close()


async def test_nothing_is_answered_while_a_turn_is_open_that_runs_elsewhere() -> None:
    store, reader = await _reader()
    name = await new(store, ADA, "1", "2")
    await reader.ask("get", ADA, name)
    await reader.ask("newest", ADA, name)
    assert reader.held(name).copy.answers
    begun = await store.begin(ADA, name, Begin(message=asked("3"), owner="other", lease_for=MINUTE))
    await reader.ask("log", ADA, name, Cursor(seq=2))
    assert not reader.held(name).copy.answers
    assert begun.lease is not None
    await settle(store, begun.lease, answered("4"))
    await reader.ask("get", ADA, name)
    assert reader.known(name).hold(ADA) is None, "others have written what was not read"
    await reader.ask("newest", ADA, name)
    assert reader.held(name).copy.answers


async def test_a_turn_that_was_taken_up_is_carried_along_only_when_all_of_it_is_known() -> None:
    store, reader = await _reader()
    name = await new(store, ADA, "1", "2")
    await store.begin(ADA, name, Begin(message=asked("3"), owner="other", lease_for=MINUTE))
    (turn,) = await store.turns(ADA, name)
    await reader.ask("get", ADA, name)
    await reader.ask("newest", ADA, name)
    lease = await reader.ask("take", turn, "one", MINUTE)
    held = reader.held(name).copy
    assert (held.lease, held.base) == (None, 5)
    await reader.ask("log", ADA, name, Cursor(seq=turn.number - 1))
    await reader.ask("write", lease, "m", 0, "fo")
    await reader.ask("write", lease, "m", 2, "ur")
    assert (reader.held(name).copy.lease, reader.held(name).draft) == (lease, ("m", "four"))
    await reader.ask(
        "append", ADA, name, Append(bodies=(answered("four").model_copy(update={"id": "m"}),), lease=lease)
    )
    assert reader.held(name).draft == ("", "")


async def test_a_turn_that_was_queued_before_the_first_entry_that_is_known_is_not_carried_along(tmp_path: Path) -> None:
    store, reader = await _reader()
    name = await new(store, ADA, "1", "2")
    running = await store.begin(ADA, name, Begin(message=asked("3"), owner="other", lease_for=MINUTE))
    queued = await store.begin(ADA, name, Begin(message=asked("5"), owner="other", lease_for=MINUTE))
    assert running.lease is not None
    await settle(store, running.lease, answered("4"))
    await store.start(ADA, name, "other", MINUTE)
    (turn,) = await store.turns(ADA, name)
    await reader.ask("get", ADA, name)
    lease = await reader.ask("take", turn, "one", MINUTE)
    await reader.ask("log", ADA, name, Cursor(seq=queued.turn - 1))
    await reader.ask("write", lease, "m", 0, "si")
    held, spool = reader.held(name), await _spool(tmp_path)
    assert (held.copy.first > lease.turn, held.copy.lease, held.copy.answers) == (True, None, False)
    await spool.hold(held)
    assert texts_of(await spool.newest(ADA, name)) == ["4", "5"]
    await spool.close()


async def test_a_message_with_the_text_of_one_of_which_the_key_is_not_known_may_be_that_one() -> None:
    store, reader = await _reader()
    name = await new(store, ADA, "from elsewhere")
    await reader.ask("newest", ADA, name)
    for text, named in (("keyed", key("k")), ("without", None)):
        await reader.ask("append", ADA, name, Append(bodies=(asked(text),), key=named))

    def may_have(text: str, named: str) -> bool:
        begin = Begin(message=asked(text), owner="one", lease_for=MINUTE, key=key(named))
        return reader.known(name).may_have(ADA, begin)

    assert may_have("from elsewhere", "new")
    assert not may_have("new", "new")
    assert not may_have("keyed", "k")
    assert not may_have("without", "new")


async def test_what_was_used_longest_ago_is_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "MOST_CHARACTERS", 6000)
    store, reader = await _reader()
    names = [await new(store, ADA, "x" * 1500) for _ in range(4)]
    for name in names:
        await reader.ask("get", ADA, name)
        await reader.ask("newest", ADA, name)
    assert [reader.memory.find(ADA, name) is not None for name in names] == [False, False, True, True]
    reader.memory.forget(ADA, names[3])
    assert [conversation.id for conversation in reader.memory.conversations(ADA)] == [names[2]]


async def test_what_was_answered_is_answered_again_in_an_outage_until_it_may_be_different() -> None:
    is_away = False

    async def ask(verb: Any, *args: Any) -> Any:
        if is_away:
            raise StoreUnavailable
        return await verb(*args)

    keyring = Remembering((await open_store("memory:")).keyring, ask)
    secret = await keyring.secret()
    is_away = True
    assert await keyring.secret() == secret
    is_away = False
    await keyring.forget(ADA)
    is_away = True
    with pytest.raises(StoreUnavailable):
        await keyring.secret()
