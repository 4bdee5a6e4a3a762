"""Checksums: one flipped bit in the file is told or does no harm; it is never served as what was stored."""

import random
import shutil
import sys
from pathlib import Path
from typing import Any

import apsw
import pytest

from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.cursor import Cursor
from threadkeep.conversation.entry import Summary, Update
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.scope import LOCAL
from threadkeep.errors import StoreCorrupt, StoreError
from threadkeep.store.base import MAX_BYTES
from threadkeep.store.paging import walk
from threadkeep.store.sqlite.schema import checksum
from threadkeep.store.sqlite.store import SqliteStore
from threadkeep.store.values import Append
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import asked, key, new, running, say
from threadkeep.testing.stores import everything

FLIPS = 200
CHECKSUM = 175960259


async def _open(path: Path, clock: FakeClock) -> SqliteStore:
    return await SqliteStore.open(path, clock, new_id, MAX_BYTES)


@pytest.fixture
async def whole(tmp_path: Path, clock: FakeClock) -> Path:
    """A file with a little of everything."""
    store = await _open(tmp_path / "t.db", clock)
    for number in range(3):
        name = await new(
            store, LOCAL, *(f"words {number} {text} {'x' * text * 9}" for text in range(12)), name=f"c{number}"
        )
        await say(store, name, "another branch", scope=LOCAL, parent=3)
        await store.update(LOCAL, name, Update(title=f"title {number}", metadata={"a": number}))
        await store.append(LOCAL, name, Append(bodies=(Summary(content="summary"),), key=key(f"k{number}")))
        lease = await running(store, name, scope=LOCAL)
        await store.write(lease, "m1", 0, "half an answer")
    await store.create(LOCAL, NewConversation(id="created", system="be brief"), key=key("created"))
    await store.close()
    return tmp_path / "t.db"


async def _seen(path: Path, clock: FakeClock) -> list[Any]:
    """Return all that a user can see, also by search and by repeated keys."""
    store = await _open(path, clock)
    try:
        seen: list[Any] = [await everything(store, LOCAL)]
        for number in range(3):
            name = f"c{number}"
            seen.append([entry async for entry in walk(store, LOCAL, name)])
            seen.append([entry async for entry in walk(store, LOCAL, name, head=12)])
            seen.append((await store.log(LOCAL, name, Cursor())).draft)
            again = Append(bodies=(asked("x"),), key=key(f"k{number}"))
            seen.append(await store.append(LOCAL, name, again))
        return seen
    finally:
        await store.close()


async def test_a_flipped_bit_in_the_file_is_told_or_does_no_harm(whole: Path, clock: FakeClock) -> None:
    chance = random.Random(3)
    expected = await _seen(Path(shutil.copy(whole, whole.with_name("untouched.db"))), clock)
    data = whole.read_bytes()
    told, wrong = 0, []
    for number in range(FLIPS):
        bit = chance.randrange(len(data) * 8)
        path = whole.with_name(f"{number}.db")
        path.write_bytes(data[: bit // 8] + bytes([data[bit // 8] ^ (1 << bit % 8)]) + data[bit // 8 + 1 :])
        try:
            seen = await _seen(path, clock)
        except StoreError:
            told += 1
        else:
            wrong += [bit] if seen != expected else []
        path.unlink()
    assert wrong == []
    assert told > FLIPS / 40


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE entry SET parent = 2 WHERE seq = 4",
        "UPDATE entry SET created_at = created_at + 1 WHERE seq = 4",
        "UPDATE entry SET conversation = 9 WHERE conversation = 1 AND seq = 16",
        "UPDATE entry SET seq = 99 WHERE conversation = 1 AND seq = 5",
        "DELETE FROM entry WHERE conversation = 1 AND seq = 5",
        "DELETE FROM entry WHERE conversation = 1 AND seq = (SELECT max(seq) FROM entry WHERE conversation = 1)",
        "UPDATE conversation SET facts = json_object('title', 'other') WHERE key = 1",
        "UPDATE jump SET parent = 2 WHERE conversation = 1",
        "DELETE FROM jump WHERE conversation = 1",
        "UPDATE chunk SET text = 'half an answex' WHERE conversation = 1",
        "UPDATE key SET last = last - 1",
    ],
)
async def test_a_changed_or_missing_row_is_told(whole: Path, clock: FakeClock, damage: str) -> None:
    raw = apsw.Connection(str(whole))
    raw.execute(damage)
    assert raw.changes()
    raw.close()
    with pytest.raises(StoreCorrupt):
        await _seen(whole, clock)


async def test_what_is_damaged_is_not_sealed_anew_by_a_change(whole: Path, clock: FakeClock) -> None:
    raw = apsw.Connection(str(whole))
    raw.execute("UPDATE conversation SET large = json_object('system', 'be rude') WHERE key = 4")
    raw.close()
    store = await _open(whole, clock)
    with pytest.raises(StoreCorrupt):
        await store.update(LOCAL, "created", Update(title="new"))
    with pytest.raises(StoreCorrupt):
        await store.get(LOCAL, "created")
    await store.close()


def test_the_checksum_of_a_row_is_the_same_in_every_release_of_ours_and_of_python() -> None:
    assert checksum(1, -1, None, 2**40, b"bytes", "text", "Zürich") == CHECKSUM
    assert checksum(sys.intern("text")) == checksum("".join(["te", "xt"]))
