"""`threadkeep retention` and `threadkeep hold`: what is due, done or only shown, and what is kept from it."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from threadkeep.cli.main import main
from threadkeep.conversation.entry import Update
from threadkeep.conversation.facts import Status
from threadkeep.conversation.scope import LOCAL, Scope
from threadkeep.runtime import open_store
from threadkeep.testing.samples import new

ADA = Scope(tenant="acme", user="ada")


async def _fill(url: str) -> None:
    store = await open_store(url)
    await new(store, LOCAL, "hello", name="active")
    await new(store, LOCAL, "hello", name="done")
    await store.update(LOCAL, "done", Update(status=Status.COMPLETED))
    await new(store, ADA, "hello", name="adas")
    await store.close()


async def _statuses(url: str) -> dict[str, str]:
    store = await open_store(url)
    found = [*(await store.list(LOCAL)).items, *(await store.list(ADA)).items]
    await store.close()
    return {item.id: item.status.value for item in found}


@pytest.fixture
def store(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path / 'threadkeep.db'}"
    asyncio.run(_fill(url))
    return url


@pytest.fixture
def shown(store: str, capsys: pytest.CaptureFixture[str]) -> Any:
    """Runs a command and returns what it printed as JSON."""

    def run(*arguments: str) -> Any:
        capsys.readouterr()
        assert main([*arguments, "--store", store, "--json"]) == 0
        return json.loads(capsys.readouterr().out)

    return run


@pytest.mark.parametrize("command", [("retention", "preview"), ("retention", "run", "--dry-run")])
def test_what_is_due_is_listed_and_left(shown: Any, store: str, command: tuple[str, ...]) -> None:
    assert shown(*command) == []
    due = {(row["conversation"], row["action"], row["reason"]) for row in shown(*command, "--now", "+120d")}
    assert due == {
        ("done", "delete", "completed_kept"),
        ("active", "abandon", "abandoned_after"),
        ("adas", "abandon", "abandoned_after"),
    }
    assert {row["conversation"] for row in shown(*command, "--now", "9999-01-01", "--tenant", "acme")} == {"adas"}
    assert asyncio.run(_statuses(store)) == {"active": "active", "done": "completed", "adas": "active"}


def test_a_run_does_it_and_says_how_much(shown: Any, store: str) -> None:
    assert shown("retention", "run", "--now", "+120d") == [
        {"tenant": "acme", "abandoned": 1, "deleted": 0},
        {"tenant": "local", "abandoned": 1, "deleted": 1},
    ]
    assert asyncio.run(_statuses(store)) == {"active": "abandoned", "adas": "abandoned"}


def test_a_table_is_shown_unless_json_is_asked_for(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["retention", "preview", "--store", store, "--now", "+120d", "--tenant", "acme"]) == 0
    heading, row = capsys.readouterr().out.splitlines()
    assert heading.split() == ["tenant", "user", "conversation", "status", "action", "reason", "due"]
    assert row.split()[:6] == ["acme", "ada", "adas", "active", "abandon", "abandoned_after"]
    assert main(["retention", "preview", "--store", store]) == 0
    assert capsys.readouterr() == ("", "Nothing is due.\n")


def test_the_rules_of_the_settings_are_obeyed(shown: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THREADKEEP_RETENTION", '{"abandoned_after": "forever", "user_conversations": 1}')
    assert [(row["conversation"], row["reason"]) for row in shown("retention", "preview")] == [
        ("active", "user_conversations")
    ]


@pytest.mark.parametrize(
    ("rules", "complaint"),
    [
        ('{"completed_kept": "-1d"}', "A period is"),
        ('{"completed": "1d"}', "there is no setting retention.completed"),
        ("{", "the setting retention is not valid (from THREADKEEP_RETENTION)"),
    ],
)
def test_settings_that_make_no_sense_are_refused(
    store: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, rules: str, complaint: str
) -> None:
    monkeypatch.setenv("THREADKEEP_RETENTION", rules)
    assert main(["retention", "run", "--store", store]) == 1
    assert complaint in capsys.readouterr().err


def test_what_is_held_is_left_alone_until_the_hold_is_removed(
    shown: Any, store: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (first,) = shown("hold", "add", "--conversation", "done", "--reason", "case 7")
    (second,) = shown("hold", "add", "--user", "ada", "--tenant", "acme", "--reason", "case 8")
    (third,) = shown("hold", "add", "--tenant", "acme", "--reason", "case 9")
    assert [row["held"] for row in (first, second, third)] == ["conversation done", "user ada", "tenant"]
    assert shown("hold", "list") == [second, third, first]
    assert shown("hold", "list", "--tenant", "local") == [first]
    due = ("retention", "preview", "--now", "+120d")
    assert {row["conversation"] for row in shown(*due)} == {"active"}
    for hold in (first, second):
        assert main(["hold", "remove", hold["id"], "--store", store]) == 0
    assert {row["conversation"] for row in shown(*due)} == {"active", "done"}
    assert main(["hold", "remove", first["id"], "--store", store]) == 1
    assert "There is no such legal hold." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "status", "complaint"),
    [
        ((), 2, "name what to hold"),
        (("--user", "nobody"), 1, "There is nothing to hold"),
        (("--conversation", "adas"), 1, "There is nothing to hold"),
        (("--tenant", "nobody"), 1, "There is nothing to hold"),
    ],
)
def test_a_hold_on_nobody_is_refused(
    store: str, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], status: int, complaint: str
) -> None:
    assert main(["hold", "add", *arguments, "--reason", "case 7", "--store", store]) == status
    assert complaint in capsys.readouterr().err


def test_a_moment_that_is_none_is_refused(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    for when, complaint in (("then", "A moment is a date"), ("+0d", "A period is"), ("-5d", "A period is")):
        assert main(["retention", "preview", "--store", store, f"--now={when}"]) == 1
        assert complaint in capsys.readouterr().err


def test_a_tenant_that_is_not_there_is_refused_and_not_made(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    for command in (["retention", "run"], ["retention", "run", "--dry-run"], ["hold", "list"]):
        assert main([*command, "--tenant", "nobody", "--store", store]) == 1
        assert capsys.readouterr().err == "threadkeep: There is no tenant nobody.\n"
    assert main(["retention", "run", "--store", store]) == 0
    assert "nobody" not in capsys.readouterr().out
