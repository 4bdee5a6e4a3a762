"""What a spool can be opened for."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from threadkeep.errors import InvalidValue
from threadkeep.hosting import SpoolSettings
from threadkeep_postgres.spool.opening import drain_spool, open_spooling_store


@pytest.mark.parametrize("opening", [open_spooling_store, drain_spool])
@pytest.mark.parametrize("name", ["memory:", "sqlite:///kept.db", "files:///kept"])
async def test_a_store_on_this_machine_has_no_outages(opening: Callable[..., Any], name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="A spool is for outages of PostgreSQL"):
        await opening(name, SpoolSettings(folder=tmp_path / "spool"))
    assert list(tmp_path.iterdir()) == []
