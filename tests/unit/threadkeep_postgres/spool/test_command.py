"""`threadkeep spool`: what is in a spool is listed while the database is away, and written when it is back."""

import asyncio
from pathlib import Path

import pytest

from tests.database_proxy import before
from tests.postgres_server import Urls
from threadkeep.cli.main import main
from threadkeep.conversation.message import MessageStatus
from threadkeep.conversation.turn import TurnState
from threadkeep.hosting import SpoolSettings
from threadkeep.runtime import open_store
from threadkeep.testing.samples import ADA, MINUTE, new, run, texts_of
from threadkeep_postgres.spool.opening import open_spooling_store


async def _left_in(folder: Path, url: str) -> str:
    """Leave a conversation with half an answer in a spool, and return its id."""
    async with before(url) as proxy:
        store = await open_spooling_store(proxy.url(), SpoolSettings(folder=folder, patience=1))
        name = await new(store, ADA, "one", "two")
        proxy.fall_silent()
        lease = (await run(store, name, "three")).lease
        assert lease is not None
        await store.write(lease, "m", 0, "fo")
        await store.close()
    return name


def test_a_spool_is_listed_and_drained_by_hand(
    postgres_database: Urls, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = asyncio.run(_left_in(tmp_path, postgres_database.server))
    spool = ["--spool", str(tmp_path)]
    assert main(["spool", "list", *spool]) == 0
    assert capsys.readouterr().out == f"acme ada {name} 2 entries\n"
    nowhere = "postgresql://nobody@127.0.0.1:1/nothing"
    assert main(["spool", "drain", *spool, "--store", nowhere]) == 1
    assert capsys.readouterr().err.startswith("threadkeep: The database cannot be reached")
    assert main(["spool", "drain", *spool, "--store", postgres_database.server]) == 0
    assert capsys.readouterr().out == "1 conversation(s) are in the database now\n"
    assert main(["spool", "list", *spool]) == 0
    assert capsys.readouterr().out == f"{tmp_path} is empty\n"
    asyncio.run(_check(postgres_database.server, name))


async def _check(url: str, name: str) -> None:
    store = await open_store(url)
    assert texts_of(await store.newest(ADA, name)) == ["one", "two", "three", "fo"]
    (half,) = await store.newest(ADA, name, limit=1)
    assert getattr(half.body, "status", None) is MessageStatus.INTERRUPTED
    # It is taken up by whoever runs turns on this database.
    (turn,) = await store.turns(ADA, name)
    assert (turn.state, turn.number) == (TurnState.RUNNING, 3)
    assert await store.take(turn, "two", MINUTE) is not None
    await store.close()


@pytest.mark.parametrize("arguments", [["list"], ["list", "--spool", "nowhere"]])
def test_without_a_spool_it_says_so(
    arguments: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["spool", *arguments]) == 1
    assert "There is no spool" in capsys.readouterr().err
