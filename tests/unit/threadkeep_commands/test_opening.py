"""How a command gets to its store: which are refused, and how a time is written."""

import argparse
from datetime import timedelta
from pathlib import Path

import pytest

from threadkeep.errors import InvalidStoreUrl, StoreUnavailable
from threadkeep.settings import Settings
from threadkeep_commands.opening import audit_key, checked_settings, duration, opened


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file of settings is found."""
    monkeypatch.chdir(tmp_path)


def test_a_store_in_memory_is_refused_because_it_ends_with_the_command() -> None:
    with pytest.raises(InvalidStoreUrl, match="name another with --store"):
        checked_settings("memory:")


def test_a_store_that_is_missing_is_refused_unless_it_may_be_made(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/none.db"
    with pytest.raises(StoreUnavailable, match="There is no store"):
        checked_settings(url)
    assert checked_settings(url, is_made=True).store == url


async def test_what_was_opened_is_closed_and_can_be_opened_again(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path}/some.db"
    async with opened(url, is_made=True) as conversations:
        kept = await conversations.create(title="Kept")
    async with opened(url) as conversations:
        assert (await (await conversations.get(kept.id)).read()).title == "Kept"


def test_a_time_has_a_number_and_a_unit() -> None:
    assert duration("90d") == timedelta(days=90)
    with pytest.raises(argparse.ArgumentTypeError, match="'soon' is no time"):
        duration("soon")


def test_without_a_key_of_its_own_the_audit_log_is_signed_by_the_store() -> None:
    assert audit_key(Settings()) is None
    assert audit_key(Settings.model_validate({"audit_key": "k" * 32})) == b"k" * 32
