"""`threadkeep migrate`, on files; the PostgreSQL side is in tests/integration."""

from pathlib import Path

import pytest

from threadkeep.cli.main import main


def test_it_says_what_was_applied_and_then_that_nothing_is_left(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    store = f"sqlite:///{tmp_path}/conversations.db"
    assert main(["migrate", "--store", store]) == 0
    assert capsys.readouterr().out.startswith("applied ")
    assert main(["migrate", "--store", store]) == 0
    assert capsys.readouterr().out == f"{store} is up to date\n"


def test_the_store_is_the_one_that_the_file_names(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "threadkeep.toml").write_text('store = "sqlite:///named.db"\n')
    monkeypatch.setenv("THREADKEEP_CONFIG", "threadkeep.toml")
    assert main(["migrate"]) == 0
    assert capsys.readouterr().out.startswith("applied ")
    assert [path.name for path in tmp_path.glob("*.db")] == ["named.db"]
