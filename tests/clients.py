"""Published clients and frameworks that tests drive: where `make` has put them.

npm's are pinned in requirements/clients/NAME/ and installed into .venv/clients/NAME; Python's that want other versions
than ours are pinned in requirements/frameworks/NAME.txt and installed, with Threadkeep, into .venv/frameworks/NAME.
"""

import asyncio
import os
from pathlib import Path

from tests.documents import ROOT

NODE = ROOT / ".venv" / "bin" / "node"
SHARED = ROOT / "tests" / "integration" / "javascript" / "served.mjs"
"""What files of tests in Node share: they import it from beside them."""


def client(name: str) -> Path:
    """Return the folder that has the `node_modules` of a client."""
    return _there(ROOT / ".venv" / "clients" / name, f"requirements/clients/{name}/package-lock.json")


def framework_python(name: str) -> Path:
    """Return the Python that has a framework, and Threadkeep."""
    return _there(ROOT / ".venv" / "frameworks" / name, f"requirements/frameworks/{name}.txt") / "bin" / "python"


def _there(folder: Path, pinned: str) -> Path:
    if not (folder / ".stamp").exists():
        raise AssertionError(f"{folder} is missing: `make test` installs it from {pinned}")
    return folder


async def node_tests(name: str, tests: Path, folder: Path, patience: float = 120, **environment: str) -> None:
    """Run a file of tests in Node, in a folder where it finds a client."""
    (folder / "node_modules").symlink_to(client(name) / "node_modules")
    for each in (tests, SHARED):
        (folder / each.name).write_text(each.read_text(encoding="utf-8"))
    program = await asyncio.create_subprocess_exec(
        *(NODE, "--test", "--test-reporter=spec", folder / tests.name),
        env=os.environ | environment,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    told, _ = await asyncio.wait_for(program.communicate(), patience)
    assert program.returncode == 0, told.decode()
