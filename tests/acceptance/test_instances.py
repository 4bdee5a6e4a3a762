"""Three instances behind a proxy, killed and frozen at random: nobody who talks to them loses a word."""

from pathlib import Path

import pytest

from tests.acceptance.instances import Instances
from tests.postgres_server import Urls


@pytest.mark.timeout(900)
async def test_killed_and_frozen_instances_lose_nothing_and_double_nothing(
    postgres_database: Urls, tmp_path: Path
) -> None:
    instances = Instances(postgres_database.server, tmp_path, count=3, seed=20261116)
    talks = await instances.run(conversations=30, faults=8)
    assert await instances.violations(talks) == []
    assert instances.kills
    assert instances.freezes
    assert len(talks) == 30
