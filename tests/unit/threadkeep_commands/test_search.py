"""`threadkeep search`: what is found, as lines and as JSON."""

import asyncio
import json
from pathlib import Path

import pytest

from threadkeep.cli.main import main
from threadkeep.conversation.conversation import NewConversation
from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_store
from threadkeep.testing.samples import ADA, say


async def _fill(url: str) -> None:
    store = await open_store(url)
    for scope, name in ((LOCAL, "one"), (ADA, "other")):
        await store.create(scope, NewConversation(id=name, title="About otters"))
        await say(store, name, "an otter in a zoo", "an otter in a river", scope=scope)
    await store.close()


@pytest.fixture
def url(tmp_path: Path) -> str:
    url = f"sqlite:///{tmp_path}/one.db"
    asyncio.run(_fill(url))
    return url


def test_hits_are_shown_with_their_place(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "otter -zoo", "role:assistant", "--store", url]) == 0
    first, second = capsys.readouterr().out.splitlines()
    assert "one 2  assistant  About" in first
    assert "in a river" in second


def test_hits_are_json_lines_as_the_server_gives_them(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "otters", "--json", "--store", url]) == 0
    (hit,) = map(json.loads, capsys.readouterr().out.splitlines())
    assert (hit["kind"], hit["conversation"], hit["entry"]) == ("title", "one", None)
    assert main(["search", "otter", "--tenant", "acme", "--user", "ada", "--limit", "1", "--json", "--store", url]) == 0
    assert json.loads(capsys.readouterr().out)["conversation"] == "other"


def test_nothing_found_and_a_bad_search_are_told(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["search", "walrus", "--store", url]) == 1
    assert "Nothing was found." in capsys.readouterr().err
    assert main(["search", "otter", "before:soon", "--store", url]) == 1
    assert "before: takes a date" in capsys.readouterr().err
    assert main(["search", "walrus", "--store", url + "missing"]) == 1
    assert "There is no store" in capsys.readouterr().err
