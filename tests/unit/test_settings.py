"""Settings: what is valid, and what may be shown."""

import pytest

from threadkeep.cli.settings_loading import load_settings
from threadkeep.errors import InvalidValue
from threadkeep.settings import Settings


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:///threadkeep.db", "sqlite:///threadkeep.db"),
        ("sqlite:////srv/threadkeep.db", "sqlite:////srv/threadkeep.db"),
        ("files:///srv/conversations", "files:///srv/conversations"),
        ("memory:", "memory:"),
        ("postgresql://keeper:secret@db:5432/chat", "postgresql://keeper@db:5432/chat"),
        ("postgresql://keeper:se@cret@db/chat", "postgresql://keeper@db/chat"),
        ("postgresql:///chat?host=db&password=secret", "postgresql:///chat"),
    ],
)
def test_a_store_is_shown_without_its_secrets(url: str, shown: str) -> None:
    assert Settings(store=url).store_without_secrets == shown


@pytest.mark.parametrize(
    ("server", "place"),
    [({"command": "x", "url": "http://y"}, "mcp.servers.git"), ({"url": "nowhere"}, "mcp.servers.git.url")],
)
def test_a_wrong_server_is_named(server: dict[str, str], place: str) -> None:
    with pytest.raises(InvalidValue, match=f"the setting {place} is not valid"):
        load_settings({}, {}, {"mcp": {"servers": {"git": server}}})


def test_a_list_is_written_with_commas_in_a_variable() -> None:
    environment = {"THREADKEEP_CORS_ORIGINS": "https://a.example, http://localhost:3000"}
    assert load_settings(environment, {}).cors_origins == ("https://a.example", "http://localhost:3000")


@pytest.mark.parametrize("origin", ["*", "null", "a.example", "https://a.example/path", "https://", "file:///x"])
def test_an_origin_is_a_site_and_nothing_else(origin: str) -> None:
    with pytest.raises(InvalidValue, match="the setting cors_origins"):
        load_settings({"THREADKEEP_CORS_ORIGINS": origin}, {})
