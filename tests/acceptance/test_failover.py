"""A primary that is frozen under load, replaced by its standby and back again: nobody notices but by waiting."""

from pathlib import Path

import pytest

from tests.acceptance.failover import fail_over, pair


@pytest.mark.timeout(600)
async def test_a_frozen_primary_loses_nothing_and_what_it_writes_when_it_wakes_is_acknowledged_to_nobody(
    tmp_path: Path,
) -> None:
    with pair() as both:
        told = await fail_over(both, tmp_path, fault="frozen", seed=20261118, conversations=6)
    assert told.violations == []
    assert told.messages
    assert told.steps
