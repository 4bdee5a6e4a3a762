"""The log tells on every way in whether a conversation was created or reused (R-B5)."""

import logging

import pytest

from tests.unit.threadkeep_protocols.dialects.serving import serving
from threadkeep.testing.scripted_model import says

WAYS = {
    "native": ("/v1/conversations", {}, "/v1/conversations/{}/messages", {"content": "Hello"}),
    "sessions": ("/api/v1/chat", {"message": "Hi"}, "/api/v1/chat", {"message": "Hello", "session_id": "{}"}),
    "empty session": ("/api/v1/sessions", {}, "/api/v1/sessions/{}/chat", {"message": "Hello"}),
    "chat": ("/api/chat", {"message": "Hi"}, "/api/chat", {"message": "Hello", "session_id": "{}"}),
    "query": ("/api/v1/sessions", {}, "/chat", {"query": "Hello", "session_id": "{}"}),
}


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    said = (record.getMessage() for record in caplog.records if record.name == "threadkeep.conversation_handle")
    return [line for line in said if line.startswith("conversation ")]


@pytest.mark.parametrize("way", WAYS)
async def test_a_request_creates_or_reuses(way: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "threadkeep.conversation_handle")
    first, new, then, more = WAYS[way]
    async with serving(*[says("Yes.")] * (bool(new) + 1)) as served:
        created = (await served.client.post(first, json=new)).json()
        id = created.get("session_id") or created["id"]
        assert lines(caplog) == [f"conversation {id} created"]
        caplog.clear()
        body = {name: value.format(id) for name, value in more.items()}
        assert (await served.client.post(then.format(id), json=body)).is_success
        assert lines(caplog) == [f"conversation {id} reused"]


async def test_a_repeated_request_and_a_stateless_question_are_told_too(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "threadkeep.conversation_handle")
    async with serving(says("One.")) as served:
        headers = {"Idempotency-Key": "k"}
        for _ in range(2):
            await served.client.post("/v1/conversations", json={}, headers=headers)
        await served.client.post("/v1/chat/query/stream", json={"query": "Why?"})
    assert [line.split()[-1] for line in lines(caplog)] == ["created", "reused", "created"]
