"""Settings: what wins over what, and what may be shown."""

import pytest

from threadkeep.errors import InvalidValue
from threadkeep.settings import Settings, load_settings


def test_the_defaults_are_one_file_on_the_loopback() -> None:
    assert load_settings({}, {}) == Settings(store="sqlite:///threadkeep.db", host="127.0.0.1", port=8000)


def test_the_environment_wins_over_defaults_and_a_flag_over_both() -> None:
    environment = {"THREADKEEP_STORE": "memory:", "THREADKEEP_PORT": "9000", "THREADKEEP_HOST": ""}
    assert load_settings(environment, {"port": 9001, "store": None}) == Settings(store="memory:", port=9001)


@pytest.mark.parametrize(("name", "value"), [("port", "many"), ("port", "65536"), ("port", "-1")])
def test_a_wrong_value_names_its_setting(name: str, value: str) -> None:
    with pytest.raises(InvalidValue, match=f"the setting {name} is not valid"):
        load_settings({f"THREADKEEP_{name.upper()}": value}, {})


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
