"""`threadkeep share`: links from the command line, shown once, and ended at once."""

import asyncio
from pathlib import Path

import pytest

from threadkeep.cli.main import main
from threadkeep.conversation.clock import utc_now
from threadkeep.conversation.share import Share
from threadkeep.errors import ShareNotFound
from threadkeep.runtime import open_store
from threadkeep.store.shares import find_share
from threadkeep.testing.samples import ADA, new


@pytest.fixture
def store(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path / 'threadkeep.db'}"


async def _conversation(url: str) -> str:
    store = await open_store(url)
    try:
        return await new(store, ADA, "a question", "an answer")
    finally:
        await store.close()


async def _found(url: str, path: str) -> Share:
    store = await open_store(url)
    try:
        return (await find_share(store, utc_now, path.removeprefix("/s/")))[1]
    finally:
        await store.close()


def test_a_link_is_made_listed_and_ended(store: str, capsys: pytest.CaptureFixture[str]) -> None:
    name = asyncio.run(_conversation(store))

    def share(action: str, *more: str) -> str:
        assert main(["share", action, name, *more, "--tenant", ADA.tenant, "--store", store]) == 0
        return capsys.readouterr().out.strip()

    paths = [share("create", "--head", "1", "--expires", "7d"), share("create")]
    first, second = (asyncio.run(_found(store, path)) for path in paths)
    assert (first.head, second.head) == (1, 2)
    lines = share("list").splitlines()
    assert [line.split()[0] for line in lines] == [first.id, second.id]
    assert lines[1].endswith("until it is ended")
    share("end", first.id)
    with pytest.raises(ShareNotFound):
        asyncio.run(_found(store, paths[0]))
    share("end")
    assert share("list") == ""


def test_where_sharing_is_off_no_link_is_made(
    store: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = asyncio.run(_conversation(store))
    monkeypatch.setenv("THREADKEEP_AUTH", "keys")
    asked = ["share", "create", name, "--tenant", ADA.tenant, "--store", store]
    assert main(asked) == 1
    assert "Sharing is off" in capsys.readouterr().err
    monkeypatch.setenv("THREADKEEP_SHARE", "true")
    assert main(asked) == 0
