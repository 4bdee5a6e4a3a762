"""The Idempotency-Key header: how long it may be, in which characters, and what a repeated request is told."""

import asyncio

import pytest

from tests.unit.server.serving import conversation, served
from threadkeep.llm.base import Text
from threadkeep.testing.scripted_model import ScriptedModel, says

CREATE = "/v1/conversations"
AT_ONCE = {"Prefer": "respond-async"}


@pytest.mark.parametrize("key", ["a", "a" * 255, "two words", '"quoted"', "ü" * 255, "🙂" * 255])
async def test_a_key_has_1_to_255_characters_whatever_they_are(key: str) -> None:
    async with served() as client:
        headers = {b"Idempotency-Key": key.encode()}
        first, second = [await client.post(CREATE, headers=headers) for _ in range(2)]
        assert (first.status_code, second.status_code) == (201, 201)
        assert first.json() == second.json()
        assert second.headers["idempotency-replayed"] == "true"


async def test_bytes_that_are_no_text_are_a_key_as_well() -> None:
    async with served() as client:
        first, second = [await client.post(CREATE, headers={b"Idempotency-Key": b"\xff\xfe"}) for _ in range(2)]
        assert first.json() == second.json()


@pytest.mark.parametrize("key", ["", "a" * 256, "ü" * 256])
async def test_any_other_length_is_refused(key: str) -> None:
    async with served() as client:
        answer = await client.post(CREATE, headers={b"Idempotency-Key": key.encode()})
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_value")


async def test_two_keys_are_refused_because_one_of_them_would_protect_nothing() -> None:
    async with served() as client:
        answer = await client.post(CREATE, headers=[("Idempotency-Key", "a"), ("Idempotency-Key", "b")])
        assert (answer.status_code, answer.json()["code"]) == (400, "invalid_value")


async def test_who_repeats_a_request_without_waiting_is_told_how_far_the_turn_is() -> None:
    go_on = asyncio.Event()
    async with served(model=ScriptedModel([Text("Well, "), go_on, *says("done.")])) as client:
        path = await conversation(client)

        async def send(**headers: str) -> tuple[int, str, str | None]:
            answer = await client.post(
                f"{path}/messages", json={"content": "hi"}, headers={"Idempotency-Key": "k", **headers}
            )
            said = answer.json()
            return answer.status_code, said["turn"]["state"], said["message"] and said["message"]["content"]

        assert await send(**AT_ONCE) == (202, "running", None)
        assert await send(**AT_ONCE) == (202, "running", None)
        go_on.set()
        assert await send() == (200, "completed", "Well, done.")
        assert await send(**AT_ONCE) == (202, "completed", "Well, done.")
