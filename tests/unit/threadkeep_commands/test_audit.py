"""`threadkeep audit`: what it lists, and that a head that was kept elsewhere finds a log that was changed."""

import asyncio
import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from threadkeep.cli.main import main
from threadkeep.runtime import open_store
from threadkeep.store.audit import Act

AT = datetime(2026, 1, 31, 12, tzinfo=UTC)


async def _fill(url: str) -> None:
    store = await open_store(url)
    for number in range(3):
        act = Act(at=AT.replace(day=number + 1), action="thing.done", object=f"thing:{number}", details={"n": number})
        await store.audit.append("acme", act)
    await store.close()


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The flags of a store with three records."""
    monkeypatch.chdir(tmp_path)
    url = f"sqlite:///{tmp_path}/some.db"
    asyncio.run(_fill(url))
    return ["--store", url, "--tenant", "acme"]


def test_the_newest_records_are_lines_oldest_first(store: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "list", "--limit", "2", *store]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert first == "2  2026-01-02 12:00:00  system  thing.done  thing:1  n=1"
    assert second.startswith("3  ")


def test_records_can_be_chosen_by_time_and_printed_as_json(
    store: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "--from", "2026-01-02T00:00Z", "--to", "2026-01-03T00:00Z", "--json", *store]) == 0
    record = json.loads(capsys.readouterr().out)
    assert (record["tenant"], record["seq"], record["act"]["details"]) == ("acme", 2, {"n": 1})
    with pytest.raises(SystemExit):
        main(["audit", "--from", "yesterday", *store])
    assert "'yesterday' is no time" in capsys.readouterr().err


def test_a_head_that_was_kept_verifies_and_anything_else_is_refused(
    store: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["audit", "head", *store]) == 0
    kept = tmp_path / "head.json"
    kept.write_text(capsys.readouterr().out)
    assert main(["audit", "verify", "--head", str(kept), *store]) == 0
    assert "3 records, the newest is 3 " in capsys.readouterr().out
    kept.write_text("no head")
    assert main(["audit", "verify", "--head", str(kept), *store]) == 1
    assert "holds no head" in capsys.readouterr().err
