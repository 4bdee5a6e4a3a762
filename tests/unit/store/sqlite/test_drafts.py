"""Text of many conversations: it shares commits, is refused one by one, and is told of when it is stored."""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path

import pytest

from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.turn import Lease
from threadkeep.errors import DraftMismatch, LeaseLost, StoreCorrupt, StoreUnavailable, ThreadkeepError
from threadkeep.store.base import MAX_BYTES
from threadkeep.store.changes import Change
from threadkeep.store.rules import AddedText
from threadkeep.store.sqlite.store import SqliteStore
from threadkeep.store.sqlite.writer import Writer
from threadkeep.store.sqlite.writing import SqliteEnd
from threadkeep.testing.samples import ADA, new, running


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[SqliteStore]:
    store = await SqliteStore.open(tmp_path / "one.db", utc_now, new_id, MAX_BYTES)
    yield store
    await store.close()


async def _leases(store: SqliteStore, count: int) -> list[Lease]:
    return [await running(store, await new(store)) for _ in range(count)]


async def _draft(store: SqliteStore, lease: Lease) -> str | None:
    draft = (await store.log(ADA, lease.conversation, Cursor(seq=2))).draft
    return draft.text if draft else None


def _commits(store: SqliteStore) -> int:
    assert isinstance(store.writer, Writer)
    return store.writer.commits


async def test_the_texts_of_many_conversations_share_a_commit(store: SqliteStore) -> None:
    leases = await _leases(store, 20)
    before = _commits(store)
    await asyncio.gather(*(store.write(lease, "m", 0, f"{at}") for at, lease in enumerate(leases)))
    assert _commits(store) == before + 1
    assert [await _draft(store, lease) for lease in leases] == [f"{at}" for at in range(20)]


async def test_texts_that_come_soon_after_a_commit_wait_for_each_other(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    leases = await _leases(store, 5)
    groups: list[int] = []
    add_texts = store._log.add_texts

    def add(texts: Sequence[AddedText], check: Callable[[SqliteEnd, AddedText], None]) -> list[ThreadkeepError | None]:
        groups.append(len(texts))
        return add_texts(texts, check)

    monkeypatch.setattr(store._log, "add_texts", add)
    monkeypatch.setattr("threadkeep.store.sqlite.drafts.PACE_SECONDS", 0.5)
    await asyncio.gather(*(store.write(lease, "m", 0, "one") for lease in leases))
    waiting = []
    for lease in leases:
        waiting.append(asyncio.ensure_future(store.write(lease, "m", 3, "two")))
        # Each in a round of its own, as the words of different models come.
        await asyncio.sleep(0)
        await asyncio.sleep(0)
    await asyncio.gather(*waiting)
    assert groups == [5, 5]


async def test_the_first_text_of_a_message_waits_for_nobody_and_takes_what_waits_along(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("threadkeep.store.sqlite.drafts.PACE_SECONDS", 3600.0)
    one, other = await _leases(store, 2)
    await store.write(one, "m", 0, "One ")
    waiting = asyncio.ensure_future(store.write(one, "m", 4, "more"))
    await asyncio.sleep(0)
    async with asyncio.timeout(30):
        await store.write(other, "m", 0, "Two")
        await waiting
    assert [await _draft(store, lease) for lease in (one, other)] == ["One more", "Two"]


async def test_a_text_that_is_refused_is_refused_alone(store: SqliteStore) -> None:
    good, other = await _leases(store, 2)
    gone = other.model_copy(update={"conversation": new_id()})
    texts = [(good, 0, "One "), (other, 7, "nowhere"), (gone, 0, "nobody's"), (good, 4, "more"), (other, 0, "Two")]
    wrote = await asyncio.gather(
        *(store.write(lease, "m", at, text) for lease, at, text in texts), return_exceptions=True
    )
    assert [type(answer) for answer in wrote] == [type(None), DraftMismatch, LeaseLost, type(None), type(None)]
    assert [await _draft(store, lease) for lease in (good, other)] == ["One more", "Two"]


async def test_text_for_damaged_conversations_tells_that_the_store_is_damaged_until_some_can_be_written(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    leases = await _leases(store, 3)

    def damaged(*given: object) -> None:
        raise StoreCorrupt("An entry is damaged.")

    with monkeypatch.context() as patch:
        patch.setattr(store._log, "end", damaged)
        answers = await asyncio.gather(*(store.write(each, "m", 0, "x") for each in leases), return_exceptions=True)
    assert [type(answer) for answer in answers] == [StoreCorrupt] * 3
    with pytest.raises(StoreCorrupt):
        store._damage.check()
    await store.write(leases[0], "m", 0, "x")
    store._damage.check()


async def test_readers_are_told_of_a_text_when_it_is_stored_and_before_its_writer_goes_on(store: SqliteStore) -> None:
    (lease,) = await _leases(store, 1)
    told: list[tuple[Change, int]] = []
    store.listeners = (lambda change: told.append((change, _commits(store))),)
    before = _commits(store)
    writing = store.write(lease, "m", 0, "Well")
    assert told == []
    await writing
    assert told == [(Change(lease.scope, lease.conversation, False, ("m", 0, "Well")), before + 1)]


async def test_nobody_is_told_of_text_when_the_commit_fails(
    store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    leases = await _leases(store, 3)
    told: list[Change] = []
    store.listeners = (told.append,)

    def fail() -> None:
        raise MemoryError

    with monkeypatch.context() as patch:
        patch.setattr(store.writer, "_begun", fail)
        answers = await asyncio.gather(*(store.write(each, "m", 0, "lost") for each in leases), return_exceptions=True)
    assert [type(answer) for answer in answers] == [StoreUnavailable] * 3
    assert told == []
    # What was read in the transaction that failed is not believed.
    await asyncio.gather(*(store.write(each, "m", 0, "kept") for each in leases))
    assert [await _draft(store, each) for each in leases] == ["kept"] * 3


async def test_text_that_was_taken_is_stored_before_the_store_closes(tmp_path: Path) -> None:
    store = await SqliteStore.open(tmp_path / "two.db", utc_now, new_id, MAX_BYTES)
    first, second = await _leases(store, 2)
    await store.write(first, "m", 0, "one")
    writing = store.write(second, "m", 0, "two")
    async with asyncio.timeout(30):
        await store.close()
        await writing
    with pytest.raises(StoreUnavailable):
        await store.write(first, "m", 3, "more")
    again = await SqliteStore.open(tmp_path / "two.db", utc_now, new_id, MAX_BYTES)
    assert await _draft(again, second) == "two"
    await again.close()
