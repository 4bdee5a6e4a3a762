"""An installation of the core alone: what a ring would do is refused in a sentence, and all else works."""

import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

import threadkeep

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


class Alone:
    """Python with the core and what it requires, but for the packages around it."""

    def __init__(self, folder: Path) -> None:
        self.folder, packages = folder / "here", folder / "packages"
        self.folder.mkdir()
        packages.mkdir()
        for found in Path(sysconfig.get_paths()["purelib"]).iterdir():
            if not found.name.startswith(("threadkeep", "_editable")) and found.suffix != ".pth":
                (packages / found.name).symlink_to(found)
        (packages / "threadkeep").symlink_to(Path(threadkeep.__file__).parent)
        self._environment = {**os.environ, "PYTHONPATH": str(packages), "HOME": str(folder)}

    def python(self, *arguments: str, said: str = "") -> "subprocess.CompletedProcess[str]":
        """Run it to its end. Without `site`, nothing but the chosen packages is found."""
        command = [sys.executable, "-S", *arguments]
        return subprocess.run(
            command, cwd=self.folder, env=self._environment, input=said, capture_output=True, text=True, timeout=120
        )

    def threadkeep(self, *arguments: str) -> tuple[int, str]:
        """Run a command; return its status and what it complained of."""
        done = self.python("-m", "threadkeep.cli.main", *arguments, said="Hello\n")
        return done.returncode, done.stderr


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> Alone:
    return Alone(tmp_path_factory.mktemp("alone"))


@pytest.mark.parametrize(
    "ring",
    ["assistants", "commands", "importers", "integrations", "pages", "protocols", "providers", "retrieval", "terminal"],
)
def test_no_ring_is_there(alone: Alone, ring: str) -> None:
    done = alone.python("-c", f"import threadkeep_{ring}")
    assert f"No module named 'threadkeep_{ring}'" in done.stderr


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
    assert exported.startswith("503 No installed package offers the writer of HTML")
    assert "no installed package reads those of other programs" in imported
