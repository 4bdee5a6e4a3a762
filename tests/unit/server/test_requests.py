"""Bodies are taken as they are written: a number is no text, a yes is no `true`, and null changes nothing."""

import asyncio

import pytest

from tests.unit.server.serving import conversation, served
from threadkeep.llm.base import Text
from threadkeep.testing.scripted_model import ScriptedModel, says


async def test_a_value_of_another_type_is_refused() -> None:
    async with served() as client:
        for method, path, body in (
            ("POST", "/messages", {"content": "hi", "parent": "1"}),
            ("POST", "/messages", {"content": "hi", "parent": True}),
            ("POST", "/messages", {"content": "hi", "expected_head": 1.5}),
            ("PUT", "/head", {"head": False}),
            ("PUT", "/head", {"head": None}),
            ("PATCH", "", {"archived": "true"}),
            ("PATCH", "", {"archived": 1}),
            ("POST", "/approve", {"tool_call_id": "c", "approved": "yes"}),
            ("POST", "/approve", {"tool_call_id": "c", "approved": 1}),
        ):
            answer = await client.request(method, await conversation(client) + path, json=body)
            assert (answer.status_code, answer.json()["code"]) == (422, "invalid_request")


async def test_null_is_as_good_as_leaving_a_field_out() -> None:
    async with served(model=ScriptedModel(says("Hello"))) as client:
        nothing = dict.fromkeys(("assistant", "title", "system", "model", "metadata"))
        created = await client.post(CREATE, json=nothing)
        assert (created.status_code, created.json()["metadata"]) == (201, {})
        sent = {"content": "hi", "expected_head": None, "policy": None}
        answer = await client.post(f"{created.headers['location']}/messages", json=sent)
        assert answer.json()["message"]["content"] == "Hello"


async def test_what_is_no_text_is_told_by_the_name_of_its_field() -> None:
    async with served() as client:
        for field in ("title", "system", "model"):
            answer = await client.post("/v1/conversations", json={field: 5})
            assert answer.status_code == 422
            assert answer.json()["detail"] == f"body.{field}: Input should be a valid string"


async def test_a_change_of_nothing_is_refused_and_makes_no_version() -> None:
    async with served() as client:
        for body in ({}, {"title": None}, {"metadata": None, "status": None, "archived": None, "model": None}):
            path = await conversation(client)
            answer = await client.patch(path, json=body)
            assert (answer.status_code, answer.json()["code"]) == (400, "invalid_value")
            read = (await client.get(path)).json()
            assert (read["version"], read["entries"]) == (1, 0)


async def test_null_beside_a_change_leaves_its_field_as_it_is() -> None:
    async with served() as client:
        path = await conversation(client)
        await client.patch(path, json={"metadata": {"a": 1}})
        changed = (await client.patch(path, json={"title": "New", "metadata": None})).json()
        assert (changed["title"], changed["metadata"]) == ("New", {"a": 1})


async def test_what_is_gone_has_no_body_and_no_type() -> None:
    async with served() as client:
        answer = await client.delete(await conversation(client))
        assert (answer.status_code, answer.content, "content-type" in answer.headers) == (204, b"", False)


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
