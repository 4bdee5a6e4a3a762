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
