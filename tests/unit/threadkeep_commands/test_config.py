"""`threadkeep config`: every setting, where it came from, and no secret."""

import json
from pathlib import Path

import pytest

from threadkeep.cli.main import main
from threadkeep.settings import Settings

TOML = """
store = "postgresql://keeper:hunter2@db/chat?password=hunter2"
stop_patience = 3

[mcp.servers.git]
command = "uvx"
args = ["mcp-server-git", "--token=hunter2"]
env = { TOKEN = "hunter2" }

[mcp.servers.docs]
url = "https://me:hunter2@docs.example.org/mcp?key=hunter2"
headers = { Authorization = "Bearer hunter2" }
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "threadkeep.toml").write_text(TOML)
    monkeypatch.setenv("THREADKEEP_CONFIG", "threadkeep.toml")
    monkeypatch.setenv("THREADKEEP_LOG_LEVEL", "debug")
    return tmp_path


def test_every_setting_is_told_with_its_origin(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--port", "9000", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["port"] == {"value": 9000, "source": "--port"}
    assert told["log_level"] == {"value": "debug", "source": "THREADKEEP_LOG_LEVEL"}
    assert told["stop_patience"] == {"value": 3.0, "source": "threadkeep.toml"}
    assert told["host"] == {"value": "127.0.0.1", "source": "default"}
    assert told["mcp.servers.git.command"]["source"] == "threadkeep.toml"
    assert told["mcp.servers.git.timeout"]["source"] == "default"
    assert told["mcp.servers.git.env.TOKEN"]["source"] == "threadkeep.toml"
    assert told["dialects.query"]["source"] == "default"
    assert {name.partition(".")[0] for name in told} == set(Settings.model_fields)


@pytest.mark.parametrize("flags", [[], ["--json"]])
def test_no_secret_is_shown(folder: Path, flags: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", *flags]) == 0
    told = capsys.readouterr().out
    assert "hunter2" not in told
    for shown in ("postgresql://keeper@db/chat", "https://docs.example.org/mcp", "mcp.servers.git.env.TOKEN"):
        assert shown in told


def test_a_person_gets_a_line_for_each(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "--model", "demo"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert ["model", "demo", "--model"] in lines
    assert ["cors_origins", "-", "default"] in lines
    assert ["log_content", "false", "default"] in lines


@pytest.mark.parametrize("text", ["port = ", 'store = "${MISSING}"', "prot = 1", "cors_origins = ['*']", "\xff"])
def test_a_file_that_cannot_be_used_is_told_in_one_line(
    folder: Path, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "threadkeep.toml").write_bytes(text.encode("latin-1"))
    assert main(["config"]) == 1
    complaint = capsys.readouterr().err
    assert complaint.startswith("threadkeep: ")
    assert complaint.count("\n") == 1
