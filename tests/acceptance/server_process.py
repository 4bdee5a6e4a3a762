"""`threadkeep serve` as a real process, for tests that kill, stop or restart it."""

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from tests.watching import note_log

ROOT = Path(__file__).parents[2]
PATIENCE = 60


@asynccontextmanager
async def server_process(
    folder: Path, *flags: str, pace: str = "0.03", **variables: str
) -> AsyncIterator[tuple[asyncio.subprocess.Process, httpx.AsyncClient]]:
    """Serve the demo on a free port, with files in a folder and `pace` seconds for a word; kill it at the end."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.acceptance.slow_server", pace, "--port", "0", "--model", "demo", *flags),
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "THREADKEEP_LOG_LEVEL": "warning", **variables},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        line = (await asyncio.wait_for(process.stdout.readline(), PATIENCE)).decode()
        assert line.startswith("Threadkeep serves"), (await process.communicate())[1]
        async with httpx.AsyncClient(base_url=line.split()[-1], timeout=PATIENCE) as client:
            yield process, client
    finally:
        if process.returncode is None:
            process.kill()
        note_log((await process.communicate())[1].decode(errors="replace"))
