"""What a server sets of its conversations, as its settings say."""

from pathlib import Path

from threadkeep.hosting import Hosting, hosting_of, spool_settings
from threadkeep.settings import Settings


def test_without_a_folder_there_is_no_spool() -> None:
    assert spool_settings(Settings()) is None
    spool = spool_settings(Settings.model_validate({"spool_dir": "spool", "spool_turns": "answer"}))
    assert spool is not None
    assert (spool.folder, spool.answers) == (Path("spool"), True)


def test_the_caps_of_users_and_of_tenants_are_not_mixed_up() -> None:
    given = {"user_conversations": 1, "user_storage_bytes": 2, "tenant_conversations": 3, "tenant_storage_bytes": 4}
    caps = hosting_of(Settings.model_validate({**given, "queued_turns": 5})).caps
    assert (*caps._user, *caps._tenant, caps.queued_turns) == (1, 2, 3, 4, 5)


def test_the_limits_of_files_are_those_of_the_settings() -> None:
    given = {"max_file_bytes": 1, "max_attached_bytes": 2, "user_file_bytes": 3, "tenant_file_bytes": 4}
    assert hosting_of(Settings.model_validate(given)).file_limits == (1, 2, 3, 4)


def test_models_that_the_settings_name_win_over_those_of_the_keys() -> None:
    named = Settings.model_validate({"models": ["openai:a"]})
    assert hosting_of(named, models=("xai:*",)).models == ("openai:a",)
    assert hosting_of(Settings(), models=("xai:*",)).models == ("xai:*",)
    assert hosting_of(Settings()).models == ()


def test_a_program_has_no_limits_but_those_of_every_value_and_obeys_no_rules() -> None:
    hosting = Hosting(settings=Settings(user_turns=1, spool_dir="spool", max_history_length=3))
    assert (hosting.spool, hosting.retention, hosting.models) == (None, None, None)
    assert hosting.admission._user_turns == 0
    assert hosting_of(hosting.settings).admission._user_turns == 1
