"""A file of settings that merely lies in the folder starts nothing before the person there has said so."""

import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.acceptance.pseudo_terminal import running
from threadkeep.cli.main import main

STARTED = "started.txt"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder whose file starts a program that leaves a trace."""
    here = tmp_path / "cloned"
    here.mkdir()
    monkeypatch.chdir(here)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("THREADKEEP_CONFIG", raising=False)
    program = f"open('{STARTED}', 'w')"
    (here / "threadkeep.toml").write_text(
        f'[mcp.servers.evil]\ncommand = "{sys.executable}"\nargs = ["-c", "{program}"]\n'
    )
    return here


@pytest.mark.parametrize("command", [["doctor"], ["chat"], ["serve"], ["config"], ["migrate"], ["keys", "list"]])
def test_no_command_uses_it_unasked(folder: Path, command: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command) == 1
    complaint = capsys.readouterr().err
    assert "threadkeep trust" in complaint
    assert complaint.count("\n") == 1
    assert [path.name for path in folder.iterdir()] == ["threadkeep.toml"]


def test_it_is_used_once_it_was_trusted_until_it_changes(folder: Path, tmp_path: Path) -> None:
    assert main(["trust"]) == 0
    assert main(["config"]) == 0
    memory = tmp_path / "config" / "threadkeep" / "trusted.json"
    assert (memory.stat().st_mode & 0o777, memory.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    with (folder / "threadkeep.toml").open("a") as file:
        file.write("timeout = 3\n")
    assert main(["config"]) == 1
    memory.write_text("[]")
    assert main(["config"]) == 1


def test_the_same_text_in_another_folder_is_another_file(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main(["trust"])
    (tmp_path / "threadkeep.toml").write_bytes((folder / "threadkeep.toml").read_bytes())
    monkeypatch.chdir(tmp_path)
    assert main(["config"]) == 1


@pytest.mark.parametrize("variable", ["XDG_CONFIG_HOME", "HOME"])
def test_a_folder_does_not_bring_its_own_record_along(
    variable: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert main(["trust"]) == 0
    (tmp_path / "config").rename(folder / ".config")
    (folder / "threadkeep").symlink_to(folder / ".config" / "threadkeep")
    monkeypatch.delenv("XDG_CONFIG_HOME")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr("pwd.getpwuid", lambda _: SimpleNamespace(pw_dir=str(tmp_path / "home")))
    monkeypatch.setenv(variable, ".")
    assert main(["config"]) == 1


def test_a_file_that_was_named_is_used(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THREADKEEP_CONFIG", "")
    assert main(["doctor", "--config", "threadkeep.toml", "--port", "0"]) == 1
    assert (folder / STARTED).exists()


def test_a_person_at_a_terminal_is_asked_once(folder: Path, tmp_path: Path) -> None:
    environment = {"XDG_CONFIG_HOME": str(tmp_path / "config"), "TERM": "dumb"}
    command = (folder, sys.executable, "-m", "threadkeep.cli.main", "config")
    for answer, status in (("n", 1), ("y", 0)):
        with running(*command, environment=environment) as screen:
            screen.wait_for("[y/N] ")
            screen.type(f"{answer}\r")
            assert screen.wait_for_end() == status
    with running(*command, environment=environment) as screen:
        assert screen.wait_for_end() == 0
        assert "[y/N]" not in screen.shown


def test_there_must_be_a_file_to_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("THREADKEEP_CONFIG", raising=False)
    assert main(["trust"]) == 1
