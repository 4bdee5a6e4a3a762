"""Where settings come from: what wins over what, and what is told of a wrong one."""

from pathlib import Path

import pytest

from threadkeep.cli.settings_loading import load_settings, origins, read_file, unknown_variables
from threadkeep.errors import InvalidValue
from threadkeep.settings import Settings
from threadkeep.tools.mcp import McpServer


def unexpected(path: Path, content: bytes) -> None:
    """Nothing is asked about a file that was named, or that is not there."""
    raise AssertionError(path)


def test_the_defaults_are_one_file_on_the_loopback() -> None:
    assert load_settings({}, {}) == Settings(store="sqlite:///threadkeep.db", host="127.0.0.1", port=8000)


def test_the_environment_wins_over_defaults_and_a_flag_over_both() -> None:
    environment = {"THREADKEEP_STORE": "memory:", "THREADKEEP_PORT": "9000", "THREADKEEP_HOST": ""}
    assert load_settings(environment, {"port": 9001, "store": None}) == Settings(store="memory:", port=9001)


@pytest.mark.parametrize(("name", "value"), [("port", "many"), ("port", "65536"), ("port", "-1")])
def test_a_wrong_value_names_its_setting(name: str, value: str) -> None:
    with pytest.raises(InvalidValue, match=f"the setting {name} is not valid"):
        load_settings({f"THREADKEEP_{name.upper()}": value}, {})


TOML = """
store = "memory:"
port = 9000

[mcp.servers.git]
command = "uvx"
args = ["mcp-server-git"]
env = { TOKEN = "secret ${GIT_TOKEN}" }

[mcp.servers.docs]
url = "https://docs.example.org/mcp"
approve = "destructive"
"""


def test_the_file_wins_over_defaults_and_the_environment_over_the_file(tmp_path: Path) -> None:
    path = tmp_path / "my.toml"
    path.write_text(TOML)
    environment = {"THREADKEEP_CONFIG": str(path), "THREADKEEP_PORT": "9001", "GIT_TOKEN": "hush"}
    settings = load_settings(environment, {}, read_file(environment, unexpected))
    assert (settings.store, settings.port, settings.host) == ("memory:", 9001, "127.0.0.1")
    assert settings.mcp.servers == {
        "git": McpServer(command="uvx", args=("mcp-server-git",), env={"TOKEN": "secret hush"}),
        "docs": McpServer(url="https://docs.example.org/mcp", approve="destructive"),
    }


def test_the_file_is_looked_for_here_and_need_not_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert read_file({}, unexpected) == {}
    (tmp_path / "threadkeep.toml").write_text("port = 1")
    checked = list[tuple[str, bytes]]()
    assert read_file({}, lambda path, content: checked.append((path.name, content))) == {"port": 1}
    assert checked == [("threadkeep.toml", b"port = 1")]


def test_a_file_that_was_named_must_be_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="there is no file"):
        read_file({"THREADKEEP_CONFIG": str(tmp_path / "none.toml")}, unexpected)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [("port = ", "cannot be read"), ('store = "${MISSING}"', "the variable MISSING, which is not set")],
)
def test_a_file_that_cannot_be_used_says_why(tmp_path: Path, text: str, complaint: str) -> None:
    path = tmp_path / "threadkeep.toml"
    path.write_text(text)
    with pytest.raises(InvalidValue, match=complaint):
        read_file({"THREADKEEP_CONFIG": str(path)}, unexpected)


def test_each_value_knows_where_it_came_from() -> None:
    variables, flags = {"THREADKEEP_PORT": "1", "THREADKEEP_HOST": ""}, {"store": "memory:", "model": None}
    told = origins(variables, flags, {"port": 2, "log_level": "debug"})
    assert (told["store"], told["port"], told["log_level"]) == ("--store", "THREADKEEP_PORT", "threadkeep.toml")
    assert (told["host"], told["model"]) == ("default", "default")


def test_a_wrong_value_says_where_it_came_from() -> None:
    with pytest.raises(InvalidValue, match=r"the setting port is not valid \(from THREADKEEP_PORT\)"):
        load_settings({"THREADKEEP_PORT": "x"}, {}, {"port": 1})
    with pytest.raises(InvalidValue, match=r"the setting port is not valid \(from --port\)"):
        load_settings({"THREADKEEP_PORT": "1"}, {"port": 99999})
    with pytest.raises(InvalidValue, match=r"there is no setting prot \(from other.toml\)"):
        load_settings({"THREADKEEP_CONFIG": "other.toml"}, {}, {"prot": 1})


def test_variables_that_are_no_settings_are_found() -> None:
    heard = {"THREADKEEP_STORE": "memory:", "THREADKEEP_CONFIG": "x", "THREADKEEP_URL": "u", "HOME": "/"}
    assert unknown_variables(heard) == []
    assert unknown_variables(heard | {"THREADKEEP_PROT": "1", "THREADKEEP_MCP": "x"}) == [
        "THREADKEEP_MCP",
        "THREADKEEP_PROT",
    ]
