"""Files of every kind: what comes in, twice without harm, and what is left when they are cut off or changed."""

import gzip
import io
import json
import random
from pathlib import Path

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from tests.unit.transfer.kinds import (
    CHATGPT,
    FOREIGN,
    HERE,
    MESSAGES,
    SESSION,
    as_json,
    database,
    ours,
    zipped,
)
from threadkeep import rings
from threadkeep.conversation.message import Message, Role
from threadkeep.errors import PackageMissing
from threadkeep.runtime import open_store
from threadkeep.store.base import Store
from threadkeep.testing.stores import everything, whole_log
from threadkeep.transfer.importer import Importer, Report
from threadkeep.transfer.jsonl import BEGINNING
from threadkeep.transfer.portable import MAX_PROBLEMS, ImportProblem
from threadkeep.transfer.sources import read_items, read_source

FLIPS = CUTS = 200
DATA = Path(__file__).parents[2] / "data"


async def _import(store: Store, path: Path, table: str | None = None) -> Report:
    importer = Importer(store, HERE)
    async for item in read_source(str(path), table):
        await importer.add(item)
    return importer.report


async def _said(store: Store, name: str) -> list[tuple[str, str]]:
    entries, _ = await whole_log(store, HERE, name)
    return [(entry.body.role.value, entry.body.content) for entry in entries if isinstance(entry.body, Message)]


@pytest.mark.asyncio
@pytest.mark.parametrize("kind", FOREIGN)
async def test_each_kind_goes_in_once(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(FOREIGN[kind](tmp_path / "made.db"))
    store = await open_store("memory:")
    report = await _import(store, path)
    assert (report.problems, report.added) == (
        [],
        2 if kind in ("messages on lines", "chatgpt numbered archive") else 1,
    )
    listed = (await store.list(HERE)).items
    assert all(conversation.title for conversation in listed), "a list would show it without a name"
    before = await everything(store, HERE)
    again = await _import(store, path)
    assert (again.problems, again.added, again.unchanged) == ([], 0, report.added)
    assert await everything(store, HERE) == before


@pytest.mark.asyncio
async def test_branches_times_and_the_head_are_kept(tmp_path: Path) -> None:
    store = await open_store("memory:")
    (tmp_path / "file").write_bytes(as_json(CHATGPT))
    await _import(store, tmp_path / "file")
    name = str(CHATGPT["conversation_id"])
    assert await _said(store, name) == [
        ("user", "Where to?\n[image_asset]"),
        ("assistant", "To Rome."),
        ("assistant", "To Oslo."),
    ]
    found = await store.get(HERE, name)
    assert (found.title, found.head, found.created_at.timestamp()) == ("Trip", 3, 1700000000.5)
    assert ((await store.snapshot(HERE, name)).tree).siblings(3, 1) == (2, 3)
    assert (await store.entry(HERE, name, 2)).created_at.timestamp() == 1700000002.0


@pytest.mark.asyncio
async def test_tool_calls_and_results_belong_together(tmp_path: Path) -> None:
    store = await open_store("memory:")
    for kind, name in (
        ("messages", "m-1"),
        ("langgraph", "thread-1"),
        ("agents sdk", "user-1"),
        ("langchain table", "s-1"),
    ):
        (tmp_path / "file").write_bytes(FOREIGN[kind](tmp_path / "made.db"))
        await _import(store, tmp_path / "file")
        bodies = [entry.body for entry in (await whole_log(store, HERE, name))[0]]
        messages = [body for body in bodies if isinstance(body, Message)]
        (call,) = [call for message in messages for call in message.tool_calls]
        (result,) = [message.tool_result for message in messages if message.role is Role.TOOL]
        assert result is not None
        assert call.id == result.tool_call_id
        assert call.args
    assert (await store.get(HERE, "m-1")).system == "You help."


@pytest.mark.asyncio
async def test_a_langgraph_thread_is_a_tree_of_all_its_checkpoints(tmp_path: Path) -> None:
    store = await open_store("memory:")
    (tmp_path / "file").write_bytes(FOREIGN["langgraph"](tmp_path / "made.db"))
    await _import(store, tmp_path / "file")
    tree = (await store.snapshot(HERE, "thread-1")).tree
    assert len(tree.branches()) == 2
    newest = await store.newest(HERE, "thread-1")
    assert [entry.body.content for entry in newest if isinstance(entry.body, Message)] == ["hello", "Or here."]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("file", "name", "said", "branches"),
    [
        (
            "langgraph-checkpoints",
            "th-1",
            ["hello", "answer 1", "seen", "done", "other branch", "answer 5", "seen", "done"],
            2,
        ),
        ("openai-agents", "user-7", ["weather?", "", "sunny", "Sunny."], 1),
        ("langchain-messages", "s1", ["hi", "hello"], 1),
    ],
)
async def test_files_of_other_programs_are_read_as_they_were_written(
    file: str, name: str, said: list[str], branches: int, tmp_path: Path
) -> None:
    (tmp_path / "file").write_bytes(gzip.decompress((DATA / f"{file}.db.gz").read_bytes()))
    store = await open_store("memory:")
    report = await _import(store, tmp_path / "file")
    assert (report.problems, report.added) == ([], 1)
    newest = await store.newest(HERE, name)
    assert [entry.body.content for entry in newest if isinstance(entry.body, Message)] == said
    assert len(((await store.snapshot(HERE, name)).tree).branches()) == branches


@pytest.mark.asyncio
async def test_a_pickle_in_a_checkpoint_is_never_loaded(tmp_path: Path) -> None:
    kind, data = JsonPlusSerializer(pickle_fallback=True).dumps_typed(
        {"channel_values": {"messages": [HumanMessage("x")]}}
    )
    rows = ("INSERT INTO checkpoints VALUES ('t', '', '1', 'pickle', ?)", (b"cos\nsystem\n(S'touch harmed'\ntR.",))
    table = (
        "CREATE TABLE checkpoints (thread_id TEXT, checkpoint_ns TEXT, checkpoint_id TEXT, type TEXT, checkpoint BLOB)"
    )
    (tmp_path / "file").write_bytes(database(tmp_path / "made.db", table, rows))
    store = await open_store("memory:")
    report = await _import(store, tmp_path / "file")
    assert [problem.code for problem in report.problems] == ["invalid_import"]
    assert (kind, bool(data)) == ("msgpack", True)


@pytest.mark.asyncio
async def test_bad_records_are_told_with_their_place_and_the_rest_goes_in(tmp_path: Path) -> None:
    bad = {"id": "bad", "messages": [{"role": "martian", "content": "x"}]}
    circle = {"mapping": {key: {"parent": "b" if key == "a" else "a", "message": None} for key in "ab"}}
    deep = {
        "id": "deep",
        "messages": [{"role": "assistant", "content": "x", "tool_calls": [{"id": "c", "args": _nested(80)}]}],
    }
    (tmp_path / "file").write_bytes(as_json(SESSION, bad, circle, deep, {"id": "good", **MESSAGES}))
    store = await open_store("memory:")
    report = await _import(store, tmp_path / "file")
    assert report.added == 2
    assert [(problem.place, problem.code) for problem in report.problems] == [
        ("file, element 2", "invalid_import"),
        ("file, element 3", "invalid_import"),
        ("file, element 4", "too_deep"),
    ]


def _nested(depth: int) -> dict[str, object]:
    return {"a": _nested(depth - 1)} if depth else {}


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "unknown_format"),
        (b"hello", "import_damaged"),
        (b'{"a": 1}', "unknown_format"),
        (b"[" * 100_000, "too_deep"),
        (b'[{"messages": [', "import_damaged"),
        (b'{"format":"threadkeep.export","version":2}\n', "unknown_format"),
        (b"\xff\xfe{}", "import_damaged"),
        (b"SQLite format 3\0 and nothing else", "import_damaged"),
        (b"PK\x03\x04 and nothing else", "import_damaged"),
        (zipped({"a.txt": b"x"}), "unknown_format"),
        (zipped({"../up.json": as_json(SESSION)}), "unsafe_archive"),
        (zipped({"/etc/up.json": as_json(SESSION)}), "unsafe_archive"),
        (zipped({"C:\\up.json": as_json(SESSION)}), "unsafe_archive"),
        (zipped({"bomb.json": b" " * 70_000_000}), "import_too_large"),
    ],
)
async def test_what_is_no_export_is_refused_with_a_code(data: bytes, code: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(data)
    store = await open_store("memory:")
    report = await _import(store, tmp_path / "file")
    assert report.problems[0].code == code
    assert (await everything(store, HERE))[1:] == []


@pytest.mark.asyncio
async def test_an_id_of_somebody_else_is_refused(tmp_path: Path) -> None:
    store = await open_store("memory:")
    importer = Importer(store, HERE)
    (tmp_path / "file").write_bytes(json.dumps(SESSION).encode())
    async for item in read_source(str(tmp_path / "file")):
        await Importer(store, HERE.model_copy(update={"user": "other"})).add(item)
        await importer.add(item)
    assert [problem.code for problem in importer.report.problems] == ["conversation_not_found"]


def test_a_file_in_which_nothing_is_right_is_not_read_to_its_end() -> None:
    file = io.BytesIO(BEGINNING.encode() + b"x\n" * 100_000)
    items = list(read_items(file, "file"))
    assert (len(items), items[-1].place) == (MAX_PROBLEMS, "file")
    assert file.tell() < 100_000


def test_without_a_package_for_other_programs_only_exports_of_ours_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rings, "offered", lambda group: ())
    (problem,) = read_items(io.BytesIO(as_json(CHATGPT)), "chats.json")
    assert isinstance(problem, ImportProblem)
    assert "no installed package reads those of other programs" in problem.detail


@pytest.mark.asyncio
async def test_without_a_package_for_other_programs_a_database_is_refused_in_a_sentence(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_bytes(FOREIGN["open webui database"](tmp_path / "made.db"))
    monkeypatch.setattr(rings, "offered", lambda group: ())
    with pytest.raises(PackageMissing, match="No installed package offers a reader of other programs' databases"):
        await _import(await open_store("memory:"), tmp_path / "file")


async def _kinds(tmp_path: Path) -> dict[str, bytes]:
    return await ours(await open_store("memory:")) | {
        kind: make(tmp_path / "made.db") for kind, make in FOREIGN.items()
    }


@pytest.mark.asyncio
async def test_twenty_kinds_of_files_cut_off_and_changed_leave_no_half_conversation(tmp_path: Path) -> None:
    kinds = await _kinds(tmp_path)
    assert len(kinds) == 20
    chance = random.Random(7)
    for kind, data in kinds.items():
        whole = await open_store("memory:")
        (tmp_path / "file").write_bytes(data)
        await _import(whole, tmp_path / "file")
        lengths = {}
        for conversation in (await whole.list(HERE, limit=1000)).items:
            lengths[conversation.id] = conversation.entries
        for number in range(CUTS + FLIPS):
            damaged = bytearray(data)
            if number < CUTS:
                del damaged[len(data) * number // CUTS :]
            else:
                damaged[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            (tmp_path / "file").write_bytes(damaged)
            store = await open_store("memory:")
            report = await _import(store, tmp_path / "file")
            found = (await store.list(HERE, limit=1000)).items
            if number < CUTS and kind not in ("messages on lines",):
                assert report.problems, (kind, number)
            if kind.startswith("our"):
                # A bit of an id makes another id of it.
                assert all(each.entries == lengths.get(each.id, each.entries) for each in found), (kind, number)
                assert {each.entries for each in found} <= {*lengths.values()}, (kind, number)
            for each in found:
                entries, _ = await whole_log(store, HERE, each.id)
                assert len(entries) == each.entries, (kind, number)
