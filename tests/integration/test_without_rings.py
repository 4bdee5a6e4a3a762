"""An installation without rings, or without one: what it would do is refused in a sentence, and all else works."""

import os
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from importlib.metadata import distribution
from pathlib import Path

import pytest

import threadkeep
from tests.conftest import EXTRAS
from tests.documents import ROOT

SERVED = """
import asyncio, httpx
from threadkeep.runtime import open_conversations
from threadkeep.server.app import create_app
from threadkeep.settings import Settings

async def main():
    async with await open_conversations("memory:", model="demo") as conversations:
        app = create_app(conversations, Settings(store="memory:"))
        transport = httpx.ASGITransport(app=app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8000") as client:
            print((await client.post("/chat", json={"query": "Hello"})).json()["code"])
            print((await client.get("/v1/conversations")).status_code)
            print((await client.post("/v1/conversations", json={})).json()["detail"])
            print((await client.get("/", headers={"Accept": "text/html"})).status_code)
            made = await conversations.create()
            exported = await client.get(f"/v1/conversations/{made.id}/export", params={"format": "html"})
            print(exported.status_code, exported.json()["detail"])
            chats = b'[{"title": "Trip", "mapping": {}}]'  # of ChatGPT
            print((await client.post("/v1/import", content=chats)).json()["detail"])

asyncio.run(main())
"""


KEPT = """
import asyncio, sys
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.scope import Scope
from threadkeep.runtime import migrate, open_store

async def main(url):
    store, ada = await open_store(url), Scope(tenant="acme", user="ada")
    made = (await store.create(ada, NewConversation(title="Trip"))).conversation
    print((await store.get(ada, made.id)).title, await migrate(url))
    await store.close()

asyncio.run(main(sys.argv[1]))
"""
RINGS = sorted(path.name for path in Path(threadkeep.__file__).parents[1].glob("threadkeep_*"))
DATABASE = "postgresql://ada@127.0.0.1:1/kept"
NOT_OFFERED = "A store is one of sqlite:///file, files:///folder, memory: and, with its package, postgresql://... ."
NO_DRIVER = "PostgreSQL needs a package: pip install 'threadkeep[postgres]'"


class Alone:
    """Python with the core, the packages around it that are named, and what they require, but for some of that."""

    def __init__(self, folder: Path, rings: Sequence[str] = (), without: Sequence[str] = ()) -> None:
        self.folder, packages = folder / "here", folder / "packages"
        self.folder.mkdir()
        packages.mkdir()
        for found in Path(sysconfig.get_paths()["purelib"]).iterdir():
            if not found.name.startswith(("threadkeep", "_editable", *without)) and found.suffix != ".pth":
                (packages / found.name).symlink_to(found)
        for name in ("threadkeep", *rings):
            (packages / name).symlink_to(Path(threadkeep.__file__).parents[1] / name)
        if rings:
            _offer(packages / "threadkeep-1.dist-info", rings)
        self._environment = {**os.environ, "PYTHONPATH": str(packages), "HOME": str(folder)}

    def python(self, *arguments: str, said: str = "") -> "subprocess.CompletedProcess[str]":
        """Run it to its end. Without `site`, nothing but the chosen packages is found."""
        command = [sys.executable, "-S", *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=self._environment, input=said, capture_output=True, text=True, timeout=280
        )

    def threadkeep(self, *arguments: str) -> tuple[int, str]:
        """Run a command; return its status and what it complained of."""
        done = self.python("-m", "threadkeep.cli.main", *arguments, said="Hello\n")
        return done.returncode, done.stderr


def _offer(folder: Path, rings: Sequence[str]) -> None:
    """Write what is installed of us: the entry points of some packages only."""
    folder.mkdir()
    groups: dict[str, list[str]] = {}
    for point in distribution("threadkeep").entry_points:
        if point.module.partition(".")[0] in rings:
            groups.setdefault(point.group, []).append(f"{point.name} = {point.value}")
    lines = [line for group, points in groups.items() for line in (f"[{group}]", *points)]
    (folder / "entry_points.txt").write_text("\n".join(lines), encoding="utf-8")
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: threadkeep\nVersion: 1\n", encoding="utf-8")


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Alone:
    """All but PostgreSQL."""
    others = [name for name in RINGS if name != "threadkeep_postgres"]
    return Alone(tmp_path_factory.mktemp("embedded"), others)


@pytest.fixture(scope="module")
def driverless(tmp_path_factory: pytest.TempPathFactory) -> Alone:
    """All that is ours, but not the driver of PostgreSQL, which is an extra."""
    return Alone(tmp_path_factory.mktemp("driverless"), RINGS, without=["asyncpg"])


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Alone:
    return Alone(tmp_path_factory.mktemp("alone"))


def test_the_unit_suite_is_collected_without_extras(tmp_path: Path) -> None:
    bare = Alone(tmp_path, RINGS, without=[*EXTRAS, "_yaml"])
    options = [
        "-q",
        "-p",
        "no:cacheprovider",
        "--collect-only",
        "-c",
        str(ROOT / "pyproject.toml"),
        "--rootdir",
        str(ROOT),
    ]
    done = bare.python("-m", "pytest", *options, str(ROOT / "tests" / "unit"))
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr
    assert "tests/unit/turn/test_engine.py" in done.stdout


@pytest.mark.parametrize("ring", RINGS)
def test_no_ring_is_there(alone: Alone, ring: str) -> None:
    done = alone.python("-c", f"import {ring}")
    assert f"No module named '{ring}'" in done.stderr


@pytest.mark.parametrize(
    ("command", "what"),
    [
        (("index", "list", "x.index"), "the command index (entry point index in threadkeep.commands)"),
        (("chat", "--model", "demo"), "the command chat (entry point chat in threadkeep.commands)"),
        (("import", "other.db"), "the command import (entry point import in threadkeep.commands)"),
    ],
)
def test_what_a_ring_would_do_is_refused_in_a_line(alone: Alone, command: tuple[str, ...], what: str) -> None:
    assert alone.threadkeep(*command) == (1, f"threadkeep: No installed package offers {what}.\n")


def test_the_server_serves_its_own_routes_and_says_that_nobody_can_answer(alone: Alone) -> None:
    done = alone.python("-c", SERVED)
    assert (done.returncode, done.stderr.count("\n")) == (0, 1), done.stderr
    assert "/export 503" in done.stderr  # what a package would have done is on record
    dialect, listed, created, page, exported, imported = done.stdout.splitlines()
    assert (dialect, listed, page) == ("not_found", "200", "404")
    assert "No installed package offers the model demo" in created
    assert exported.startswith("503 No installed package offers the writer of html")
    assert "no installed package reads those of other programs" in imported


@pytest.mark.parametrize("url", ["memory:", "sqlite:///kept.db", "files:///kept"])
def test_without_postgresql_conversations_are_kept_on_this_machine(embedded: Alone, url: str) -> None:
    done = embedded.python("-c", KEPT, url)
    assert (done.returncode, done.stdout, done.stderr) == (0, "Trip []\n", "")


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("serve", "--port", "0", "--store", DATABASE), NOT_OFFERED),
        (
            ("serve", "--port", "0", "--store", DATABASE, "--spool", "spool"),
            "No installed package offers a spool for outages of the database (entry point open in threadkeep.spools).",
        ),
        (("migrate", "--store", DATABASE), NOT_OFFERED),
        (("list", "--store", DATABASE), NOT_OFFERED),
        (
            ("spool", "list", "--spool", "spool"),
            "No installed package offers the command spool (entry point spool in threadkeep.commands).",
        ),
    ],
)
def test_without_postgresql_it_is_refused_in_a_line(embedded: Alone, command: tuple[str, ...], said: str) -> None:
    assert embedded.threadkeep(*command) == (1, f"threadkeep: {said}\n")


def test_without_postgresql_doctor_says_what_is_missing(embedded: Alone) -> None:
    done = embedded.python("-m", "threadkeep.cli.main", "doctor", "--store", DATABASE, "--spool", "spool")
    assert (done.returncode, done.stderr) == (1, "")
    assert f"{DATABASE}: {NOT_OFFERED} -> " in done.stdout
    assert "No installed package offers a spool for outages of the database" in done.stdout


@pytest.mark.parametrize(
    "command",
    [
        ("serve", "--port", "0"),
        ("serve", "--port", "0", "--spool", "spool"),
        ("migrate",),
        ("list",),
        ("spool", "drain", "--spool", "spool"),
    ],
)
def test_without_its_driver_it_is_said_how_to_install_it(driverless: Alone, command: tuple[str, ...]) -> None:
    assert driverless.threadkeep(*command, "--store", DATABASE) == (1, f"threadkeep: {NO_DRIVER}\n")
