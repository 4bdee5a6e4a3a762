"""The obliging server as a process of its own, which can be killed and started anew at the same address."""

import asyncio
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

ROOT = Path(__file__).parents[2]
PATIENCE = 60


class Killable:
    """A server on a store in a folder."""

    def __init__(self, folder: Path, pace: float, python: str = sys.executable) -> None:
        self._python = python
        self._store = f"sqlite:///{folder / 'threadkeep.db'}"
        self._pace = pace
        self._process: asyncio.subprocess.Process | None = None
        self.port = 0

    @property
    def url(self) -> str:
        """Its address, the same after each start."""
        return f"http://127.0.0.1:{self.port}"

    async def start(self) -> None:
        """Start it, and return when it answers."""
        self._process = await asyncio.create_subprocess_exec(
            *(self._python, "-m", "tests.integration.obliging", self._store, str(self.port), str(self._pace)),
            cwd=ROOT,
            stdout=asyncio.subprocess.PIPE,
        )
        assert self._process.stdout is not None
        line = (await asyncio.wait_for(self._process.stdout.readline(), PATIENCE)).decode()
        self.port = int(line.rpartition(":")[2])

    async def kill(self) -> None:
        """Kill it with SIGKILL."""
        if self._process is not None and self._process.returncode is None:
            self._process.send_signal(signal.SIGKILL)
            await self._process.wait()


@asynccontextmanager
async def killable(folder: Path, pace: float, python: str = sys.executable) -> AsyncIterator[Killable]:
    """Run one for a while."""
    server = Killable(folder, pace, python)
    await server.start()
    try:
        yield server
    finally:
        await server.kill()
