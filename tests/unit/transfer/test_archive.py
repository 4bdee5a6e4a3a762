"""Archives: what is unsafe or damaged is told, and never unpacked."""

import io
import random
import zipfile
from itertools import islice
from pathlib import Path

import pytest

from tests.roundtrips import imported
from tests.unit.transfer.kinds import (
    HERE,
)
from threadkeep.runtime import open_store
from threadkeep.testing.samples import new
from threadkeep.transfer.exporter import Selection
from threadkeep.transfer.moving import export_archive
from threadkeep.transfer.portable import MAX_PROBLEMS
from threadkeep.transfer.sources import read_items


@pytest.mark.asyncio
async def test_a_link_or_a_lie_about_the_size_in_an_archive_is_refused() -> None:
    store = await open_store("memory:")
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        link = zipfile.ZipInfo("link.json")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    (problem,) = (await imported(store, read_items(io.BytesIO(buffer.getvalue()), "file"), HERE)).problems
    assert problem.code == "unsafe_archive"


@pytest.mark.asyncio
async def test_an_archive_with_any_byte_changed_is_read_to_an_end(tmp_path: Path) -> None:
    store, chance = await open_store("memory:"), random.Random(7)
    await new(store, HERE, *(chance.randbytes(40).hex() for _ in range(20)), name="one")
    archive = b"".join([data async for data in export_archive(store, Selection(), lambda done: None)])
    for place in range(0, len(archive), 3):
        damaged = bytearray(archive)
        damaged[place] ^= 0xFF
        items = list(islice(read_items(io.BytesIO(damaged), "file"), 2 * MAX_PROBLEMS))
        assert 0 < len(items) <= MAX_PROBLEMS, place
