"""Servers whose database goes away while people write; what happens then is in `outages`, longer in `make torture`."""

from pathlib import Path

import pytest

from tests.acceptance.outages import Fault, killed_in_drain, killed_in_outage, nothing_else, play, play_failover


async def test_what_was_acknowledged_in_outages_of_every_kind_is_there_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("THREADKEEP_TEST_POSTGRES", raising=False)
    kinds = ("cut", "half-open", "slow", "resetting", "full", "read-only")
    faults = [Fault("stopped", killed_in_drain), Fault("frozen", killed_in_outage), *map(Fault, kinds)]
    assert (await play(faults, tmp_path)).messages > 0


async def test_what_was_acknowledged_while_a_standby_was_promoted_is_there_once(tmp_path: Path) -> None:
    assert (await play_failover(nothing_else, tmp_path)).messages > 0
