"""The AI SDK as its users have it: the `Chat` class of `ai` 5, 6 and 7 in Node, against a real server."""

import asyncio
import os
from pathlib import Path

import pytest

from tests.clients import NODE, client
from tests.integration.obliging import obliging

HERE = Path(__file__).parent / "ai_sdk"
PATIENCE = 120
RELEASES = (5, 6, 7)


async def run(name: str, release: int, folder: Path, **environment: str) -> None:
    """Run one file of tests with a release of the AI SDK."""
    (folder / "node_modules").symlink_to(client(f"ai-sdk-{release}") / "node_modules")
    (folder / name).write_text((HERE / name).read_text(encoding="utf-8"))
    program = await asyncio.create_subprocess_exec(
        *(NODE, "--test", "--test-reporter=spec", folder / name),
        env=os.environ | {"RELEASE": str(release), **environment},
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    told, _ = await asyncio.wait_for(program.communicate(), PATIENCE)
    assert program.returncode == 0, told.decode()


@pytest.mark.parametrize("release", RELEASES)
async def test_the_chat_class_does_what_its_own_tests_say(release: int, tmp_path: Path) -> None:
    async with obliging(pace=0.002) as server:
        await run("chat.test.mjs", release, tmp_path, THREADKEEP_URL=server.url)
