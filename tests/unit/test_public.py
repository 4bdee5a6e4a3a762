"""The names that `import threadkeep` offers."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import threadkeep
from threadkeep import rings
from threadkeep_integrations.conversation_store import ConversationStore


def test_the_public_names_are_listed_in_order() -> None:
    assert threadkeep.__all__ == sorted(threadkeep.__all__)
    assert len(set(threadkeep.__all__)) == len(threadkeep.__all__)


@pytest.mark.parametrize("name", threadkeep.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(threadkeep, name).__name__ == name


def test_a_package_around_the_core_may_add_a_name() -> None:
    assert threadkeep.ConversationStore is ConversationStore


def test_a_name_whose_package_is_missing_is_no_attribute(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rings, "offered", lambda group: ())
    with pytest.raises(AttributeError, match="no installed package adds it"):
        threadkeep.ConversationStore  # noqa: B018


def test_type_checkers_are_told_the_same_names() -> None:
    stub = ast.parse(Path(threadkeep.__file__).with_suffix(".pyi").read_text())
    homes = [each for each in stub.body if isinstance(each, ast.ImportFrom) and each.module != "typing"]
    told = {alias.asname: each.module for each in homes for alias in each.names}
    assert told == {name: f"threadkeep.{home}" for name, home in threadkeep._HOME_OF.items()}


def test_a_name_that_is_not_there_is_named_in_the_error() -> None:
    with pytest.raises(AttributeError, match="no_such_thing"):
        threadkeep.no_such_thing  # noqa: B018


def test_importing_the_package_loads_no_driver_no_server_and_no_vendor() -> None:
    heavy = ("apsw", "asyncpg", "zstandard", "fastapi", "starlette", "uvicorn", "pydantic", "langchain_core", "pytest")
    program = f"import sys, threadkeep; print(sorted(set({heavy!r}) & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
