"""The entry point: help, version, and what it loads for them."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from threadkeep import __version__, rings
from threadkeep.cli.main import COMMANDS, main

HELP = """
import sys
from threadkeep.cli.main import main
try:
    main(["--help"])
except SystemExit:
    print("loaded:", *sorted({name.partition(".")[0] for name in sys.modules}))
"""


def test_help_loads_no_server_and_no_driver() -> None:
    output = subprocess.run([sys.executable, "-c", HELP], capture_output=True, text=True, check=True).stdout
    loaded = set(output.rpartition("loaded:")[2].split())
    assert "threadkeep" in loaded
    assert not loaded & {"uvicorn", "fastapi", "starlette", "pydantic", "apsw", "asyncpg", "zstandard"}


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_is_listed_and_explains_itself(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--help"])
    assert COMMANDS[command] in capsys.readouterr().out
    with pytest.raises(SystemExit, match="0"):
        main([command, "--help"])
    assert f"usage: threadkeep {command}" in capsys.readouterr().out


def test_the_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="0"):
        main(["--version"])
    assert capsys.readouterr().out == f"threadkeep {__version__}\n"


def test_without_a_command_it_lists_them(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert "commands:" in capsys.readouterr().err


def test_an_unknown_command_is_a_mistake_of_usage(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["sreve"])
    assert "invalid choice: 'sreve'" in capsys.readouterr().err


def test_a_wrong_setting_is_named_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("THREADKEEP_PORT", "eighty")
    assert main(["serve"]) == 1
    complaint = capsys.readouterr().err
    assert complaint.startswith("threadkeep: the setting port is not valid")
    assert complaint.count("\n") == 1


def threadkeep(arguments: str, folder: Path, redirection: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a shell, which closes or redirects its streams."""
    command = f"{shlex.quote(sys.executable)} -m threadkeep.cli.main {arguments} {redirection}"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("THREADKEEP_")}
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )


COMMANDS_THAT_PRINT = ["config", "config --json", "doctor --port 0", "keys create --tenant t --user u", "migrate"]


@pytest.mark.parametrize("arguments", COMMANDS_THAT_PRINT)
def test_a_reader_who_leaves_is_no_reason_to_complain(arguments: str, tmp_path: Path) -> None:
    assert threadkeep(arguments, tmp_path, "| true").stderr == ""


@pytest.mark.parametrize("arguments", COMMANDS_THAT_PRINT)
def test_output_that_cannot_be_written_is_told_in_one_line(arguments: str, tmp_path: Path) -> None:
    done = threadkeep(arguments, tmp_path, ">/dev/full")
    assert (done.returncode, done.stderr) == (1, "threadkeep: No space left on device\n")


@pytest.mark.parametrize("arguments", COMMANDS_THAT_PRINT)
def test_closed_streams_are_no_obstacle(arguments: str, tmp_path: Path) -> None:
    done = threadkeep(arguments, tmp_path, "<&- >&-")
    assert (done.returncode, done.stderr) == (0, "")


def test_a_chat_without_input_and_output_ends(tmp_path: Path) -> None:
    done = threadkeep("chat --model demo", tmp_path, "<&- >&-")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False)


def test_a_command_whose_package_is_missing_is_told_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(rings, "offered", lambda group: ())
    assert main(["chat"]) == 1
    assert capsys.readouterr().err.startswith("threadkeep: No installed package offers the command chat")
