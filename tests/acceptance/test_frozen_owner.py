"""A process that is frozen while it owns a turn, and wakes when another has ended that turn: it does nothing more."""

import asyncio
import signal
import sys
from pathlib import Path

from threadkeep.tools.registry import AT_ONCE

ROOT = Path(__file__).parents[2]


async def _started(url: str, folder: Path, part: str) -> asyncio.subprocess.Process:
    return await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "tests.acceptance.payer", url, str(folder), part),
        cwd=ROOT,
        stdout=asyncio.subprocess.PIPE,
    )


async def _over(process: asyncio.subprocess.Process) -> None:
    """Wait for the end of a process that says that it did its part."""
    said, _ = await asyncio.wait_for(process.communicate(), 30)
    assert said.decode().endswith("over\n")
    assert process.returncode == 0


async def test_an_owner_that_was_frozen_makes_no_payment_when_it_wakes(tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'store.db'}"
    owner = await _started(url, tmp_path, "pays")
    async with asyncio.timeout(30):
        waiting = tmp_path / "waiting"
        while not waiting.exists() or len(waiting.read_text().split()) < AT_ONCE:  # noqa: ASYNC110
            await asyncio.sleep(0.02)
    owner.send_signal(signal.SIGSTOP)
    await _over(await _started(url, tmp_path, "takes"))
    (tmp_path / "go").touch()
    owner.send_signal(signal.SIGCONT)
    await _over(owner)
    assert not (tmp_path / "payments").exists()
