"""The front door: nobody outside of the engine imports a part of it, or takes the store out of the conversations."""

import ast
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "threadkeep"
CONTRACT = "The engine is reached by the front door only"
PUBLIC = {"admission", "agent", "assistant", "lookup", "observer", "worker_channel"}
"""The modules of the engine that others are made for: what an assistant is, who may begin a turn, who is told, and what
workers that `serve` starts hear of each other."""
PRIVATE = {"_deps", "_runner", "_store"}
"""What a `Conversations` and its handles keep to themselves."""
OUTSIDE = ("server", "cli", "transfer")


def test_the_import_contract_names_every_private_module_of_the_engine() -> None:
    linter = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["importlinter"]
    (contract,) = [each for each in linter["contracts"] if each["name"] == CONTRACT]
    modules = {path.stem for path in (SOURCE / "turn").iterdir() if path.stem not in ("__init__", "__pycache__")}
    assert {name.rpartition(".")[2] for name in contract["forbidden_modules"]} == modules - PUBLIC
    assert {f"threadkeep.{name}" for name in OUTSIDE} <= set(contract["source_modules"])


def _modules() -> list[Path]:
    rings = [path for path in SOURCE.parent.glob("threadkeep_*/**/*.py") if path.parent.name != "__pycache__"]
    return [*rings, *(path for folder in OUTSIDE for path in (SOURCE / folder).rglob("*.py"))]


@pytest.mark.parametrize("path", _modules(), ids=lambda path: str(path.relative_to(SOURCE.parent)))
def test_nobody_reaches_through_the_conversations(path: Path) -> None:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    through = [
        f"line {node.lineno}: {ast.unparse(node)}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Attribute) and node.attr in PRIVATE and ast.unparse(node.value) != "self"
    ]
    assert through == []
