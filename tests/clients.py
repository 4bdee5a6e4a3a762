"""Published clients and frameworks that tests drive: where `make` has put them.

npm's are pinned in requirements/clients/NAME/ and installed into .venv/clients/NAME; Python's that want other versions
than ours are pinned in requirements/frameworks/NAME.txt and installed, with Threadkeep, into .venv/frameworks/NAME.
"""

from pathlib import Path

from tests.documents import ROOT

NODE = ROOT / ".venv" / "bin" / "node"


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
