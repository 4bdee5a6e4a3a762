"""The AI SDK as its users have it: the `Chat` class of `ai` 5, 6 and 7 in Node, against a real server."""

from pathlib import Path

import pytest

from tests.clients import node_tests
from tests.integration.obliging import obliging

HERE = Path(__file__).parent / "ai_sdk"
RELEASES = (5, 6, 7)


@pytest.mark.parametrize("release", RELEASES)
async def test_the_chat_class_does_what_its_own_tests_say(release: int, tmp_path: Path) -> None:
    async with obliging(pace=0.002) as server:
        tests = HERE / "chat.test.mjs"
        await node_tests(f"ai-sdk-{release}", tests, tmp_path, RELEASE=str(release), THREADKEEP_URL=server.url)
