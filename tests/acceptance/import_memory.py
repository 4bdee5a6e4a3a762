"""Imports the files that are named, as the server does, and prints of each the codes of its problems, how many
conversations were added, and by how many bytes the process grew at most: for `test_import_memory.py`."""

import asyncio
import re
import sys
from pathlib import Path

from threadkeep.conversation.scope import LOCAL
from threadkeep.runtime import open_store
from threadkeep.transfer.documents import NARROW
from threadkeep.transfer.importer import Importer
from threadkeep.transfer.sources import read_file


def _memory(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


async def _import(path: Path) -> None:
    store = await open_store(f"sqlite:///{path}.db")
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here on
    importer, before = Importer(store, LOCAL), _memory("VmRSS")
    with path.open("rb") as file:
        async for item in read_file(file, "file", NARROW):
            await importer.add(item)
    grown = _memory("VmHWM") - before
    await store.close()
    print(*sorted({problem.code for problem in importer.report.problems}), importer.report.added, grown, flush=True)


for name in sys.argv[1:]:
    asyncio.run(_import(Path(name)))
