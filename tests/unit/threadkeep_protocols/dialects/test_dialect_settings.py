"""What can be set about dialects: their assistants, how much history is kept, the folder of files."""

import pytest

from threadkeep.cli.settings_loading import load_settings
from threadkeep.errors import InvalidValue
from threadkeep.settings import DialectSettings, Settings


def test_the_assistants_of_the_dialects_have_names_of_their_own() -> None:
    named = Settings().dialects
    assert (named.sessions, named.chat, named.stateless, named.query) == ("skillian", "chat", "market", "shop")


def test_the_file_can_name_others() -> None:
    settings = load_settings({}, {}, {"dialects": {"query": "books"}})
    assert settings.dialects == DialectSettings(query="books")


def test_a_dialect_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidValue, match=r"dialects\.esperanto"):
        load_settings({}, {}, {"dialects": {"esperanto": "chat"}})


@pytest.mark.parametrize(
    ("given", "store"),
    [
        ({}, "files:///data/sessions"),
        ({"THREADKEEP_STORAGE_DIR": "shop"}, "files:///shop"),
        ({"THREADKEEP_STORAGE_DIR": "/srv/our shop"}, "files:////srv/our%20shop"),
    ],
)
def test_the_store_of_files_is_in_the_storage_dir_unless_it_names_a_folder(given: dict[str, str], store: str) -> None:
    assert load_settings({"THREADKEEP_STORE": "files:", **given}, {}).store == store
    assert load_settings({"THREADKEEP_STORE": "files:///other", **given}, {}).store == "files:///other"


def test_how_much_history_is_kept_can_be_set() -> None:
    assert load_settings({}, {}).max_history_length == 10
    assert load_settings({"THREADKEEP_MAX_HISTORY_LENGTH": "3"}, {}).max_history_length == 3
