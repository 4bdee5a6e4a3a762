"""`threadkeep export`, `import`, `copy`, `backup` and `restore`, on files; PostgreSQL is in tests/integration."""

import asyncio
import gzip
import json
import re
import zipfile
from datetime import timedelta
from pathlib import Path

import pytest

from tests.documents import ROOT
from tests.roundtrips import exported
from threadkeep.cli.main import main
from threadkeep.conversation.api_key import ApiKey, KeyRole
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_store
from threadkeep.testing.samples import ADA, new, say


async def _fill(url: str) -> None:
    store = await open_store(url)
    await new(store, LOCAL, "a question", "an **answer**", name="one")
    await say(store, "one", "again", scope=LOCAL, parent=1)
    await new(store, LOCAL, *(f"message {number}" for number in range(700)), name="long")
    await new(store, ADA, "elsewhere", name="other")
    key = ApiKey(id="k", digest=b"d" * 32, hint="tk_", scope=ADA, role=KeyRole.USER, created_at=utc_now())
    await store.keyring.add(key)
    await store.close()


async def _whole(url: str) -> bytes:
    store = await open_store(url)
    try:
        return await exported(store)
    finally:
        await store.close()


@pytest.fixture
def filled(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/one.db"
    asyncio.run(_fill(url))
    return url


@pytest.mark.parametrize("chosen", ["jsonl", "zip"])
def test_an_export_of_an_import_is_the_same_file(
    chosen: str, filled: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second, other = tmp_path / f"first.{chosen}", tmp_path / "second", f"files:///{tmp_path}/folder"
    assert main(["export", "--store", filled, str(first)]) == 0
    assert capsys.readouterr().err == f"2 conversation(s) are in {first}\n"
    assert main(["import", "--store", other, str(first)]) == 0
    assert capsys.readouterr().out == "Imported: 2 conversation(s) with 703 entries, 0 had nothing new, 0 failed\n"
    assert main(["export", "--store", other, "--format", chosen, str(second)]) == 0
    assert first.read_bytes() == second.read_bytes()
    assert main(["import", "--store", other, str(first)]) == 0
    assert capsys.readouterr().out == "Imported: 0 conversation(s) with 0 entries, 2 had nothing new, 0 failed\n"
    assert not list(tmp_path.glob("*.partial"))
    assert first.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize("share", [0.001, 0.01, 0.3, 0.9, 0.999])
def test_an_export_that_was_cut_off_goes_on(
    share: float, filled: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert main(["export", "--store", filled, str(first)]) == 0
    whole = first.read_bytes()

    def stop(path: Path, target: Path) -> None:
        path.write_bytes(whole[: int(share * len(whole))])
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(Path, "replace", stop)
        assert main(["export", "--store", filled, str(second)]) == 130
    assert not second.exists()
    assert main(["export", "--store", filled, str(second)]) == 0
    assert second.read_bytes() == whole
    assert not list(tmp_path.glob("*.partial"))


def test_a_conversation_is_exported_for_people_to_read(
    filled: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["export", "--store", filled, "--format", "markdown", "--conversation", "one"]) == 0
    assert "again" in capsys.readouterr().out
    page, pages = tmp_path / "page.html", tmp_path / "pages.zip"
    assert main(["export", "--store", filled, "--format", "html", "--conversation", "one", str(page)]) == 0
    assert page.read_text().startswith("<!doctype html>")
    assert main(["export", "--store", filled, "--format", "markdown", str(pages)]) == 0
    with zipfile.ZipFile(pages) as archive:
        assert sorted(name.partition("-")[2] for name in archive.namelist()) == ["long.md", "one.md"]


def test_an_archive_of_pages_does_not_get_the_name_of_a_page(
    filled: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    page = tmp_path / "page.html"
    assert main(["export", "--store", filled, "--format", "html", str(page)]) == 1
    assert "name FILE.zip, or one of them with --conversation" in capsys.readouterr().err
    assert not page.exists()


def test_branches_are_exported_for_fine_tuning(filled: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["export", "--store", filled, "--format", "finetune"]) == 0
    (line,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert len(line["messages"]) == 700


def test_a_copy_has_everything_and_the_keys_and_goes_on_where_it_was(
    filled: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = f"files:///{tmp_path}/copy"
    assert main(["copy", "--from", filled, "--to", target, "--tenant", "acme"]) == 0
    assert main(["copy", "--from", filled, "--to", target]) == 0
    assert (
        capsys.readouterr()
        .out.splitlines()[-1]
        .startswith("Imported: 2 conversation(s) with 703 entries, 1 had nothing new")
    )
    assert asyncio.run(_whole(target)) == asyncio.run(_whole(filled))
    assert main(["keys", "list", "--store", target]) == 0
    assert "ada" in capsys.readouterr().out


@pytest.mark.parametrize("target", ["sqlite", "files"])
def test_a_copy_has_the_audit_log_once_and_what_is_held_stays_held(
    target: str, filled: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    there = f"{target}:///{tmp_path}/there"
    hold = ["hold", "add", "--tenant", "acme", "--user", "ada", "--reason", "case 7", "--store", filled]
    assert main(hold) == 0
    asyncio.run(_prune(filled))
    assert main(["keys", "create", "--tenant", "acme", "--user", "bob", "--store", filled]) == 0
    heads = set()
    for _ in range(2):
        assert main(["copy", "--from", filled, "--to", there]) == 0
        capsys.readouterr()
        assert main(["audit", "verify", "--tenant", "acme", "--store", there]) == 0
        heads.add(capsys.readouterr().out)
    assert len(heads) == 1
    assert main(["audit", "--tenant", "acme", "--store", there]) == 0
    assert [line.split()[4] for line in capsys.readouterr().out.splitlines()] == [
        "hold.added",
        "key.created",
        "conversation.imported",
    ]
    assert main(["erase", "--tenant", "acme", "--user", "ada", "--yes", "--store", there]) == 1
    assert "legal hold" in capsys.readouterr().err
    assert main(["audit", "verify", "--tenant", "acme", "--store", filled]) == 0


async def _prune(url: str) -> None:
    store = await open_store(url)
    assert await store.audit.prune("acme", utc_now() + timedelta(days=1), utc_now()) == 1
    await store.close()


@pytest.mark.parametrize("kind", ["sqlite", "files"])
def test_a_backup_is_restored_whole(kind: str, filled: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = filled if kind == "sqlite" else f"files:///{tmp_path}/copy"
    if kind == "files":
        assert main(["copy", "--from", filled, "--to", source]) == 0
    backup, target = tmp_path / "backup", f"sqlite:///{tmp_path}/restored.db"
    capsys.readouterr()
    assert main(["backup", "--store", source, str(backup)]) == 0
    assert capsys.readouterr().out == f"3 conversation(s) are in {backup}, checked\n"
    for tenant in ("acme", "local"):
        assert main(["audit", "--tenant", tenant, "--store", source]) == 0
        assert "conversations.exported  tenant:" in capsys.readouterr().out
    before = backup.read_bytes()
    assert main(["restore", "--store", target, str(backup)]) == 0
    assert asyncio.run(_whole(target)) == asyncio.run(_whole(filled))
    assert backup.read_bytes() == before
    assert main(["backup", "--store", source, str(backup)]) == 1
    assert "never overwritten" in capsys.readouterr().err


def test_a_file_of_an_earlier_release_is_backed_up_as_it_is(tmp_path: Path) -> None:
    file, backup, restored = tmp_path / "old.db", tmp_path / "backup", f"sqlite:///{tmp_path}/restored.db"
    before = gzip.decompress((ROOT / "tests/data/stores/0.2.0.dev0/threadkeep.db.gz").read_bytes())
    file.write_bytes(before)
    assert main(["backup", "--store", f"sqlite:///{file}", str(backup)]) == 0
    assert file.read_bytes() == before
    assert {path.name for path in tmp_path.iterdir()} == {"old.db", "backup"}
    assert main(["restore", "--store", restored, str(backup)]) == 0
    assert b"Rain in Oslo" in asyncio.run(_whole(restored))


def test_a_restore_into_a_store_with_data_brings_conversations_only_unless_more_is_named(
    filled: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backup, empty, used = tmp_path / "backup", f"sqlite:///{tmp_path}/empty.db", f"sqlite:///{tmp_path}/used.db"
    assert main(["backup", "--store", filled, str(backup)]) == 0
    assert main(["keys", "create", "--tenant", "other", "--user", "bob", "--store", used]) == 0
    capsys.readouterr()
    assert main(["restore", "--store", used, str(backup)]) == 0
    told = capsys.readouterr().out
    assert told.startswith("Imported: 3 conversation(s)")
    assert main(["keys", "list", "--store", used]) == 0
    assert "ada" not in re.findall(r"\w+", capsys.readouterr().out)
    for arguments in (["--store", used, "--with", "keys"], ["--store", empty]):
        assert main(["restore", *arguments, str(backup)]) == 0
        assert "Added: API key k (user) of ada in acme\n" in (told := capsys.readouterr().out)
        assert ("audit record(s) conversations.exported" in told) == (empty in arguments)
    assert main(["audit", "list", "--store", used, "--tenant", "acme", "--act", "key.imported"]) == 0
    assert 'key:k  role="user"' in capsys.readouterr().out


def test_a_restore_lifts_no_hold_and_brings_nobody_back_who_was_erased(
    filled: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old, lifted, copied = tmp_path / "old", tmp_path / "lifted", f"sqlite:///{tmp_path}/copied.db"
    assert main(["hold", "add", "--tenant", "local", "--reason", "case 7", "--store", filled]) == 0
    capsys.readouterr()
    assert main(["hold", "list", "--json", "--store", filled]) == 0
    hold = json.loads(capsys.readouterr().out)[0]["id"]
    assert main(["backup", "--store", filled, str(old)]) == 0
    assert main(["restore", "--store", copied, str(old)]) == 0
    assert main(["hold", "remove", hold, "--store", copied]) == 0
    assert main(["backup", "--store", copied, str(lifted)]) == 0
    assert main(["erase", "--tenant", "acme", "--user", "ada", "--yes", "--store", filled]) == 0
    for backup in (old, lifted):
        capsys.readouterr()
        assert main(["restore", "--store", filled, "--with", "keys", "--with", "audit", str(backup)]) == 1
        told = capsys.readouterr()
        assert "conversation other: import_conflict: Whose it was has been erased here since." in told.err
        assert "API key" not in told.out
        assert "hold.removed" not in told.out
    assert main(["erase", "--tenant", "local", "--user", "local", "--yes", "--store", filled]) == 1
    assert "legal hold" in capsys.readouterr().err


def test_a_backup_that_was_cut_off_is_told_by_its_name(
    filled: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    backup = tmp_path / "backup"
    assert main(["backup", "--store", filled, str(backup)]) == 0
    backup.write_bytes(backup.read_bytes()[:5000])
    assert main(["restore", "--store", f"sqlite:///{tmp_path}/restored.db", str(backup)]) == 1
    assert f"{backup} is damaged, or was cut off" in capsys.readouterr().err


def test_problems_are_one_line_each_and_the_exit_status_tells(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = f"sqlite:///{tmp_path}/one.db"
    bad = tmp_path / "bad.json"
    bad.write_text(
        '[{"id": "a", "messages": [{"role": "martian"}]}, {"id": "b", "messages": [{"role": "user", "content": "x"}]}]'
    )
    assert main(["import", "--store", store, str(bad)]) == 1
    told = capsys.readouterr()
    assert told.out == "Imported: 1 conversation(s) with 1 entries, 0 had nothing new, 1 failed\n"
    (line,) = told.err.splitlines()
    assert line.startswith("threadkeep: bad.json, element 1: invalid_import: The role 'martian' is none of")


@pytest.mark.parametrize(
    "command",
    [
        ["import", "missing"],
        ["export", "--store", "sqlite:///missing.db"],
        ["export", "--tenant", "acme", "--conversation", "one"],
        ["copy", "--from", "sqlite:///missing.db", "--to", "memory:"],
        ["copy", "--from", "memory:", "--to", "memory:", "--user", "ada"],
        ["backup", "--store", "sqlite:///missing.db", "file"],
        ["restore", "missing"],
    ],
)
def test_what_cannot_be_done_is_told_in_one_line(
    command: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(command) == 1
    assert capfd.readouterr().err.count("\n") == 1
    assert not list(tmp_path.glob("*.partial"))
