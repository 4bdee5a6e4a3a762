"""What is asked aside ends with its stream, and an end that fails is not silent."""

import logging

import pytest

from tests.unit.server.serving import served, until
from threadkeep.conversation_handle import ConversationHandle


async def test_an_end_that_fails_is_logged(monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    async def fail(*given: object) -> None:
        raise RuntimeError("a bug")

    monkeypatch.setattr(ConversationHandle, "cancel", fail)
    with caplog.at_level(logging.ERROR):
        async with served() as client:
            assert (await client.get("/v1/chat/query/stream?query=hello")).status_code == 200

            async def is_told() -> bool:
                return "did not end cleanly" in caplog.text

            await until(is_told)
