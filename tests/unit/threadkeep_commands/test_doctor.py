"""`threadkeep doctor`: what is well, what is not, and what to do about it."""

import asyncio
import json
import logging
import os
import shutil
import socket
import sqlite3
import sys
import time
from collections import namedtuple
from contextlib import closing
from pathlib import Path

import apsw
import pytest

from threadkeep import runtime
from threadkeep.cli.main import main
from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_store
from threadkeep.settings import Settings
from threadkeep.store.base import Store
from threadkeep.store.sqlite import schema
from threadkeep.testing.samples import new
from threadkeep_commands import doctor

Space = namedtuple("Space", ["total", "used", "free"])


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in [*os.environ]:
        if name.startswith("THREADKEEP_") or name.endswith("_API_KEY"):
            monkeypatch.delenv(name)
    return tmp_path


def diagnosed(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, dict[str, str]]]:
    if Path("threadkeep.toml").exists():
        main(["trust"])
        capsys.readouterr()
    status = main(["doctor", "--json", "--port", "0", *arguments])
    return status, {finding["what"]: finding for finding in json.loads(capsys.readouterr().out)}


def test_a_fresh_install_is_well_and_nothing_is_made(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, found = diagnosed(capsys)
    assert status == 0
    assert {what: finding["grade"] for what, finding in found.items()} == {
        "store": "ok", "disk": "ok", "model": "warn", "assistants": "ok", "port": "ok", "clock": "ok"
    }  # fmt: skip
    assert list(folder.iterdir()) == []


async def test_a_store_that_is_there_is_opened_and_tried(folder: Path) -> None:
    store = await open_store("sqlite:///threadkeep.db")
    await store.close()
    found = [finding async for finding in doctor.check_store(Settings())]
    assert [finding.grade for finding in found] == ["ok"]


def test_a_file_of_an_earlier_release_is_told_and_left_as_it_is(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "threadkeep.db"
    with closing(apsw.Connection(str(file))) as earlier:
        earlier.execute(schema.migrations()[0][2])
        earlier.pragma("user_version", 1)
        earlier.pragma("application_id", schema.APPLICATION)
    before, known = file.read_bytes(), schema.migrations()
    monkeypatch.setattr(schema, "migrations", lambda: [*known, (2, "0002_later.sql", "CREATE TABLE later (x)")])
    status, found = diagnosed(capsys)
    assert (status, found["store"]["grade"]) == (0, "warn")
    assert "0002_later.sql" in found["store"]["said"]
    assert file.read_bytes() == before
    assert list(folder.iterdir()) == [file]


def test_a_missing_log_is_a_failure_until_one_goes_on_without_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async def kill_a_writer() -> None:
        store = await open_store("sqlite:///threadkeep.db")
        await new(store, LOCAL, "gone", name="kept")
        (folder / "killed").mkdir()
        for end in ("", "-mark"):
            shutil.copy(folder / f"threadkeep.db{end}", folder / "killed" / f"threadkeep.db{end}")
        await store.close()

    asyncio.run(kill_a_writer())
    status, found = diagnosed(capsys, "--store", "sqlite:///killed/threadkeep.db")
    assert (status, found["store"]["grade"]) == (1, "fail")
    assert "threadkeep doctor --set-log-aside" in found["store"]["said"]
    status, found = diagnosed(capsys, "--store", "sqlite:///killed/threadkeep.db", "--set-log-aside")
    assert (status, found["store"]["grade"]) == (0, "ok")


def test_a_file_of_another_program_is_a_failure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with closing(sqlite3.connect(folder / "threadkeep.db")) as other:
        other.execute("CREATE TABLE recipe (name)")
    status, found = diagnosed(capsys)
    assert (status, found["store"]["grade"]) == (1, "fail")
    assert "another program" in found["store"]["said"]


@pytest.mark.parametrize("url", ["tape:///reel", "postgresql://nobody@127.0.0.1:1/none", "sqlite:///broken.db"])
def test_a_store_that_does_not_work_is_a_failure(folder: Path, url: str, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "broken.db").write_text("this is not a database, but it is long enough to be taken for one" * 20)
    status, found = diagnosed(capsys, "--store", url)
    assert (status, found["store"]["grade"]) == (1, "fail")
    assert found["store"]["advice"]


def test_a_model_whose_package_is_missing_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    status, found = diagnosed(capsys, "--model", "nowhere:nothing")
    assert (status, found["model"]["grade"]) == (1, "fail")
    assert "nowhere" in found["model"]["said"]


def test_a_model_that_can_be_loaded_is_fine_without_being_called(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/v1")
    status, found = diagnosed(capsys, "--model", "openai:gpt-6.1-terra")
    assert (status, found["model"]["grade"]) == (0, "ok")


def test_a_tool_server_that_does_not_answer_is_a_failure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "threadkeep.toml").write_text(f"[mcp.servers.gone]\ncommand = '{sys.executable}'\nargs = ['-c', '1']\n")
    status, found = diagnosed(capsys)
    assert (status, found["mcp gone"]["grade"]) == (1, "fail")
    assert found["mcp gone"]["advice"] == "check [mcp.servers.gone] in threadkeep.toml"


def test_a_taken_port_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        taken.settimeout(0)
        status, found = diagnosed(capsys, "--port", str(taken.getsockname()[1]))
    assert (status, found["port"]["grade"]) == (1, "fail")
    assert "Address already in use" in found["port"]["said"]


@pytest.mark.parametrize(("free", "grade"), [(10, "fail"), (500, "warn"), (5000, "ok")])
def test_room_on_the_disk_is_looked_at(
    free: int, grade: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: Space(0, 0, free * doctor.MEGABYTE))
    status, found = diagnosed(capsys)
    assert (status, found["disk"]["grade"]) == (1 if grade == "fail" else 0, grade)


def test_a_clock_that_is_behind_is_a_warning(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "threadkeep.db").touch()
    os.utime(folder / "threadkeep.db", (time.time() + 3600,) * 2)
    assert diagnosed(capsys)[1]["clock"]["grade"] == "warn"


def test_a_person_gets_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["doctor", "--port", "0", "--store", "memory:"]) == 0
    lines = capsys.readouterr().out.splitlines()
    expected = [["ok", "clock"], ["ok", "store"], ["warn", "model"], ["ok", "assistants"], ["ok", "port"]]
    assert [line.split()[:2] for line in lines] == expected
    assert " -> set a provider's key" in lines[2]


def test_an_assistant_that_cannot_be_loaded_is_a_failure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "threadkeep.toml").write_text('[assistants.mine]\nprogram = "no_such_module:ASSISTANT"\n')
    status, found = diagnosed(capsys)
    assert (status, found["assistants"]["grade"]) == (1, "fail")
    assert "no_such_module" in found["assistants"]["said"]


def test_a_counter_that_cannot_be_loaded_is_a_failure(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "threadkeep.toml").write_text('token_counter = "no_such_module:count"\n')
    status, found = diagnosed(capsys)
    assert (status, found["assistants"]["grade"]) == (1, "fail")


def test_a_dialect_that_nobody_answers_in_is_a_warning(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "threadkeep.toml").write_text('[dialects]\nquery = "shopp"\n')
    status, found = diagnosed(capsys)
    assert (status, found["dialects"]["grade"]) == (0, "warn")
    assert "shopp" in found["dialects"]["said"]


def test_a_dialect_that_no_package_offers_is_a_warning(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(doctor, "offered", lambda group: ())
    status, found = diagnosed(capsys)
    assert (status, found["dialects"]["grade"]) == (0, "warn")
    assert "no installed package offers the dialect" in found["dialects"]["said"]


def test_a_misspelt_variable_is_a_warning(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THREADKEEP_MODLE", "demo")
    status, found = diagnosed(capsys)
    assert (status, found["variable"]["grade"]) == (0, "warn")
    assert "THREADKEEP_MODLE" in found["variable"]["said"]


def test_an_address_that_would_be_refused_is_a_failure(capsys: pytest.CaptureFixture[str]) -> None:
    status, found = diagnosed(capsys, "--host", "192.0.2.1")
    assert (status, found["address"]["grade"]) == (1, "fail")
    assert "address" not in diagnosed(capsys, "--host", "192.0.2.1", "--auth", "keys")[1]


def test_a_host_that_nobody_knows_is_told_in_words(capsys: pytest.CaptureFixture[str]) -> None:
    status, found = diagnosed(capsys, "--host", "nowhere.invalid", "--auth", "keys")
    assert (status, found["port"]["grade"]) == (1, "fail")
    assert "Unknown error" not in found["port"]["said"]


def test_what_a_store_warns_of_is_a_finding(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def open_with_a_warning(url: str) -> Store:
        logging.getLogger("threadkeep.store.postgres.schema").warning("the role %s owns the schema", "ada")
        return await open_store(url)

    monkeypatch.setattr(runtime, "open_store", open_with_a_warning)
    assert main(["doctor", "--port", "0", "--store", "memory:"]) == 0
    told = capsys.readouterr()
    assert any(
        line.split() == ["warn", "store", "the", "role", "ada", "owns", "the", "schema"]
        for line in told.out.splitlines()
    )
    assert told.err == ""
