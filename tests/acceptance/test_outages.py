"""Servers whose database goes away while people write; what happens then is in `outages`, longer in `make torture`."""

from pathlib import Path

import pytest

from tests.acceptance.outages import Happening, killed_in_drain, killed_in_outage, nothing_else, play
from tests.postgres_server import PostgresServer


@pytest.mark.parametrize(
    ("kind", "happens"), [("stopped", killed_in_drain), ("frozen", killed_in_outage), ("cut", nothing_else)]
)
async def test_what_was_acknowledged_in_an_outage_is_there_once(
    kind: str, happens: Happening, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("THREADKEEP_TEST_POSTGRES", raising=False)
    with PostgresServer.start(durable=False) as server:
        assert await play(kind, happens, server, tmp_path) > 0
