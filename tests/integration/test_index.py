"""The file of an index: it survives processes, kills and neighbours, and no other file is mistaken for one."""

import asyncio
import sqlite3
import subprocess
import sys
from pathlib import Path

import apsw
import pytest

from tests.unit.threadkeep_retrieval.counted_embeddings import CountedEmbeddings
from threadkeep.errors import PackageMissing
from threadkeep.store.sqlite_file import SqliteDatabase
from threadkeep_retrieval.base import Document, Filter, Query
from threadkeep_retrieval.errors import IndexUnusable, WrongEmbeddings
from threadkeep_retrieval.hybrid import Added, HybridIndex

WRITER = """
import asyncio, sys
from tests.unit.threadkeep_retrieval.counted_embeddings import CountedEmbeddings
from threadkeep_retrieval.base import Document
from threadkeep_retrieval.hybrid import HybridIndex

async def write(path: str, name: str, groups: int) -> None:
    index = HybridIndex.open(path, CountedEmbeddings())
    for group in range(groups):
        await index.add(Document(id=f"{name} {group} {n}", text="the sea " * 20) for n in range(20))
        print(group, flush=True)
    await index.close()

asyncio.run(write(sys.argv[1], sys.argv[2], int(sys.argv[3])))
"""


def writing(path: Path, name: str, groups: int) -> "subprocess.Popen[str]":
    arguments = [sys.executable, "-c", WRITER, str(path), name, str(groups)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "documents.index"


def opened(path: Path, name: str = "counted") -> HybridIndex:
    return HybridIndex.open(path, CountedEmbeddings(name))


async def groups(index: HybridIndex) -> dict[str, int]:
    """Return how many documents there are of each group."""
    found: dict[str, int] = {}
    after = ""
    while page := await index.documents(after=after):
        for each in page:
            group = each.id.rpartition(" ")[0]
            found[group] = found.get(group, 0) + 1
        after = page[-1].id
    return found


def assert_sound(path: Path) -> None:
    """Nothing in the file contradicts anything else in it."""
    database = apsw.Connection(str(path))
    assert database.pragma("integrity_check") == "ok"
    database.execute("INSERT INTO word (word) VALUES ('integrity-check')")
    counts = "SELECT (SELECT count(*) FROM passage), (SELECT count(*) FROM word)"
    passages, words = database.execute(counts).fetchone() or (0, 1)
    assert passages == words
    assert database.execute("SELECT count(*) FROM passage WHERE document NOT IN (SELECT key FROM document)").get == 0
    database.close()


async def test_what_was_added_is_there_after_a_restart(path: Path) -> None:
    document = Document(id="1", title="A title", text="the sea", metadata={"price": 449, "in_stock": True})
    async with opened(path) as index:
        await index.add([document])
    async with opened(path) as index:
        assert await index.document("1") == document
        assert await index.add([document]) == Added(0, 1)
        query = Query(text="sea", where=(Filter("price", "<", 500),))
        assert [passage.id for passage in await index.search(query)] == ["1"]
    assert sorted(each.name for each in path.parent.iterdir()) == [path.name]


async def test_an_index_can_be_opened_only_with_the_embeddings_that_made_it(path: Path) -> None:
    async with opened(path, "one") as index:
        await index.add([Document(id="1", text="sea")])
    with pytest.raises(WrongEmbeddings, match="made with the embeddings one, not with two"):
        opened(path, "two")
    assert HybridIndex.made_with(path) == "one"


async def test_the_name_can_be_asked_for_without_making_a_file(path: Path) -> None:
    assert HybridIndex.made_with(path) is None
    assert not path.exists()


async def test_a_process_that_is_killed_leaves_whole_groups(path: Path) -> None:
    with writing(path, "w", 10_000) as process:
        assert process.stdout is not None
        for _ in range(5):
            process.stdout.readline()
        process.kill()
    async with opened(path) as index:
        found = await groups(index)
        assert len(found) >= 5
        assert set(found.values()) == {20}
        assert len(await index.search(Query(text="sea"))) == 5
        await index.add([Document(id="w 0 0", text="a car")])
    assert_sound(path)


async def test_several_processes_write_and_one_reads_at_the_same_time(path: Path) -> None:
    async with opened(path) as index:
        writers = [writing(path, name, 15) for name in ("a", "b", "c")]
        while any(writer.poll() is None for writer in writers):
            found = await groups(index)
            # A page is one state of the index, so a group is never seen in part within the first thousand documents.
            assert sum(found.values()) > 900 or set(found.values()) <= {20}
            await index.search(Query(text="sea"))
        assert [writer.wait() for writer in writers] == [0, 0, 0]
        assert len(await groups(index)) == 45
    for writer in writers:
        assert writer.stdout is not None
        writer.stdout.close()
    assert_sound(path)


async def test_many_can_open_a_new_file_at_once(path: Path) -> None:
    indexes = await asyncio.gather(*(asyncio.to_thread(opened, path) for _ in range(8)))
    for number, index in enumerate(indexes):
        await index.add([Document(id=str(number), text="sea")])
    assert len(await indexes[0].documents()) == 8
    for index in indexes:
        await index.close()


@pytest.mark.parametrize("content", [b"This is no index, only a note. " * 100, b"SQLite format 3\0" + b"\xff" * 4096])
def test_a_file_that_is_none_is_refused_and_left_as_it_is(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    with pytest.raises(IndexUnusable):
        opened(path)
    with pytest.raises(IndexUnusable):
        HybridIndex.made_with(path)
    assert path.read_bytes() == content


def test_a_database_of_another_program_is_refused_and_left_as_it_is(path: Path) -> None:
    other = sqlite3.connect(path)
    other.execute("CREATE TABLE note (text)")
    other.commit()
    other.close()
    before = path.read_bytes()
    with pytest.raises(IndexUnusable, match="belongs to another program"):
        opened(path)
    assert path.read_bytes() == before
    assert sorted(each.name for each in path.parent.iterdir()) == [path.name]


async def test_an_index_of_a_newer_release_is_refused(path: Path) -> None:
    await opened(path).close()
    database = SqliteDatabase(str(path))
    database.pragma("user_version", 999)
    database.close()
    with pytest.raises(IndexUnusable, match="newer release"):
        opened(path)


async def test_damage_is_told_and_not_answered_with_nonsense(path: Path) -> None:
    async with opened(path) as index:
        await index.add(Document(id=str(n), text="the sea and a car " * 50) for n in range(200))
    content = bytearray(path.read_bytes())
    content[4096:-4096] = b"\xa5" * (len(content) - 8192)
    path.write_bytes(content)
    with pytest.raises(IndexUnusable):
        async with opened(path) as index:
            await index.search(Query(text="sea"))


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(IndexUnusable, match="no folder"):
        opened(tmp_path / "nowhere" / "documents.index")
    with pytest.raises(IndexUnusable, match="is a folder"):
        opened(tmp_path)


def test_without_the_package_for_vectors_the_line_that_installs_it_is_told(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "sqlite_vec", None)
    with pytest.raises(PackageMissing, match=r"pip install 'threadkeep\[retrieval\]'"):
        opened(path)


async def test_a_full_disk_is_told_and_the_index_stays_as_it_was(path: Path) -> None:
    async with opened(path) as index:
        await index.add([Document(id="1", text="sea")])
        pages = index._writer._database.pragma("page_count")
        index._writer._database.pragma("max_page_count", pages)
        with pytest.raises(IndexUnusable, match="full"):
            await index.add([Document(id="1", text="car"), Document(id="2", text="car " * 100_000)])
        assert [passage.id for passage in await index.search(Query(text="sea"))] == ["1"]
        assert len(await index.documents()) == 1
    assert_sound(path)
