"""Attached files survive every way out and in, on every pair of backends; what was tampered with goes nowhere."""

import asyncio
import io
import zipfile
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from tests.backends import BACKENDS, EACH_WAY, opener
from threadkeep.cli.main import main
from threadkeep.conversation.ids import new_id
from threadkeep.conversation.message import Message, Role
from threadkeep.conversation.parts import Attachment
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.runtime import attachments_of, open_store
from threadkeep.store.attachments import Attachments, FileLimits
from threadkeep.store.base import MAX_BYTES, Store
from threadkeep.store.sqlite.memory import MemoryStore
from threadkeep.store.values import Append
from threadkeep.testing.clock import FakeClock
from threadkeep.testing.samples import ADA, BOB, EVE, new, say
from threadkeep.transfer.exporter import Selection
from threadkeep.transfer.files import UNLIMITED
from threadkeep.transfer.importer import Importer, Report
from threadkeep.transfer.moving import copy, export_archive, export_lines
from threadkeep.transfer.sources import read_items

PNG = b"\x89PNG\r\n\x1a\n" + b"pixels" * 100_000
ALL = Selection()


def files_of(store: Store) -> Attachments:
    files = attachments_of(store, None, UNLIMITED)
    assert files is not None
    return files


def memory(clock: FakeClock | None = None) -> MemoryStore:
    return MemoryStore(clock or FakeClock(), new_id, MAX_BYTES)


async def attach(store: Store, scope: Scope, conversation: str, name: str, data: bytes) -> Attachment:
    """Keep a file and a message that uses it."""
    part = await files_of(store).save(scope, name, "", data)
    message = Message(role=Role.USER, content="Look", parts=(part, part.model_copy(update={"extract": "read"})))
    await store.append(scope, conversation, Append(bodies=(message,)))
    return part


async def fill(store: Store) -> list[Attachment]:
    first, second = await new(store, ADA, "one", name="first"), await new(store, EVE, name="second")
    image = await attach(store, ADA, first, "cat.png", PNG)
    await say(store, first, "a branch", parent=1)
    again = await attach(store, EVE, second, "same cat.png", PNG)
    text = await attach(store, EVE, second, "notes.txt", b"\0" * 1000 + b"zeros")
    return [image, again, text]


async def archived(store: Store, selection: Selection = ALL) -> bytes:
    return b"".join([data async for data in export_archive(store, selection, lambda done: None, files_of(store))])


async def take(store: Store, data: bytes, scope: Scope = LOCAL, files: Attachments | None = None) -> Report:
    keep = scope == LOCAL
    given = files or files_of(store)
    importer = Importer(store, scope, keep_users=keep, keep_tenants=keep, attachments=given)
    for item in read_items(io.BytesIO(data), "file"):
        await importer.add(item)
    return importer.report


async def read(store: Store, scope: Scope, file: str) -> bytes:
    return await files_of(store).read(scope, file)


@pytest.mark.parametrize(("source", "target"), EACH_WAY)
async def test_an_archive_of_an_import_is_the_same_bytes_and_a_copy_holds_the_same(
    source: str, target: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    clock = FakeClock()
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    one = await opener(source, tmp_path / "one", request)(clock)
    two = await opener(target, tmp_path / "two", request)(clock)
    parts = await fill(one)
    whole = await archived(one)
    for count in (2, 0):
        report = await take(two, whole)
        assert (report.problems, report.added) == ([], count)
        assert await archived(two) == whole
    for scope, part in zip((ADA, EVE, EVE), parts, strict=True):
        assert await read(two, scope, part.file) == await read(one, scope, part.file)
    with zipfile.ZipFile(io.BytesIO(whole)) as archive:
        assert sorted(name for name in archive.namelist() if name.startswith("files/")) == sorted(
            f"files/{sha256(data).hexdigest()}" for data in (PNG, b"\0" * 1000 + b"zeros")
        )
    copied = memory(clock)
    for _ in range(2):
        assert (await copy(two, copied, ALL, lambda done: None, (files_of(two), files_of(copied)))).problems == []
        assert await archived(copied) == whole
    for store in (one, two, copied):
        await store.close()


async def test_files_that_go_to_somebody_else_get_other_ids_and_their_messages_name_these() -> None:
    store, mine = memory(), Scope(tenant="elsewhere", user="me")
    image, *_ = await fill(store)
    whole = await archived(store, Selection(ADA.tenant, ADA.user))
    other = memory()
    for added in (1, 0):
        report = await take(other, whole, mine)
        assert (report.problems, report.added) == ([], added)
    entries = await other.newest(mine, "first", limit=10, head=2)
    message = entries[-1].body
    assert isinstance(message, Message)
    files = [part.file for part in message.parts if isinstance(part, Attachment)]
    assert files[0] == files[1] != image.file
    assert await read(other, mine, files[0]) == PNG


async def lines_of(store: Store) -> bytes:
    lines = [line async for line in export_lines(store, ALL, lambda done: None, None, files_of(store))]
    return "".join(lines).encode()


@pytest.mark.parametrize("backend", BACKENDS)
async def test_lines_name_files_also_where_their_bytes_are_missing_and_an_archive_brings_them_later(
    backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    clock = FakeClock()
    store, other = memory(clock), await opener(backend, tmp_path, request)(clock)
    image, *_ = await fill(store)
    lines = await lines_of(store)
    assert lines.count(b'{"file":') == 3
    assert f'"sha256":"{sha256(PNG).hexdigest()}"'.encode() in lines
    assert (await take(other, lines)).problems == []
    assert await lines_of(other) == lines
    assert (await take(other, await archived(store))).unchanged == 2
    assert await read(other, ADA, image.file) == PNG
    assert await archived(other) == await archived(store)
    await other.close()


@pytest.mark.parametrize("is_told", [True, False])
@pytest.mark.parametrize("backend", BACKENDS)
async def test_an_import_that_names_a_file_of_somebody_else_does_not_use_it(
    is_told: bool, backend: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    store = await opener(backend, tmp_path, request)(FakeClock())
    hers = await files_of(store).save(ADA, "cat.png", "", PNG)
    named = hers if is_told else hers.model_copy(update={"sha256": ""})
    elsewhere = memory()
    await new(elsewhere, BOB, name="his")
    message = Message(role=Role.USER, content="Look", parts=(named,))
    await elsewhere.append(BOB, "his", Append(bodies=(message,)))
    mine = Selection(BOB.tenant, BOB.user)
    lines = "".join([line async for line in export_lines(elsewhere, mine, lambda done: None)]).encode()
    importer = Importer(store, BOB)
    for item in read_items(io.BytesIO(lines), "file"):
        await importer.add(item)
    assert importer.report.added == 1
    await store.delete(BOB, "his")
    assert await read(store, ADA, hers.file) == PNG
    await files_of(store).delete(ADA, hers.file)
    await store.close()


def changed(archive: bytes, change: Callable[[str, bytes], bytes | None]) -> bytes:
    """Return an archive with some of its members changed or left out."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(archive)) as old, zipfile.ZipFile(made, "w") as new_one:
        for name in old.namelist():
            if (data := change(name, old.read(name))) is not None:
                new_one.writestr(name, data)
    return made.getvalue()


async def test_a_file_that_was_changed_is_refused_with_its_conversation_and_leaves_nothing() -> None:
    store, other = memory(), memory()
    await fill(store)
    evil = changed(await archived(store), lambda name, data: b"evil" if name.startswith("files/") else data)
    report = await take(other, evil)
    assert [problem.code for problem in report.problems] == ["import_damaged"] * 2
    for scope in (ADA, EVE):
        assert not (await other.list(scope.tenant, limit=5)).items
    assert (await Attachments(other.files).usage(ADA.tenant)).files == 0


async def test_a_file_that_is_missing_in_an_archive_is_missing_and_no_more() -> None:
    store, other = memory(), memory()
    await fill(store)
    cut = changed(await archived(store), lambda name, data: None if name.startswith("files/") else data)
    report = await take(other, cut)
    assert (report.problems, report.added) == ([], 2)


@pytest.mark.parametrize("name", ["files/../../evil", "/files/evil", "files\\..\\evil", "C:/files/evil"])
async def test_an_archive_with_names_that_lead_elsewhere_is_refused(name: str) -> None:
    store, other = memory(), memory()
    await fill(store)
    made = io.BytesIO(await archived(store))
    with zipfile.ZipFile(made, "a") as archive:
        archive.writestr(name, b"evil")
    assert [problem.code for problem in (await take(other, made.getvalue())).problems] == ["unsafe_archive"]
    assert not await other.tenants()


async def test_an_import_keeps_to_the_limits_of_files() -> None:
    store, other = memory(), memory()
    await fill(store)
    small = Attachments(other.files, limits=FileLimits(file=1000))
    report = await take(other, await archived(store, Selection(ADA.tenant, ADA.user)), EVE, small)
    assert [problem.code for problem in report.problems] == ["file_too_large"]


@pytest.mark.parametrize("place", [None, "elsewhere"])
def test_backup_and_restore_bring_files_back(
    place: str | None, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if place:
        monkeypatch.setenv("THREADKEEP_FILES", f"file://{tmp_path}/{place}")
    one, two = f"files:///{tmp_path}/one", f"sqlite:///{tmp_path}/two.db"

    async def filled() -> None:
        store = await open_store(one, clock=FakeClock())
        await fill(store)
        await store.close()

    asyncio.run(filled())
    three = f"files:///{tmp_path}/three"
    for backup, source, target in (("a.zip", one, two), ("b.db", two, three)):
        assert main(["backup", "--store", source, str(tmp_path / backup)]) == 0
        assert main(["restore", "--store", target, str(tmp_path / backup)]) == 0
    assert main(["export", "--store", three, "--tenant", ADA.tenant, "--format", "zip", str(tmp_path / "c.zip")]) == 0
    capsys.readouterr()
    with zipfile.ZipFile(tmp_path / "c.zip") as archive:
        assert archive.read(f"files/{sha256(PNG).hexdigest()}") == PNG
