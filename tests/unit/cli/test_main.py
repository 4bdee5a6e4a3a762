"""The entry point: help, version, and what it loads for them."""

import subprocess
import sys

import pytest

from threadkeep import __version__
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
